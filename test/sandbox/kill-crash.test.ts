import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterEach, expect, it } from "vitest";
import { campaign } from "../../src/session/testing/campaign.js";
import { SEED } from "../../src/store/testing/crash.js";
import { folder } from "../../src/store/testing/folder.js";
import { numbersFrom } from "../runtime/numbers.js";

const script = fileURLToPath(new URL("./killed.mjs", import.meta.url));
const KILLS = Number(process.env.OPENRATH_CRASH_ROUNDS ?? campaign(20));
const bwrap = spawnSync("bwrap", ["--ro-bind", "/", "/", "true"]).status === 0;
/** What a clean-up after a kill may take. */
const PATIENCE = 5_000;

const EXPECTED = ["base", "a", "b", "c"]
  .flatMap((name) => [1, 2, 3].map((turn) => `${name} ${turn}\n`))
  .join("");

type Word = {
  readonly ready?: boolean;
  readonly open?: string;
  readonly swept?: { readonly removed: readonly object[]; readonly killed: number };
  readonly ended?: string;
  readonly verified?: string;
  readonly value?: unknown;
};

const started: ChildProcess[] = [];
afterEach(() => {
  for (const child of started.splice(0)) child.kill("SIGKILL");
});

it.skipIf(!bwrap)(
  `[K1] ${KILLS} times kill -9 of a runtime with live sandboxes (seed ${SEED}): five seconds later nothing is left of them that no session owns, or the next start removes it and says so; and the run ends as if nothing had been${bwrap ? "" : " (skipped: bubblewrap is missing)"}`,
  async () => {
    const random = numbersFrom(SEED);
    let [kills, swept, runs, left] = [0, 0, 0, 0];
    while (kills < KILLS) {
      const place = folder();
      const state = join(place, "state");
      const mark = String(3_000_000 + Math.floor(random() * 900_000));
      const url = `sqlite:${join(place, "rath.db")}`;
      let ended: Word | undefined;
      let orphaned = false;
      while (ended === undefined) {
        const child = new Killed(url, state, mark);
        if (kills >= KILLS) await child.ended;
        else {
          if (random() < 0.9) await child.says((word) => word.open !== undefined, 20_000);
          await pause(random() * 300);
          // The names of its control groups, as long as somebody knows them.
          boxesOf(state);
          // With the janitor gone as well, only the next start can clean up.
          const both = random() < 0.3;
          if (both) for (const pid of janitorsOf(child.pid)) killQuietly(pid);
          child.process.kill("SIGKILL");
          await child.ended;
          if (child.words.every((word) => word.ended === undefined)) kills += 1;
          // What was there when it began is gone; what it leaves itself is another matter.
          if (child.words.some((word) => word.swept !== undefined)) orphaned = false;
          if (both) {
            orphaned = true;
            left += 1;
          } else {
            const deadline = Date.now() + PATIENCE;
            let found = leftoversOf(state, mark);
            while (found.length > 0 && !orphaned && Date.now() < deadline) {
              await pause(50);
              found = leftoversOf(state, mark);
            }
            if (!orphaned && found.length > 0) expect(found, `after kill ${kills}; ${kin()}`).toEqual([]);
          }
        }
        swept += child.words.filter((word) => word.swept !== undefined).length;
        ended = child.words.find((word) => word.ended !== undefined && word.value !== undefined);
        if (ended !== undefined && kills >= KILLS)
          expect(child.words.find((word) => word.verified !== undefined)?.verified).toBe(ended.ended);
        expect(child.complaints, "on stderr").toBe("");
      }
      expect(ended.value).toEqual({ code: 0, out: EXPECTED });
      runs += 1;
      const last = new Killed(url, state, mark);
      await last.ended;
      expect(last.complaints, "on stderr").toBe("");
      expect(leftoversOf(state, mark), "at the end").toEqual([]);
    }
    if (process.env.OPENRATH_CRASH_ROUNDS !== undefined)
      process.stdout.write(`${JSON.stringify({ kills, runs, janitorsKilled: left, sweeps: swept })}\n`);
  },
  0,
);

it.skipIf(!bwrap)(
  `[K2] what a runtime and its janitor leave after their run is removed by one that opens no sandbox${bwrap ? "" : " (skipped: bubblewrap is missing)"}`,
  async () => {
    const place = folder();
    const state = join(place, "state");
    const mark = "3950001";
    const url = `sqlite:${join(place, "rath.db")}`;
    const child = new Killed(url, state, mark, { STAY: "yes" });
    await child.says((word) => word.ended !== undefined, 60_000);
    boxesOf(state);
    for (const pid of janitorsOf(child.pid)) killQuietly(pid);
    child.process.kill("SIGKILL");
    await child.ended;
    expect(leftoversOf(state, mark)).not.toEqual([]);
    const next = new Killed(url, state, mark);
    await next.ended;
    expect(next.words.filter((word) => word.open !== undefined)).toEqual([]);
    expect(next.words.flatMap((word) => word.swept?.removed ?? [])).not.toEqual([]);
    expect(leftoversOf(state, mark)).toEqual([]);
  },
  120_000,
);

class Killed {
  readonly process: ChildProcess;
  readonly words: Word[] = [];
  readonly ended: Promise<void>;
  complaints = "";
  #rest = "";
  readonly #waiting = new Set<() => void>();

  constructor(url: string, state: string, mark: string, env: NodeJS.ProcessEnv = {}) {
    this.process = spawn(process.execPath, [script, url, state, mark], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...env },
    });
    started.push(this.process);
    this.process.stdout?.on("data", (bytes: Buffer) => {
      const lines = (this.#rest + bytes.toString()).split("\n");
      this.#rest = lines.pop() ?? "";
      for (const line of lines) this.words.push(JSON.parse(line) as Word);
      for (const wake of this.#waiting) wake();
    });
    this.process.stderr?.on("data", (bytes: Buffer) => {
      this.complaints += bytes.toString();
    });
    this.ended = new Promise((resolve) => this.process.once("close", () => resolve()));
  }

  get pid(): number {
    return this.process.pid as number;
  }

  async says(what: (word: Word) => boolean, milliseconds: number): Promise<void> {
    const heard = new Promise<void>((resolve) => {
      const look = (): void => {
        if (this.words.some(what)) resolve();
      };
      this.#waiting.add(look);
      look();
    });
    await Promise.race([heard, this.ended, pause(milliseconds)]);
  }
}

/** Everything that is left of the sandboxes of a state directory: processes, mounts, control groups, folders. */
function leftoversOf(state: string, mark: string): string[] {
  const processes = execFileSync("ps", ["-eo", "pid=,args="], { encoding: "utf8", maxBuffer: 2 ** 28 })
    .split("\n")
    .filter((line) => line.includes(`sleep ${mark}`) || (line.includes("bwrap") && line.includes(state)));
  const mounts = readFileSync("/proc/mounts", "utf8")
    .split("\n")
    .filter((line) => line.includes(state));
  const boxes = existsSync(join(state, "live")) ? readdirSync(join(state, "live")) : [];
  const notes = existsSync(join(state, "registry")) ? readdirSync(join(state, "registry")) : [];
  const groups = spawnSync("find", ["/sys/fs/cgroup", "-type", "d", "-name", "*openrath*"], {
    encoding: "utf8",
  }).stdout;
  const mine = groups
    .split("\n")
    .filter((path) => path !== "" && boxesOf(state).some((box) => path.includes(box)));
  return [...processes, ...mounts, ...boxes, ...notes, ...mine];
}

const seen = new Map<string, Set<string>>();

/** The names that sandboxes of a state directory ever had, as far as they were seen. */
function boxesOf(state: string): string[] {
  const names = seen.get(state) ?? new Set<string>();
  seen.set(state, names);
  for (const part of ["live", "registry"])
    if (existsSync(join(state, part)))
      for (const name of readdirSync(join(state, part)))
        for (const [box] of name.matchAll(/[0-9a-f]{32}/g)) names.add(box);
  return [...names];
}

/** All that could be at work on it, for anyone who has to find out why something is left. */
function kin(): string {
  return execFileSync("ps", ["-eo", "pid,ppid,stat,wchan:24,etimes,args"], {
    encoding: "utf8",
    maxBuffer: 2 ** 28,
  })
    .split("\n")
    .filter((line) => /openrath|bwrap|rm -rf/.test(line))
    .map((line) => line.slice(0, 200))
    .join("\n");
}

/** The watchers that a process has started. */
function janitorsOf(pid: number): number[] {
  return execFileSync("ps", ["-eo", "pid=,ppid=,args="], { encoding: "utf8", maxBuffer: 2 ** 28 })
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([, parent, ...args]) => Number(parent) === pid && args.join(" ").includes("openrath-janitor"))
    .map(([own]) => Number(own));
}

function killQuietly(pid: number): void {
  try {
    readlinkSync(`/proc/${pid}/exe`);
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}
