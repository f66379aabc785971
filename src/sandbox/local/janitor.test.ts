import { execFileSync } from "node:child_process";
import {
  chmodSync,
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmdirSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { campaign } from "../../session/testing/campaign.js";
import { Janitor, startOf } from "./janitor.js";
import { missing } from "./testing/bwrap.js";
import { Child } from "./testing/child.js";
import { folder } from "./testing/folder.js";
import { STAND_IN } from "./testing/stand-in.js";
import { traces, untilClean } from "./testing/traces.js";

const ROUNDS = Number(process.env.OPENRATH_CRASH_ROUNDS ?? campaign(12));
const without = missing();
const NOTHING = { processes: [], cgroups: [] };
const name = (digit: string): string => digit.repeat(32);

/** Where control groups can be made, or "-". */
function controlGroups(): string {
  for (const path of ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"]) {
    const probe = join(path, `openrath-test-${process.pid}`);
    try {
      mkdirSync(probe);
      const holds = existsSync(join(probe, "cgroup.procs"));
      if (holds) {
        onTestFinished(() => {
          for (const one of readdirSync(probe, { withFileTypes: true }))
            if (one.isDirectory()) rmdirSync(join(probe, one.name));
          rmdirSync(probe);
        });
        return probe;
      }
      rmdirSync(probe);
    } catch {
      // Not ours to make.
    }
  }
  return "-";
}

describe.skipIf(without !== undefined)(
  `a process that is killed${without === undefined ? "" : ` (skipped: ${without})`}`,
  () => {
    it(`[J1] ${ROUNDS} times at any moment: no process, mount, control group or folder is left`, async () => {
      const state = folder();
      const groups = controlGroups();
      const random = fc.sample(fc.integer({ min: 0, max: 400 }), ROUNDS);
      for (const [round, wait] of random.entries()) {
        const child = new Child(STAND_IN, [state, String(1 + (round % 3)), groups]);
        // Some are killed before they have told anything: while the first sandboxes are being made.
        if (round % 3 === 0) await sleep(wait / 2 + 60);
        else {
          await child.next();
          await sleep(wait);
        }
        await child.crash();
        expect(await untilClean(state)).toEqual([]);
        if (groups !== "-")
          expect(readdirSync(groups, { withFileTypes: true }).filter((one) => one.isDirectory())).toEqual([]);
      }
    }, 300_000);

    it("[J2] nothing is left either when it ends by itself, or when its group is interrupted or hung up", async () => {
      for (const signal of [undefined, "SIGINT", "SIGHUP", "SIGTERM"] as const) {
        const state = folder();
        const program =
          signal === undefined
            ? STAND_IN.replace("setInterval(() => {}, 1000);", "process.exit(0);")
            : STAND_IN;
        const child = new Child(program, [state, "2", "-", "still"]);
        const { janitor } = await child.next<{ janitor: number }>();
        if (signal !== undefined) {
          // As a terminal does it: to everybody in the group, and the janitor by name as well.
          for (const pid of [janitor, child.process.pid as number]) process.kill(pid, signal);
        }
        await child.ended();
        expect(await untilClean(state)).toEqual([]);
      }
    });

    it("[J3] a process that has got the number of one of ours since then is let live", async () => {
      const state = folder();
      const child = new Child(
        `import { Janitor, startOf } from "@/sandbox/local/janitor.js";
      const [state, stranger] = process.argv.slice(2);
      const janitor = new Janitor(state);
      const pid = Number(stranger);
      janitor.add("${name("a")}", { processes: [{ pid, start: startOf(pid) - 1 }], cgroups: [] });
      console.log(JSON.stringify(startOf(pid)));
      setInterval(() => {}, 1000);`,
        [state, String(process.pid)],
      );
      expect(await child.next<number>()).toBe(startOf(process.pid));
      await child.crash();
      await sleep(1000);
      // We are the one that it would have killed.
      expect(startOf(process.pid)).toBeGreaterThan(0);
    });
  },
);

describe("the janitor", () => {
  it("[J4] keeps no process running, has nothing of ours open, and is in a session of its own", async () => {
    const state = folder();
    writeFileSync(join(state, "secret"), "of whoever started us");
    const secret = openSync(join(state, "secret"), "r");
    const child = new Child(
      `import { Janitor } from "@/sandbox/local/janitor.js";
      const janitor = new Janitor(process.argv[2]);
      janitor.add("${name("a")}", { processes: [], cgroups: [] });
      console.log(JSON.stringify(janitor.pid));
      process.stdin.once("data", () => process.stdin.destroy());`,
      [state],
      { leak: secret },
    );
    closeSync(secret);
    const pid = await child.next<number>();
    expect(readlinkSync(`/proc/${child.process.pid}/fd/40`)).toBe(join(state, "secret"));
    // A shell that has just begun still opens and closes files of its own.
    let open = openIn(pid);
    for (let turn = 0; open.join() !== "0" && turn < 500; turn++) {
      await sleep(10);
      open = openIn(pid);
    }
    expect(open).toEqual([0]);
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8").split(" ");
    expect(Number(stat[5])).toBe(pid);
    expect(
      readFileSync(`/proc/${pid}/environ`, "utf8")
        .split("\0")
        .map((one) => one.split("=")[0]),
    ).toEqual(expect.not.arrayContaining(["HOME", "USER", "NODE_OPTIONS"]));
    // Once its input is closed, only the janitor is left; the process ends by itself all the same.
    child.process.stdin?.write("go\n");
    expect(await child.ended()).toBe(0);
  });

  it("[J5] killed itself, it is started again and knows what the first one knew", async () => {
    const state = folder();
    mkdirSync(join(state, "live", name("a"), "deep"), { recursive: true });
    const janitor = new Janitor(state);
    janitor.add(name("a"), NOTHING);
    const first = janitor.pid as number;
    process.kill(first, "SIGKILL");
    for (let turn = 0; (janitor.pid === first || janitor.pid === undefined) && turn < 200; turn++)
      await sleep(20);
    expect(janitor.pid).not.toBe(first);
    await janitor.close();
    expect(existsSync(join(state, "live", name("a")))).toBe(false);
  });

  it("[J6] removes what it was told and not told to be gone, and nothing else, whatever is planted there", async () => {
    const outside = folder();
    const state = join(folder(), `odd name\n'"$(touch pwned)\`touch pwned\`; \\ %s é`);
    mkdirSync(join(outside, "precious"), { recursive: true });
    writeFileSync(join(outside, "precious", "file"), "kept");
    const live = (digit: string): string => join(state, "live", name(digit));
    for (const digit of ["a", "b", "c"]) mkdirSync(join(live(digit), "in", "ner"), { recursive: true });
    mkdirSync(join(state, "registry"));
    for (const digit of ["a", "b", "c"]) writeFileSync(join(state, "registry", `${name(digit)}.json`), "{}");
    symlinkSync(outside, join(live("a"), "in", "link"));
    symlinkSync(join(outside, "precious", "file"), join(live("a"), "in", "file"));
    symlinkSync("..", join(live("a"), "in", "up"));
    writeFileSync(join(live("a"), "-rf\n*"), "odd");
    chmodSync(join(live("a"), "in", "ner"), 0);
    // A box that is a link to elsewhere is removed as a link.
    symlinkSync(outside, live("d"));
    const janitor = new Janitor(state);
    for (const digit of ["a", "b", "d"]) janitor.add(name(digit), NOTHING);
    janitor.add(name("b"), NOTHING);
    janitor.remove(name("b"));
    for (const bad of ["../../x", "a b", "", "..", `${name("c")}/..`, "c".repeat(31)])
      janitor.add(bad, NOTHING);
    await janitor.close();
    expect(readdirSync(join(state, "live"))).toEqual([name("b"), name("c")]);
    expect(readdirSync(join(state, "registry"))).toEqual([`${name("b")}.json`, `${name("c")}.json`]);
    expect(readFileSync(join(outside, "precious", "file"), "utf8")).toBe("kept");
    expect(readdirSync(state).sort()).toEqual(["live", "registry"]);
    expect(lstatSync(outside).isDirectory()).toBe(true);
  });

  it("[J7] takes no other path for a control group", async () => {
    const state = folder();
    const outside = folder();
    mkdirSync(join(outside, "empty"));
    const janitor = new Janitor(state);
    const climbing = `/sys/fs/cgroup/../../..${outside}/empty`;
    janitor.add(name("a"), {
      processes: [],
      cgroups: [join(outside, "empty"), climbing, "/", "", "$(rm -r x)", "a b\nc"],
    });
    await janitor.close();
    expect(existsSync(join(outside, "empty"))).toBe(true);
  });

  it("[J8] takes off what is mounted in a box before it removes it", async (ctx) => {
    const state = folder();
    const outside = folder();
    writeFileSync(join(outside, "file"), "kept");
    const target = join(state, "live", name("a"), "merged");
    mkdirSync(target, { recursive: true });
    try {
      execFileSync("sh", ["-c", 'mount --bind "$0" "$1"', outside, target], { stdio: "ignore" });
    } catch {
      return ctx.skip("mounting is not allowed here");
    }
    const janitor = new Janitor(state);
    janitor.add(name("a"), NOTHING);
    await janitor.close();
    expect(traces(state)).toEqual([]);
    expect(readFileSync(join(outside, "file"), "utf8")).toBe("kept");
  });
});

/** The descriptors that a process has open, but for those that lead nowhere. */
function openIn(pid: number): readonly number[] {
  return readdirSync(`/proc/${pid}/fd`)
    .filter((number) => {
      try {
        return readlinkSync(`/proc/${pid}/fd/${number}`) !== "/dev/null";
      } catch {
        // Closed meanwhile.
        return false;
      }
    })
    .map(Number);
}
