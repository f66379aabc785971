import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { describe, expect, it, onTestFinished } from "vitest";
import { identityOf, isDead, newOwner, ownerOf, type ProcessIdentity, thisProcess } from "./owner.js";

describe.skipIf(process.platform !== "linux")("the owner of a lease (only Linux tells who is dead)", () => {
  const me = thisProcess() as ProcessIdentity;
  const owner = (change: Partial<ProcessIdentity>): string => ownerOf({ ...me, ...change }, "0123abcd");

  it("[S110] a process is dead when nothing has its number, or something that started at another time", async () => {
    expect(identityOf(newOwner())).toEqual(me);
    expect(isDead(newOwner())).toBe(false);
    expect(isDead(owner({ start: me.start + 1 }))).toBe(true);
    expect(isDead(owner({ start: me.start - 1 }))).toBe(true);
    const child = spawn("sleep", ["600"], { stdio: "ignore" });
    onTestFinished(() => void child.kill("SIGKILL"));
    await once(child, "spawn");
    const pid = child.pid as number;
    const its = owner({ pid, start: startOf(pid) });
    expect(isDead(its)).toBe(false);
    child.kill("SIGSTOP");
    expect(isDead(its)).toBe(false);
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(isDead(its)).toBe(true);
  });

  it("[S110] a process that ended is dead although its parent has not asked how", async () => {
    // The shell becomes a program that never asks after the child it was given.
    const parent = spawn("sh", ["-c", "sleep 600 & echo $!; exec sleep 600"], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    onTestFinished(() => void parent.kill("SIGKILL"));
    const lines = createInterface({ input: parent.stdout })[Symbol.asyncIterator]();
    const pid = Number((await lines.next()).value);
    const its = owner({ pid, start: startOf(pid) });
    expect(isDead(its)).toBe(false);
    // Until the shell has become that program, it does ask.
    await until(() => programOf(parent.pid as number) === "(sleep)");
    process.kill(pid, "SIGKILL");
    await until(() => stateOf(pid) === "Z");
    expect(isDead(its)).toBe(true);
  });

  it("[S111] of a process in another place nothing is certain, nor of an owner that someone chose", () => {
    const gone = { pid: 4_194_304, start: 1 };
    expect(isDead(owner(gone))).toBe(true);
    expect(isDead(owner({ ...gone, host: "elsewhere" }))).toBe(false);
    expect(
      isDead(owner({ ...gone, boot: me.boot.replace(/^./, (digit) => (digit === "0" ? "1" : "0")) })),
    ).toBe(false);
    expect(isDead(owner({ ...gone, space: me.space.replace(/^\d+/, "4026530000") }))).toBe(false);
    expect(isDead(owner({ ...gone, space: me.space.replace(/\d+$/, "4026530000") }))).toBe(false);
    const whole = owner(gone);
    for (const text of [
      "ada",
      "",
      `${whole} `,
      ` ${whole}`,
      whole.slice(0, -1),
      whole.replace("process", "worker"),
    ])
      expect(isDead(text)).toBe(false);
    for (const pid of ["0", "-1", "1e3", "01", ""])
      expect(isDead(whole.replace("process 4194304", `process ${pid}`))).toBe(false);
  });
});

/** From the kernel, by another way than the one that is tested: `sleep` has no brackets in its name. */
function startOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/stat`, "utf8").split(" ")[21]);
}

function stateOf(pid: number): string | undefined {
  return readFileSync(`/proc/${pid}/stat`, "utf8").split(" ")[2];
}

function programOf(pid: number): string | undefined {
  return readFileSync(`/proc/${pid}/stat`, "utf8").split(" ")[1];
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((done) => setTimeout(done, 5));
}
