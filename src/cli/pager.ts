import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { onInterrupt } from "./interrupt.js";
import type { Streams } from "./shell.js";

/** Where long output goes. `write` answers false when the reader has seen enough. */
export type Pages = {
  write(text: string): Promise<boolean>;
  end(): Promise<void>;
};

/** Long output by pages on a terminal (PAGER, else less), and straight on everywhere else. */
export function pages({ stdout }: Streams, use: boolean): Pages {
  if (!use || stdout.isTTY !== true || process.env.TERM === "dumb" || process.env.PAGER === "")
    return straight(stdout);
  const pager = process.env.PAGER ?? ["less", "more"].find(isOnPath);
  if (pager === undefined) return straight(stdout);
  const child = spawn(pager, {
    stdio: ["pipe", "inherit", "inherit"],
    shell: true,
    // Colours stay, a short text is printed and not paged, and the screen stays as it was.
    env: { ...process.env, LESS: process.env.LESS ?? "FRX" },
  });
  let closed = false;
  const close = (): void => {
    closed = true;
  };
  // Ctrl-C goes to the pager as well, which stays: the reader leaves it with q.
  const release = onInterrupt(() => {});
  const over = once(child, "close").then(close, close).finally(release);
  child.on("error", close);
  child.stdin.on("error", close);
  return {
    async write(text) {
      if (closed) return false;
      if (!child.stdin.write(text))
        await Promise.race([once(child.stdin, "drain").catch(() => undefined), over]);
      return !closed;
    },
    async end() {
      child.stdin.end();
      await over;
    },
  };
}

function straight(stdout: Streams["stdout"]): Pages {
  return {
    async write(text) {
      if (!stdout.write(text)) await once(stdout, "drain");
      return true;
    },
    async end() {},
  };
}

function isOnPath(program: string): boolean {
  return (process.env.PATH ?? "")
    .split(delimiter)
    .some((folder) => folder !== "" && existsSync(join(folder, program)));
}
