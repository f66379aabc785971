import { spawn, spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { end } from "./child.js";
import { folder } from "./space.js";

export type Overlay = { readonly lower: string; readonly upper: string; readonly merged: string };

/** An overlay mount of the running test over a directory, or why there can be none here. */
export function overlay(lower: string): Overlay | string {
  if (process.platform !== "linux") return "overlays are a thing of Linux";
  const { upper, merged, options } = layers(lower);
  const made = spawnSync("mount", ["-t", "overlay", "overlay", "-o", options, merged], { encoding: "utf8" });
  if (made.status !== 0) return `no overlay can be mounted: ${made.stderr ?? made.error?.message}`.trim();
  onTestFinished(() => void spawnSync("umount", ["--lazy", merged]));
  return { lower, upper, merged };
}

/** The same in a user and mount namespace of its own, as a sandbox has it: seen from here through its process. */
export async function namespacedOverlay(lower: string): Promise<Overlay | string> {
  if (process.platform !== "linux") return "overlays are a thing of Linux";
  const { upper, merged, options } = layers(lower);
  const script = `mount -t overlay overlay -o "$1,userxattr" "$2" && cd "$2" && echo ready && while read -r line; do eval "$line"; echo done; done`;
  const child = spawn(
    "unshare",
    ["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", options, merged],
    {
      stdio: ["pipe", "pipe", "ignore"],
    },
  );
  child.on("error", () => undefined);
  child.stdin.on("error", () => undefined);
  onTestFinished(() => end(child));
  const isReady = await new Promise<boolean>((resolve) => {
    child.stdout.once("data", () => resolve(true));
    child.once("close", () => resolve(false));
  });
  if (!isReady) return "no overlay can be mounted in a user namespace";
  return { lower, upper, merged: `/proc/${child.pid}/root${merged}` };
}

function layers(lower: string): { upper: string; merged: string; options: string } {
  const root = folder();
  const [upper, work, merged] = ["upper", "work", "merged"].map((name) => {
    const path = join(root, name);
    mkdirSync(path, { mode: 0o755 });
    return path;
  }) as [string, string, string];
  return {
    upper,
    merged,
    options: `lowerdir=${lower},upperdir=${upper},workdir=${work},redirect_dir=nofollow`,
  };
}
