import { rmSync } from "node:fs";
import { join } from "node:path";
import { type FactId, parentsOf, RathError } from "../../session/index.js";
import { type Name, NotFoundError, type Store } from "../../store/index.js";
import { derivedOf, type Progress } from "../derived.js";
import { isBusy, patiently, SUFFIXES } from "../derived-file.js";
import { derivedFolderOf, storeNameOf } from "../name.js";
import { LineageFile } from "./lineage-file.js";
import { LineageGrowth, rootOf } from "./lineage-growth.js";

/** The index of the descendants of readings at one moment, and the names of the store at that moment. */
export type Lineage = { readonly file: LineageFile; readonly names: readonly Name[] };

const ATTEMPTS = 3;
/** In a store with more known names, the past of each is not excluded when new facts are read. */
const MANY = 200;
/** How many missing facts and contents are looked for again. */
const RETRIED = 1_000;

/** The indexes of stores whose file cannot be written, in memory. */
const inMemory = new WeakMap<Store, LineageFile>();

/** Queries the index of a store, brought up to date. It is derived, so it is rebuilt when lost. */
export async function withLineage<Answer>(
  store: Store,
  progress: Progress | undefined,
  ask: (lineage: Lineage) => Answer,
): Promise<Answer> {
  // One after the other: two at once would do the same work twice.
  return derivedOf(store).alone("lineage", () => openAndAsk(store, progress, ask));
}

async function openAndAsk<Answer>(
  store: Store,
  progress: Progress | undefined,
  ask: (lineage: Lineage) => Answer,
): Promise<Answer> {
  const folder = inMemory.has(store) ? undefined : derivedFolderOf(store);
  if (folder !== undefined) {
    const path = join(folder, "lineage.sqlite");
    // The second attempt makes the file anew; when that fails too, no file is needed.
    for (const anew of [false, true]) {
      try {
        if (anew) for (const suffix of SUFFIXES) rmSync(`${path}${suffix}`, { force: true });
        const file = await patiently(() => new LineageFile(path));
        try {
          return await askUpToDate(store, file, progress, ask);
        } finally {
          file.close();
        }
      } catch (error) {
        // An error of the store or of the caller is not a fault of the index.
        if (error instanceof RathError) throw error;
        if (isBusy(error)) break;
      }
    }
  }
  const file = inMemory.get(store) ?? new LineageFile(undefined);
  inMemory.set(store, file);
  try {
    return await askUpToDate(store, file, progress, ask);
  } catch (error) {
    file.close();
    inMemory.delete(store);
    throw error;
  }
}

async function askUpToDate<Answer>(
  store: Store,
  file: LineageFile,
  progress: Progress | undefined,
  ask: (lineage: Lineage) => Answer,
): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await patiently(async () => {
        try {
          const names = await catchUp(file, store, progress);
          // An answer takes several queries: no other process may change the file between them.
          file.exec("BEGIN");
          const answer = ask({ file, names });
          file.exec("COMMIT");
          return answer;
        } catch (error) {
          file.rollback();
          throw error;
        }
      });
    } catch (error) {
      // A fact was collected, or a name deleted, while it was read.
      if (!(error instanceof NotFoundError) || attempt === ATTEMPTS) throw error;
    }
  }
}

/**
 * Extends the index to where the names stand. Rebuilds it when a covered fact is no longer reachable, or
 * content came or was erased. An error leaves a transaction to be rolled back.
 */
async function catchUp(file: LineageFile, store: Store, progress: Progress | undefined) {
  const before = await store.names();
  if (file.isCurrent && isCovered(file, before) && !(await isStale(file, store))) return before;
  file.exec("BEGIN IMMEDIATE");
  // Another process may have done it meanwhile, and names may have moved.
  if (!file.isCurrent || (await isStale(file, store))) file.make();
  const names = await store.names();
  let done = 0;
  const tell = (more: number): void => {
    done += more;
    progress?.(done);
  };
  if (!(await grow(file, store, names, tell))) {
    file.make();
    await grow(file, store, names, tell);
  }
  file.exec("COMMIT");
  return names;
}

/** Whether the index covers exactly what these names lead to, and what is cited in addition. */
function isCovered(file: LineageFile, names: readonly Name[]): boolean {
  const wanted = new Set(names.map(({ id }) => id));
  const spaces = new Set(names.filter(isSpace).map(({ id }) => id));
  for (const { id, cited, root } of file.all("SELECT id, cited, root FROM head")) {
    if (root === null && spaces.has(id as FactId)) return false;
    if (!wanted.delete(id as FactId) && cited === 0) return false;
  }
  return wanted.size === 0;
}

/** Whether content or a fact arrived or is gone. */
async function isStale(file: LineageFile, store: Store): Promise<boolean> {
  for (const { cited } of file.all("SELECT cited FROM missing LIMIT ?", RETRIED))
    if (await store.has(cited as FactId)) return true;
  // A fact that no name leads to can be collected while every name stays where it is.
  for (const { id } of file.all("SELECT id FROM head WHERE cited = 1"))
    if (!(await store.has(id as FactId))) return true;
  if (file.get("SELECT 1 FROM outside LIMIT 1") === undefined) return false;
  for (const { digest } of file.all("SELECT DISTINCT digest FROM outside WHERE open = 1 LIMIT ?", RETRIED))
    if ((await store.blob(digest as string).catch(() => undefined)) !== undefined) return true;
  for (const { digest } of await store.erasures())
    if (file.get("SELECT 1 FROM outside WHERE digest = ? AND open = 0", digest) !== undefined) return true;
  return false;
}

/** Adds what is new. False when a name no longer leads to something that the index covers. */
async function grow(file: LineageFile, store: Store, names: readonly Name[], tell: (more: number) => void) {
  const heads = new Map(
    file.all("SELECT id, cited FROM head").map(({ id, cited }) => [id as FactId, cited === 1]),
  );
  // Memory spaces first: their citations are then known when the cited facts come.
  const inOrder = [...names].sort((one, other) => Number(isSpace(other)) - Number(isSpace(one)));
  const wanted = new Map(inOrder.map(({ id }) => [id, false]));
  for (const [id, cited] of heads) if (cited && !wanted.has(id)) wanted.set(id, true);
  const gone = new Set([...heads.keys()].filter((id) => !wanted.has(id)));
  for (const id of gone) if (!(await store.has(id))) return false;
  const fresh = [...wanted.keys()].filter((id) => !heads.has(id));
  const known = [...heads.keys()].filter((id) => wanted.has(id));
  const few = known.length <= MANY;
  const growth = new LineageGrowth(file, store, { again: !few });
  if (fresh.length > 0)
    for await (const lines of store.lines(fresh, { without: [...(few ? known : []), ...gone] })) {
      await growth.add(lines);
      if (gone.size > 0)
        for (const { line } of lines) for (const parent of parentsOf(line)) gone.delete(parent);
      tell(lines.length);
    }
  if (gone.size > 0) return false;
  for (let cited = await growth.finish(); cited.length > 0; )
    cited = await addCited(file, store, cited, wanted, tell);
  file.exec("DELETE FROM head");
  const spaces = new Set(names.filter(isSpace).map(({ id }) => id));
  for (const [id, cited] of wanted) {
    const root = spaces.has(id) ? await rootOf(file, store, id) : undefined;
    file.run("INSERT INTO head VALUES (?, ?, ?)", id, cited ? 1 : 0, root ?? null);
  }
  return true;
}

/** Adds facts that memories cite and that no name leads to. Returns what those cite in turn. */
async function addCited(
  file: LineageFile,
  store: Store,
  cited: readonly FactId[],
  wanted: Map<FactId, boolean>,
  tell: (more: number) => void,
): Promise<readonly FactId[]> {
  const present = new Set<FactId>();
  for (const id of cited)
    if (await store.has(id)) present.add(id);
    else file.run("INSERT OR IGNORE INTO missing VALUES (?)", id);
  if (present.size === 0) return [];
  const growth = new LineageGrowth(file, store, { again: false });
  const met: FactId[] = [];
  for await (const lines of store.lines([...present], { without: [...wanted.keys()] })) {
    for (const { id } of lines) if (present.has(id)) met.push(id);
    await growth.add(lines);
    tell(lines.length);
  }
  for (const id of met) wanted.set(id, true);
  return growth.finish();
}

export function isSpace({ name }: Name): boolean {
  return name.startsWith(storeNameOf(""));
}
