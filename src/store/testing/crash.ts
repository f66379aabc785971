import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect } from "vitest";
import { digestOf, Session } from "../../session/index.js";
import { openStore } from "../open.js";
import type { NameMove, Store } from "../store.js";
import { ensureBuilt } from "./worker.js";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const script = fileURLToPath(new URL("./crash-writer.mjs", import.meta.url));
let built: string | undefined;
// When the file is done: test processes are ended without a chance to tidy up.
afterAll(() => {
  if (built !== undefined) rmSync(built, { recursive: true, force: true });
});

/** A copy of the built package: a build that starts meanwhile must not take it away from under a writer. */
export function packageCopy(): string {
  if (built !== undefined) return built;
  ensureBuilt();
  // Inside node_modules, so that what the package needs is found.
  const target = join(root, "node_modules", ".cache", "openrath-crash", String(process.pid));
  cpSync(join(root, "dist"), target, { recursive: true });
  cpSync(join(root, "package.json"), join(target, "package.json"));
  built = target;
  return target;
}

/** Numbers that a seed decides, so that a failure can be had again. */
export function numbersFrom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

/** The seed of a run: the same in `npm test`, another one each time in a campaign, OPENRATH_SEED to have a failure again. */
const campaign = process.env.OPENRATH_RANDOM !== undefined || process.env.OPENRATH_CRASH_ROUNDS !== undefined;
export const SEED = Number(
  process.env.OPENRATH_SEED ?? (campaign ? Math.floor(Math.random() * 2 ** 31) : 20261115),
);

type Told = {
  readonly open?: true;
  readonly closed?: true;
  readonly name?: string;
  readonly id?: string;
  readonly key?: string;
  readonly epoch?: number;
  readonly backup?: string;
  readonly error?: string;
  readonly again?: string;
  readonly message?: string;
};

/** A process that writes to a store until it is killed, and what it has told. */
export class CrashWriter {
  readonly process: ChildProcess;
  readonly ended: Promise<void>;
  #text = "";
  #heard: () => void = () => {};

  /** `command` is put before the program: a tracer that makes system calls fail. */
  constructor(url: string, options: object, command: readonly string[] = []) {
    const task = JSON.stringify({ dist: packageCopy(), url, ...options });
    const [program = "", ...args] = [...command, process.execPath, script, task];
    this.process = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] });
    this.process.stdout?.on("data", (data) => {
      this.#text += data;
      this.#heard();
    });
    this.ended = new Promise((done) => this.process.once("close", () => done()));
  }

  /** What it told in whole lines. */
  get told(): readonly Told[] {
    return this.#text
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Told);
  }

  /** Waits for the first word, or the end. */
  async speaks(): Promise<void> {
    if (this.#text === "")
      await Promise.race([new Promise<void>((done) => (this.#heard = done)), this.ended]);
  }

  /** Waits for the first save that was acknowledged, or the end. */
  async acknowledges(): Promise<void> {
    let ended = false;
    void this.ended.then(() => {
      ended = true;
    });
    while (!ended && !this.#text.includes('"id"')) {
      await Promise.race([new Promise<void>((done) => (this.#heard = done)), this.ended]);
    }
  }

  async kill(): Promise<void> {
    this.process.kill("SIGKILL");
    await this.ended;
  }
}

/** What is known to be acknowledged in a store. */
export class Ledger {
  readonly ids = new Map<string, Set<string>>();
  readonly #last = new Map<string, { id: string; key: string }>();
  readonly #epochs = new Map<string, number>();

  get size(): number {
    let size = 0;
    for (const ids of this.ids.values()) size += ids.size;
    return size;
  }

  take(told: readonly Told[]): void {
    for (const { name, id, key, epoch } of told) {
      if (name === undefined) continue;
      if (epoch !== undefined) this.#epochs.set(name, epoch);
      if (id === undefined || key === undefined) continue;
      const ids = this.ids.get(name);
      if (ids === undefined) this.ids.set(name, new Set([id]));
      else ids.add(id);
      this.#last.set(name, { id, key });
    }
  }

  /** Opens the store and holds it against what was acknowledged: nothing is lost, nothing is wrong, it goes on. */
  async verify(url: string): Promise<void> {
    const store = await openStore(url);
    try {
      expect((await store.check()).findings).toEqual([]);
      const names = new Map((await store.names()).map((record) => [record.name, record]));
      const moves = await newestMoves(store);
      for (const { name, id, token } of names.values())
        expect(moves.get(name), `the log of ${name} ends elsewhere`).toMatchObject({ id, token });
      for (const [name, ids] of this.ids) {
        expect(names.has(name), `the name ${name} is gone`).toBe(true);
        const past = new Set<string>();
        for await (const line of store.export(name, { blobs: false })) past.add(digestOf(line));
        const lost = [...ids].filter((id) => !past.has(id));
        expect(lost, `acknowledged facts are not in the past of ${name}`).toEqual([]);
        expect(names.get(name)?.epoch).toBeGreaterThanOrEqual(this.#epochs.get(name) ?? 0);
        const lease = await store.lease(name, { owner: name.replace("-", " ") });
        // The step that was acknowledged last is known to be done.
        const { id, key } = this.#last.get(name) as { id: string; key: string };
        const session = await store.load(id);
        expect(await store.save(session, { name, key, lease })).toMatchObject({ id, replayed: true });
        const next = (await store.load(name)).say("and on it goes");
        await store.save(next, { name, lease });
        await lease.release();
        expect((await store.load(name)).id).toBe(next.id);
      }
      const own = Session.start("after the crash").say("y".repeat(5000));
      await store.save(own, { name: "after", force: true });
      expect((await store.load("after")).transcript.length).toBe(own.transcript.length);
    } finally {
      await store.close();
    }
  }
}

/** The last logged move of each name. */
async function newestMoves(store: Store): Promise<ReadonlyMap<string, NameMove>> {
  const moves = new Map<string, NameMove>();
  const { token } = store.watch();
  for await (const move of token === "0-" ? [] : store.watch({ from: "0-" })) {
    moves.set(move.name, move);
    if (move.token === token) break;
  }
  return moves;
}

/** Backups that were acknowledged open as stores of their own; the others may be half there. */
export async function verifyBackups(told: readonly Told[]): Promise<void> {
  for (const { backup } of told) {
    if (backup === undefined) continue;
    const copy = await openStore(`sqlite:${backup}`);
    expect((await copy.check()).findings, backup).toEqual([]);
    await copy.close();
  }
}
