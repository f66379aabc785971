import { lstatSync, type Stats } from "node:fs";
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { Pace } from "./directory.js";
import type { Seen, StatCache } from "./stat-cache.js";

/** From this many entries on the look is shared among threads: below, one has done it before the others have begun. */
const SHARED_FROM = 4_000;

/** A directory that was seen, and where it is. */
export type Place = { readonly seen: Seen; readonly path: string; readonly above: Place | undefined };

export type Surveyed = {
  /** Directories that look different, or are not certain. */
  readonly changed: ReadonlySet<Seen>;
  /** The same and everything above it. A directory that is not here is unchanged, with all that is below. */
  readonly touched: ReadonlySet<Seen>;
};

/**
 * The known directories that look different now. Paths are used as they are: a link trick can only make a
 * directory look changed, and then it is read safely.
 */
export async function survey(cache: StatCache, root: string, signal?: AbortSignal): Promise<Surveyed> {
  const places = placesOf(cache, root);
  const uncertain = places.filter(({ seen }) => !seen.certain);
  const certain = places.filter(({ seen }) => seen.certain);
  const found =
    (isLarge(cache) ? await shared(cache, root, certain, "look") : undefined) ??
    (await alone(certain, signal));
  const changed = new Set<Seen>();
  const touched = new Set<Seen>();
  for (const place of [...uncertain, ...found]) {
    changed.add(place.seen);
    for (let at: Place | undefined = place; at !== undefined && !touched.has(at.seen); at = at.above)
      touched.add(at.seen);
  }
  return { changed, touched };
}

/** Tells the threads that share the next look what there is to look at, while nobody waits for it. */
export async function prepare(cache: StatCache, root: string): Promise<void> {
  if (!isLarge(cache)) return;
  await shared(
    cache,
    root,
    placesOf(cache, root).filter(({ seen }) => seen.certain),
    "keep",
  );
}

function isLarge({ root }: StatCache): boolean {
  return root !== undefined && root.files >= SHARED_FROM;
}

async function alone(places: readonly Place[], signal: AbortSignal | undefined): Promise<readonly Place[]> {
  const pace = new Pace(signal);
  const found: Place[] = [];
  for (const place of places) {
    if (pace.long) await pace.rest();
    const { seen, path } = place;
    if (!looksSame(lstatSync, path, seen.device, seen.stamps, seen.names)) found.push(place);
  }
  return found;
}

function placesOf({ root }: StatCache, path: string): readonly Place[] {
  const places: Place[] = root === undefined ? [] : [{ seen: root, path, above: undefined }];
  // The list grows while it is gone through.
  for (const place of places) {
    for (const [name, { seen }] of place.seen.directories)
      places.push({ seen, path: `${place.path}/${name}`, above: place });
  }
  return places;
}

const MOST = 4;
const PATIENCE_MS = 30_000;
const IDLE_MS = 60_000;

/**
 * Has threads compare directories with their stamps. They keep in step with each cache by being told what is
 * new. Undefined without threads (one processor, or one failed).
 */
export async function shared(
  cache: StatCache,
  root: string,
  places: readonly Place[],
  task: "look" | "keep",
): Promise<readonly Place[] | undefined> {
  team ??= hired();
  if (team.length === 0) return undefined;
  clearTimeout(idle);
  busy += 1;
  try {
    const { news, known } = newsFor(cache, root, places, team.length);
    const answers = await Promise.all(
      team.map((one, index) => one.ask({ ...news[index], task } as Question)),
    );
    return answers.flat().map((id) => known.get(id) as Place);
  } catch {
    // Whatever became of them: they are not needed for a right answer, and not asked again.
    dismiss();
    team = [];
    return undefined;
  } finally {
    busy -= 1;
    if (busy === 0) idle = setTimeout(dismiss, IDLE_MS).unref();
  }
}

let team: readonly Surveyor[] | undefined;
let busy = 0;
let idle: NodeJS.Timeout | undefined;

function hired(): readonly Surveyor[] {
  const count = Math.min(availableParallelism(), MOST);
  return count < 2 ? [] : Array.from({ length: count }, () => new Surveyor());
}

function dismiss(): void {
  for (const one of team ?? []) one.end();
  team = undefined;
  told = new WeakMap();
}

type Row = readonly [
  id: number,
  path: string,
  device: number,
  stamps: Float64Array,
  names: readonly string[],
];
type Question = {
  readonly cache: number;
  readonly add: readonly Row[];
  readonly drop: readonly number[];
  readonly task: "look" | "keep";
};

/** The directories of a workspace that the threads know. */
type Told = { readonly cache: number; root: string; readonly ids: Map<Seen, number> };
let told = new WeakMap<StatCache, Told>();
let count = 0;
const gone = new FinalizationRegistry<number>((cache) => {
  for (const one of team ?? []) one.forget(cache);
});

function newsFor(
  cache: StatCache,
  root: string,
  places: readonly Place[],
  members: number,
): { news: readonly Omit<Question, "task">[]; known: ReadonlyMap<number, Place> } {
  const before = told.get(cache) ?? introduced(cache, root);
  const { ids } = before;
  const news = Array.from({ length: members }, () => ({
    cache: before.cache,
    add: [] as Row[],
    drop: [] as number[],
  }));
  const known = new Map<number, Place>();
  for (const place of places) {
    const { seen, path } = place;
    const old = before.root === root ? ids.get(seen) : undefined;
    if (old !== undefined) {
      known.set(old, place);
      continue;
    }
    count += 1;
    known.set(count, place);
    news[count % members]?.add.push([count, path, seen.device, seen.stamps, seen.names]);
  }
  for (const id of ids.values()) if (!known.has(id)) news[id % members]?.drop.push(id);
  ids.clear();
  for (const [id, { seen }] of known) ids.set(seen, id);
  before.root = root;
  return { news, known };
}

function introduced(cache: StatCache, root: string): Told {
  count += 1;
  const first = { cache: count, root, ids: new Map<Seen, number>() };
  told.set(cache, first);
  gone.register(cache, count);
  return first;
}

/** One thread. It does not keep the program running unless someone waits for it. */
class Surveyor {
  readonly #worker: Worker;
  readonly #waiting: { resolve: (ids: readonly number[]) => void; reject: (error: unknown) => void }[] = [];

  constructor() {
    this.#worker = new Worker(PROGRAM, { eval: true, execArgv: [], env: {} });
    this.#worker.unref();
    this.#worker.on("message", (ids: readonly number[]) => {
      this.#waiting.shift()?.resolve(ids);
      if (this.#waiting.length === 0) this.#worker.unref();
    });
    this.#worker.on("error", (error) => this.#fail(error));
    this.#worker.on("exit", () => this.#fail(new Error("the thread ended")));
  }

  /** Answers come in the order of questions. */
  async ask(question: Question): Promise<readonly number[]> {
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise<readonly number[]>((resolve, reject) => {
        timer = setTimeout(reject, PATIENCE_MS, new Error("the thread does not answer"));
        this.#waiting.push({ resolve, reject });
        this.#worker.ref();
        this.#worker.postMessage(question);
      });
    } finally {
      clearTimeout(timer);
    }
  }

  forget(cache: number): void {
    this.#worker.postMessage({ forget: cache });
  }

  end(): void {
    this.#fail(new Error("the thread was ended"));
    void this.#worker.terminate();
  }

  #fail(error: unknown): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
    this.#worker.unref();
  }
}

/** Whether a directory and its leaves have their stamps (five numbers). Sent to threads as text. */
export function looksSame(
  lstat: (path: string, options: { throwIfNoEntry: false }) => Stats | undefined,
  path: string,
  device: number,
  stamps: Float64Array,
  names: readonly string[],
): boolean {
  const quiet = { throwIfNoEntry: false } as const;
  try {
    for (let row = 0, at = 0; row <= names.length; row++, at += 5) {
      const stats = lstat(row === 0 ? path : `${path}/${names[row - 1]}`, quiet);
      if (
        stats === undefined ||
        stats.ctimeMs !== stamps[at + 2] ||
        stats.mtimeMs !== stamps[at + 1] ||
        stats.size !== stamps[at] ||
        stats.ino !== stamps[at + 3] ||
        stats.mode !== stamps[at + 4] ||
        stats.dev !== device
      )
        return false;
    }
    return true;
  } catch {
    return false;
  }
}

/** The program of a thread. Text, so that it runs from sources, from the package and from a bundle alike. */
const PROGRAM = `
const { lstatSync } = require("node:fs");
const { parentPort } = require("node:worker_threads");
const looksSame = ${looksSame.toString()};
const caches = new Map();
parentPort.on("message", ({ forget, cache, add, drop, task }) => {
  if (forget !== undefined) return void caches.delete(forget);
  const rows = caches.get(cache) ?? new Map();
  caches.set(cache, rows);
  for (const id of drop) rows.delete(id);
  for (const row of add) rows.set(row[0], row);
  const changed = [];
  if (task === "look")
    for (const [id, path, device, stamps, names] of rows.values())
      if (!looksSame(lstatSync, path, device, stamps, names)) changed.push(id);
  parentPort.postMessage(changed);
});
`;
