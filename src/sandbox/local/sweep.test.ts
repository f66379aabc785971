import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { newOwner } from "../../store/index.js";
import { type Registration, Registry } from "./registry.js";
import { type SweepReport, sweep } from "./sweep.js";
import { missing } from "./testing/bwrap.js";
import { Child } from "./testing/child.js";
import { folder } from "./testing/folder.js";
import { STAND_IN } from "./testing/stand-in.js";
import { processesOf, traces } from "./testing/traces.js";

const without = missing();
const hex = (digit: string): string => digit.repeat(32);

/** Puts down what a process would have written, and a folder. */
function plant(state: string, digit: string, changes: Partial<Registration> | string): string {
  const name = hex(digit);
  mkdirSync(join(state, "registry"), { recursive: true });
  mkdirSync(join(state, "live", name, "workspace"), { recursive: true });
  const whole = {
    format: 1,
    name,
    provider: "local",
    id: digit,
    incarnation: 1,
    owner: newOwner(),
    at: "",
    processes: [],
    cgroups: [],
  };
  writeFileSync(
    join(state, "registry", `${name}.json`),
    typeof changes === "string" ? changes : JSON.stringify({ ...whole, ...changes }),
  );
  return name;
}

const other = (owner: string, part: RegExp, instead: string): string => {
  const changed = owner.replace(part, instead);
  expect(changed).not.toBe(owner);
  return changed;
};

describe("a sweep", () => {
  it.skipIf(without !== undefined)(
    `[J12] ends and removes what a process killed together with its janitor has left, and says so once${without === undefined ? "" : ` (skipped: ${without})`}`,
    async () => {
      const state = folder();
      const child = new Child(STAND_IN, [state, "3", "-", "still"]);
      const { janitor, inits } = await child.next<{ janitor: number; inits: number[] }>();
      // What lives is not touched.
      expect(await sweep(state)).toEqual({ removed: [], left: [], killed: 0 });
      expect(processesOf(state).length).toBeGreaterThanOrEqual(3);
      process.kill(janitor, "SIGKILL");
      await child.crash();
      expect(processesOf(state).map(({ pid }) => pid)).toEqual(expect.arrayContaining(inits));
      const told: SweepReport[] = [];
      const report = await sweep(state, { onSweep: (one) => told.push(one) });
      expect(told).toEqual([report]);
      expect(report.removed.map(({ id, provider }) => `${provider} ${id}`).sort()).toEqual([
        "local one/0",
        "local one/1",
        "local one/2",
      ]);
      expect(report.left).toEqual([]);
      expect(report.killed).toBeGreaterThanOrEqual(3);
      expect(traces(state)).toEqual(readdirSync(join(state, "alive")).map((sign) => `file alive/${sign}`));
      // A sign of life is believed for a minute, because it may be about to be one.
      for (const sign of readdirSync(join(state, "alive"))) utimesSync(join(state, "alive", sign), 1, 1);
      expect(await sweep(state, { onSweep: (one) => told.push(one) })).toEqual({
        removed: [],
        left: [],
        killed: 0,
      });
      expect(told.length).toBe(1);
      expect(traces(state)).toEqual([]);
    },
  );

  it.skipIf(without !== undefined)(
    `[J13] two at once, beside one that lives: each dead sandbox is told by one of them, the living goes on${without === undefined ? "" : ` (skipped: ${without})`}`,
    async () => {
      const state = folder();
      const registry = new Registry(state);
      const mine = await registry.add({ provider: "local", id: "mine", incarnation: 1 });
      mkdirSync(mine.directory);
      const children = [1, 2].map(() => new Child(STAND_IN, [state, "2", "-", "still"]));
      const told = await Promise.all(
        children.map((child) => child.next<{ janitor: number; inits: number[] }>()),
      );
      const [dead, living] = children as [Child, Child];
      process.kill(told[0]?.janitor as number, "SIGKILL");
      await dead.crash();
      const reports = await Promise.all([1, 2, 3].map(() => sweep(state, { onSweep: () => {} })));
      expect(reports.flatMap(({ removed }) => removed.map(({ id }) => id)).sort()).toEqual([
        "one/0",
        "one/1",
      ]);
      expect(existsSync(mine.directory)).toBe(true);
      expect(processesOf(state).map(({ pid }) => pid)).toEqual(expect.arrayContaining(told[1]?.inits ?? [0]));
      expect(readdirSync(join(state, "live")).length).toBe(3);
      await living.crash();
      await mine.remove();
      await registry.close();
    },
  );

  it("[J14] after a restart of the machine, what another boot wrote to this disk is removed, and no process for its number", async () => {
    const state = folder();
    const boot = other(newOwner(), /boot [0-9a-f]{8}/, "boot 00000000");
    // The number is ours, and we are somebody else.
    const here = Number(/start (\d+)/.exec(newOwner())?.[1]);
    plant(state, "a", {
      owner: boot,
      processes: [{ pid: process.pid, start: here }],
      cgroups: ["/sys/fs/cgroup"],
    });
    // A power cut: the name was there, the bytes were not.
    plant(state, "b", "");
    plant(state, "c", "\0\0\0\0");
    const report = await sweep(state, { onSweep: () => {} });
    expect(report.removed.map(({ name }) => name).sort()).toEqual([hex("a"), hex("b"), hex("c")]);
    expect(readdirSync(join(state, "live"))).toEqual([]);
    expect(readdirSync(join(state, "registry"))).toEqual([]);
  });

  it("[J15] boxes that may be in use stay: another container, another machine's owner, a later version, names that are not names", async () => {
    const state = folder();
    plant(state, "a", { owner: other(newOwner(), /in \d+/, "in 1") });
    plant(state, "b", { owner: "somebody" });
    plant(state, "c", { format: 2 as 1 });
    plant(state, "d", { name: hex("e") });
    plant(state, "f", {});
    for (const file of ["../x.json", "x.json", `${hex("1")}.json.bak`].map((one) =>
      join(state, "registry", one.replace("../", "..")),
    ))
      writeFileSync(file, "");
    mkdirSync(join(state, "live", "stranger"));
    const before = readdirSync(join(state, "live"));
    let told = 0;
    const report = await sweep(state, { onSweep: () => told++ });
    expect(report.removed).toEqual([]);
    expect(report.left.map(({ name }) => name).sort()).toEqual(["a", "b", "c", "d"].map(hex));
    expect(told).toBe(0);
    expect(readdirSync(join(state, "live"))).toEqual(before);
  });

  it.skipIf(without !== undefined)(
    `[J18] of another container, what lives is left and what is gone is removed${without === undefined ? "" : ` (skipped: ${without})`}`,
    async () => {
      const state = join(folder(), "s".repeat(120));
      mkdirSync(state, { mode: 0o700 });
      const within = [
        "bwrap",
        "--unshare-pid",
        "--dev-bind",
        "/",
        "/",
        "--proc",
        "/proc",
        "--die-with-parent",
      ];
      const child = new Child(STAND_IN, [state, "2", "-", "still"], { within });
      await child.next();
      const alive = await sweep(state, { onSweep: () => {} });
      expect([alive.removed, alive.left.map(({ id }) => id).sort()]).toEqual([[], ["one/0", "one/1"]]);
      expect(readdirSync(join(state, "live")).length).toBe(2);
      // As a container ends: all of it at once, its janitor too.
      await child.crash();
      for (let turn = 0; processesOf(state).length > 0 && turn < 500; turn++) await sleep(10);
      for (const sign of readdirSync(join(state, "alive"))) utimesSync(join(state, "alive", sign), 1, 1);
      // A process that is ending cannot be found by its name a moment before it lets go of its socket.
      const removed: (string | undefined)[] = [];
      for (let turn = 0; removed.length < 2 && turn < 100; turn++) {
        if (turn > 0) await sleep(50);
        const report = await sweep(state, { onSweep: () => {} });
        removed.push(...report.removed.map(({ id }) => id));
      }
      expect(removed.sort()).toEqual(["one/0", "one/1"]);
      expect(traces(state)).toEqual([]);
    },
  );

  it("[J16] follows no link, and works in a directory whose name is odd or that is not there", async () => {
    const outside = folder();
    writeFileSync(join(outside, "file"), "kept");
    const state = join(folder(), `it's "odd"\n$(x)`);
    expect(await sweep(state)).toEqual({ removed: [], left: [], killed: 0 });
    const name = plant(state, "a", "");
    symlinkSync(outside, join(state, "live", name, "workspace", "link"));
    const draft = join(state, "registry", `.${hex("b")}.somebody.tmp`);
    writeFileSync(draft, "");
    utimesSync(draft, 1, 1);
    // Of this process, as it would have been if it had begun at another time.
    const gone = newOwner().replace(/start \d+/, "start 1");
    writeFileSync(join(state, "registry", `.${hex("c")}.${gone}.tmp`), "");
    expect((await sweep(state, { onSweep: () => {} })).removed).toEqual([{ name }]);
    expect(readdirSync(join(state, "registry"))).toEqual([]);
    expect(readFileSync(join(outside, "file"), "utf8")).toBe("kept");
  });

  it("[J17] without somebody to tell, it is a warning of the process", async () => {
    const state = folder();
    plant(state, "a", "");
    const warned = new Promise<Error & { code?: string }>((resolve) => process.once("warning", resolve));
    await sweep(state);
    const warning = await warned;
    expect(warning.code).toBe("OPENRATH_SANDBOX_SWEEP");
    expect(warning.message).toContain(hex("a"));
  });
});
