import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { newOwner, thisProcess } from "../../store/index.js";
import { capture } from "./capture.js";
import { frozen, sweepWorkspaces } from "./frozen.js";
import { StatCache } from "./stat-cache.js";
import { folder, newTrees } from "./testing/space.js";

const DAY = 24 * 60 * 60 * 1000;

/** Looks at what is there as if so much time had passed. */
async function later<Answer>(milliseconds: number, look: () => Promise<Answer>): Promise<Answer> {
  vi.useFakeTimers({ now: Date.now() + milliseconds, toFake: ["Date"] });
  try {
    return await look();
  } finally {
    vi.useRealTimers();
  }
}

function made(root: string, path: string): string {
  mkdirSync(join(root, path, "deep", "er"), { recursive: true });
  writeFileSync(join(root, path, "deep", "file"), "half");
  return path;
}

const named = (owner: string): string => Buffer.from(owner, "utf8").toString("base64url");

/** The owner that a process was which is gone. */
function deadOwner(): string {
  const { pid } = spawnSync(process.execPath, ["-e", ""]);
  return newOwner().replace(/^process \d+/, `process ${pid}`);
}

describe("what processes left that died while they made something", () => {
  it.skipIf(thisProcess() === undefined)(
    "[K16] half-made checkouts of the dead go at once, those of the living stay, and others after an hour",
    async () => {
      const { trees } = newTrees();
      const [root, source] = [folder(), folder()];
      writeFileSync(join(source, "a"), "a");
      const { tree } = await capture(source, trees, { cache: new StatCache() });
      const kept = await frozen(join(root, "frozen"), trees, tree);
      const [shelf = ""] = readdirSync(join(root, "frozen"));
      const drafts = `frozen/${shelf}/new`;
      const dead = made(root, `${drafts}/${named(deadOwner())}`);
      const living = made(root, `${drafts}/${named(newOwner())}`);
      const other = newOwner().replace(
        /boot [0-9a-f-]{36}/,
        `boot ${"0".repeat(8)}-0000-0000-0000-${"0".repeat(12)}`,
      );
      const unknown = [made(root, `${drafts}/${named(other)}`), made(root, `${drafts}/whose`)];
      expect(await sweepWorkspaces(root)).toEqual([dead]);
      expect(existsSync(join(root, dead))).toBe(false);
      expect([...(await later(DAY, () => sweepWorkspaces(root)))].sort()).toEqual([...unknown].sort());
      expect(existsSync(join(root, living))).toBe(true);
      expect(existsSync(join(kept.path, "a"))).toBe(true);
      expect(await sweepWorkspaces(root)).toEqual([]);
      await kept.release();
    },
  );

  it("[K16] attempts and drafts go after an hour, and nothing else does", async () => {
    const root = folder();
    const drafts = ["etc-draft-0123456789ab", "overlay-aB3xYz"];
    const others = [`etc-${"0".repeat(16)}`, "etc-mine", "overlay-", "overlayed", "boxes", "etc-draft-x"];
    for (const name of [...drafts, ...others]) made(root, name);
    expect(await sweepWorkspaces(root)).toEqual([]);
    expect(await later(DAY, () => sweepWorkspaces(root))).toEqual(drafts);
    expect(await later(8 * DAY, () => sweepWorkspaces(root))).toEqual([]);
    expect(readdirSync(root).sort()).toEqual(others.sort());
    expect(await sweepWorkspaces(join(root, "none"))).toEqual([]);
  });

  it("[K16] no link is followed, wherever it stands", async () => {
    const [root, outside] = [folder(), folder()];
    const dead = named(deadOwner());
    made(outside, `shelf/new/${dead}`);
    made(outside, "precious");
    symlinkSync(outside, join(root, "frozen"));
    symlinkSync(join(outside, "precious"), join(root, "overlay-abcdef"));
    expect(await later(DAY, () => sweepWorkspaces(root))).toEqual(["overlay-abcdef"]);
    const inner = folder();
    mkdirSync(join(inner, "frozen", "one"), { recursive: true });
    symlinkSync(join(outside, "shelf"), join(inner, "frozen", "two"));
    symlinkSync(join(outside, "shelf", "new"), join(inner, "frozen", "one", "new"));
    mkdirSync(join(inner, "overlay-abcdef", "work"), { recursive: true, mode: 0o700 });
    symlinkSync(join(outside, "precious"), join(inner, "overlay-abcdef", "work", "link"));
    expect(await later(DAY, () => sweepWorkspaces(inner))).toEqual(["overlay-abcdef"]);
    expect(readdirSync(join(outside, "precious", "deep")).sort()).toEqual(["er", "file"]);
    expect(existsSync(join(outside, "shelf", "new", dead, "deep", "file"))).toBe(true);
  });
});
