import { rmSync } from "node:fs";
import { join } from "node:path";
import { type FactId, parentsOf, RathError } from "../../session/index.js";
import { NotFoundError, namesMoved, newestToken, type Store } from "../../store/index.js";
import { derivedOf, type Progress } from "../derived.js";
import { isBusy, patiently, SUFFIXES } from "../derived-file.js";
import { derivedFolderOf, storeNameOf } from "../name.js";
import { LineageFile } from "./lineage-file.js";
import { breather, LineageGrowth, rootOf } from "./lineage-growth.js";

/** Called with how many more names and facts were taken in. */
type Tell = (more: number) => void;

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
  ask: (file: LineageFile) => Answer,
): Promise<Answer> {
  // One after the other: two at once would do the same work twice.
  return derivedOf(store).alone("lineage", () => openAndAsk(store, progress, ask));
}

async function openAndAsk<Answer>(
  store: Store,
  progress: Progress | undefined,
  ask: (file: LineageFile) => Answer,
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
  ask: (file: LineageFile) => Answer,
): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await patiently(async () => {
        try {
          await catchUp(file, store, progress);
          // An answer takes several queries: no other process may change the file between them.
          file.exec("BEGIN");
          const answer = ask(file);
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
async function catchUp(file: LineageFile, store: Store, progress: Progress | undefined): Promise<void> {
  if (file.isCurrent && file.token === newestToken(store) && !(await isStale(file, store))) return;
  file.exec("BEGIN IMMEDIATE");
  // Another process may have done it meanwhile.
  if (!file.isCurrent || (await isStale(file, store))) file.make();
  let done = 0;
  const tell = (more: number): void => {
    done += more;
    progress?.(done);
  };
  if (!(await grow(file, store, tell))) {
    file.make();
    await grow(file, store, tell);
  }
  file.exec("COMMIT");
}

/** Whether content or a fact arrived or is gone. */
async function isStale(file: LineageFile, store: Store): Promise<boolean> {
  for (const { cited } of file.all("SELECT cited FROM missing LIMIT ?", RETRIED))
    if (await store.has(cited as FactId)) return true;
  // A fact that no name leads to can be collected while every name stays where it is.
  for (const { id } of file.all("SELECT id FROM head WHERE cited = 1"))
    if (!(await store.has(id as FactId))) return true;
  if (file.get("SELECT 1 FROM outside LIMIT 1") === undefined) return false;
  for (const { digest } of file.all(
    "SELECT DISTINCT digest FROM outside WHERE open > 0 AND open = 1 LIMIT ?",
    RETRIED,
  ))
    if ((await store.blob(digest as string).catch(() => undefined)) !== undefined) return true;
  for (const { digest } of await store.erasures())
    if (file.get("SELECT 1 FROM outside WHERE digest = ? AND open = 0", digest) !== undefined) return true;
  return false;
}

/** Adds what is new. False when a name no longer leads to something that the index covers. */
async function grow(file: LineageFile, store: Store, tell: Tell): Promise<boolean> {
  const end = newestToken(store);
  const { fresh, left, spaces } = await moveNames(file, store, tell, end);
  const gone = new Set(left);
  for (const id of gone) if (!(await store.has(id))) return false;
  const heads = headsIn(file);
  const few = heads.length <= MANY;
  const growth = new LineageGrowth(file, store, { again: !few });
  if (fresh.length > 0)
    for await (const lines of store.lines(fresh, { without: few ? heads : [...gone] })) {
      await growth.add(lines);
      if (gone.size > 0)
        for (const { line } of lines) for (const parent of parentsOf(line)) gone.delete(parent);
      tell(lines.length);
    }
  if (gone.size > 0) return false;
  let cited = await growth.finish();
  for (const id of left) file.run("DELETE FROM head WHERE id = ?", id);
  const breathe = breather();
  for (const id of fresh) {
    await breathe();
    cover(file, id, false);
  }
  while (cited.length > 0) cited = await addCited(file, store, cited, tell);
  for (const id of spaces)
    file.run("UPDATE head SET root = ? WHERE id = ?", (await rootOf(file, store, id)) ?? null, id);
  file.run("UPDATE state SET token = ?", end);
  return true;
}

/** Brings the names to where they stand. Gives the heads that came, those that no name has any longer, and those of spaces. */
async function moveNames(file: LineageFile, store: Store, tell: Tell, end: string) {
  const breathe = breather();
  const moved = file.token === "" ? undefined : await namesMoved(store, file.token, end);
  const standing = new Map<string, FactId | undefined>();
  if (moved !== undefined) for (const name of moved) standing.set(name, await store.head(name));
  else {
    for (const { name } of file.all("SELECT name FROM name")) standing.set(name as string, undefined);
    for (const { name, id } of await store.names()) standing.set(name, id);
  }
  const [left, came, spaces] = [new Set<FactId>(), new Set<FactId>(), new Set<FactId>()];
  for (const [name, id] of standing) {
    await breathe();
    const before = file.get("SELECT id FROM name WHERE name = ?", name)?.id as FactId | undefined;
    if (before === id) continue;
    if (before !== undefined) left.add(before);
    if (id === undefined) file.run("DELETE FROM name WHERE name = ?", name);
    else {
      file.run("INSERT OR REPLACE INTO name VALUES (?, ?)", name, id);
      tell(1);
      came.add(id);
      if (isSpace(name)) spaces.add(id);
    }
  }
  const isNamed = (id: FactId): boolean =>
    file.get("SELECT 1 FROM name WHERE id = ? LIMIT 1", id) !== undefined;
  const fresh: FactId[] = [];
  // Memory spaces first: their citations are then known when the cited facts come.
  for (const id of new Set([...spaces, ...came])) {
    await breathe();
    if (file.get("SELECT 1 FROM head WHERE id = ?", id) !== undefined)
      file.run("UPDATE head SET cited = 0 WHERE id = ?", id);
    else if (isNamed(id)) fresh.push(id);
  }
  return { left: [...left].filter((id) => !isNamed(id)), fresh, spaces };
}

/** Heads that the index covers, as far as their pasts are passed over. */
function headsIn(file: LineageFile): readonly FactId[] {
  return file.all("SELECT id FROM head LIMIT ?", MANY + 1).map(({ id }) => id as FactId);
}

function cover(file: LineageFile, id: FactId, isCited: boolean): void {
  const node = file.find(id)?.node ?? 0;
  file.run("INSERT OR IGNORE INTO head VALUES (?, ?, ?, NULL)", id, isCited ? 1 : 0, node);
}

/** Adds facts that memories cite and that no name leads to. Returns what those cite in turn. */
async function addCited(
  file: LineageFile,
  store: Store,
  cited: readonly FactId[],
  tell: Tell,
): Promise<readonly FactId[]> {
  const present = new Set<FactId>();
  for (const id of cited)
    if (await store.has(id)) present.add(id);
    else file.run("INSERT OR IGNORE INTO missing VALUES (?)", id);
  if (present.size === 0) return [];
  const known = headsIn(file);
  const few = known.length <= MANY;
  const growth = new LineageGrowth(file, store, { again: !few });
  const met: FactId[] = [];
  for await (const lines of store.lines([...present], { without: few ? known : [] })) {
    for (const { id } of lines) if (present.has(id)) met.push(id);
    await growth.add(lines);
    tell(lines.length);
  }
  const next = await growth.finish();
  for (const id of met) cover(file, id, true);
  return next;
}

export function isSpace(name: string): boolean {
  return name.startsWith(storeNameOf(""));
}
