import { execFile, spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, expect, it } from "vitest";
import { type Rath, statusOf } from "../runtime/index.js";
import { Session } from "../session/index.js";
import type { Store } from "../store/index.js";
import { ensureBuilt } from "../store/testing/worker.js";
import { board } from "./index.js";
import { atEnd, place, until } from "./testing/bench.js";

const LONG = { timeout: 180_000 };
const program = fileURLToPath(new URL("../../scripts/cluster-program.mjs", import.meta.url));
const command = fileURLToPath(new URL("../../dist/cli/rath.js", import.meta.url));
/** As the program has it. */
const steps = 8;
const NAMES = ["a", "b", "c", "d"];

beforeAll(ensureBuilt, 180_000);

/** Workers that are processes of the built command, and the file in which their effects are counted. */
function processes(url: string) {
  const folder = fileURLToPath(new URL(".", `file://${url.slice("sqlite:".length)}`));
  const ledger = join(folder, "ledger.txt");
  writeFileSync(ledger, "");
  const start = (...options: readonly string[]) => {
    const child = spawn(process.execPath, [...options, command, "worker", program, "--store", url], {
      stdio: "ignore",
      env: { ...process.env, RATH_LEDGER: ledger },
    });
    atEnd(() => child.kill("SIGKILL"));
    return child;
  };
  return { folder, start, keys: () => readFileSync(ledger, "utf8").split("\n").filter(Boolean) };
}

const workersOf = async (store: Store) => (await board(store)).workers;

/** Waits until every session is over, and settles as done or again what is in doubt, as the ledger has it. */
async function finish(rath: Rath, keys: () => readonly string[]): Promise<Set<string>> {
  const settled = new Set<string>();
  await until(async () => {
    const states = await Promise.all(NAMES.map(async (name) => statusOf(await rath.load(name))));
    for (const name of NAMES.filter((_, place) => states[place] === "waiting"))
      for (const one of await rath.pending(name)) {
        if (one.doubt !== true || one.answered || settled.has(one.key ?? "")) continue;
        const decision = keys().includes(one.key ?? "")
          ? ({ decision: "done", value: 0 } as const)
          : ({ decision: "again" } as const);
        // A worker may just have taken it again: then it asks once more.
        const given = await rath
          .settle(name, { by: "user:ada", of: one.id, ...decision })
          .catch(() => undefined);
        if (given !== undefined) settled.add(one.key ?? "");
      }
    return states.every((state) => state === "finished");
  });
  return settled;
}

/** By the command too: the digest of a module is that of what node has loaded. */
async function submitAll(url: string): Promise<void> {
  for (const name of NAMES) {
    const words = ["submit", `${program}#counted`, "--input", name, "--name", name, "--store", url];
    await promisify(execFile)(process.execPath, [command, ...words]);
  }
}

it(
  "[CL4] sessions of a worker that was killed go on at another one, and no write is repeated",
  LONG,
  async () => {
    const { store, rath, url } = await place();
    const { start, keys } = processes(url);
    await submitAll(url);
    const first = start();
    await until(async () => keys().length > NAMES.length);
    first.kill("SIGKILL");
    start();
    await finish(rath, keys);
    expect(keys()).toHaveLength(new Set(keys()).size);
    expect(keys()).toHaveLength(NAMES.length * steps);
    await until(async () => (await store.names({ under: ".queue/" })).length === 1);
    expect((await workersOf(store)).map(({ pid }) => pid)).not.toContain(first.pid);
  },
);

it(
  "[CL5] a worker that was stopped until others took over writes nothing more, and comes back as another one",
  LONG,
  async () => {
    const { store, rath, url } = await place();
    const { start, keys } = processes(url);
    await submitAll(url);
    const first = start();
    await until(async () => keys().length > NAMES.length);
    const [before] = await workersOf(store);
    // Not inside a commit, which would keep every other writer of this file waiting as long.
    await until(async () => {
      first.kill("SIGSTOP");
      const isFree = await store.save(Session.start("free"), { name: "probe", force: true }).then(
        () => true,
        () => false,
      );
      if (!isFree) first.kill("SIGCONT");
      return isFree;
    });
    start();
    await until(async () => !(await workersOf(store)).some(({ id }) => id === before?.id));
    first.kill("SIGCONT");
    const settled = await finish(rath, keys);
    const repeated = keys().filter((key, at) => keys().indexOf(key) !== at);
    expect(repeated.filter((key) => !settled.has(key))).toEqual([]);
    const back = await until(async () => (await workersOf(store)).find(({ pid }) => pid === first.pid));
    expect(back.id).not.toBe(before?.id);
    expect((await store.check()).findings).toEqual([]);
  },
);

it.each([1, -1])(
  "[CL6] a worker whose clock is off by hours takes nothing early and keeps nothing longer: %s",
  LONG,
  async (hours) => {
    const { store, rath, url } = await place();
    const { folder, start, keys } = processes(url);
    const clock = join(folder, "clock.mjs");
    writeFileSync(clock, `const now = Date.now; Date.now = () => now() + ${hours * 3_600_000};\n`);
    const right = start();
    const [card] = await until(async () => {
      const all = await workersOf(store);
      return all.length === 1 && all;
    });
    const wrong = start("--import", clock);
    await until(async () => (await workersOf(store)).length === 2);
    await submitAll(url);
    await finish(rath, keys);
    expect(keys()).toHaveLength(NAMES.length * steps);
    expect((await workersOf(store)).map(({ pid }) => pid).sort()).toEqual([right.pid, wrong.pid].sort());
    expect((await workersOf(store)).map(({ id }) => id)).toContain(card?.id);
    const times = await Promise.all(
      NAMES.map(async (name) => Date.parse((await rath.load(name)).fact.at ?? "")),
    );
    for (const time of times) expect(Math.abs(time - Date.now())).toBeLessThan(1_800_000);
    // It is taken over as soon as any other.
    wrong.kill("SIGKILL");
    await until(async () => (await workersOf(store)).length === 1);
  },
);
