import { type FactId, parentsOf } from "../../session/index.js";
import type { Name, Store } from "../../store/index.js";
import { storeNameOf } from "../name.js";
import type { LineageFile } from "./lineage-file.js";
import { LineageGrowth, rootOf } from "./lineage-growth.js";

/** How far the making of the index has come; nobody knows before how far it is. */
export type Progress = (done: number, total?: number) => void;

/** Where a store has more names than this, the past of each is not looked at for what is new. */
const MANY = 200;
/** What is taken out can leave a fact uncited that was covered for that alone, and so on. */
const ROUNDS = 100;
/** Content that is not there is asked for again, as much of it at a time. */
const RETRIED = 1_000;

/**
 * Brings the index to where the names of a store stand: reads what is new, takes out what nothing leads to any more, and
 * looks again for content that was not there. Answers with the names. What fails leaves a transaction to be undone.
 */
export async function catchUp(
  file: LineageFile,
  store: Store,
  progress: Progress | undefined,
): Promise<readonly Name[]> {
  const before = await store.names();
  if (file.isCurrent && isCovered(file, before) && !(await isStale(file, store))) return before;
  file.exec("BEGIN IMMEDIATE");
  // Another process may have done it meanwhile, and names may have moved.
  if (!file.isCurrent) file.make();
  let done = 0;
  const tell = (more: number): void => {
    done += more;
    progress?.(done);
  };
  let names = await store.names();
  for (let round = 0; ; round++) {
    const sync = new LineageSync(file, store, tell);
    if (!(await sync.run(names))) file.clear();
    else if (isCovered(file, names) || round === ROUNDS) break;
    names = await store.names();
  }
  file.exec("DELETE FROM missing WHERE cited NOT IN (SELECT cited FROM cite)");
  file.exec("COMMIT");
  return names;
}

/** Whether the index covers exactly what these names lead to, and what is cited beside. */
function isCovered(file: LineageFile, names: readonly Name[]): boolean {
  const wanted = new Set(names.map(({ id }) => id));
  const spaces = new Set(names.filter(isSpace).map(({ id }) => id));
  for (const { id, cited, root } of file.statement("SELECT id, cited, root FROM head").all()) {
    if (cited === 0 ? !wanted.delete(id as FactId) : !isCited(file, id as FactId)) return false;
    if (root === null && spaces.has(id as FactId)) return false;
    wanted.delete(id as FactId);
  }
  return wanted.size === 0;
}

function isCited(file: LineageFile, id: FactId): boolean {
  return file.statement("SELECT 1 FROM cite WHERE cited = ? LIMIT 1").get(id) !== undefined;
}

class LineageSync {
  readonly #file: LineageFile;
  readonly #store: Store;
  readonly #tell: (more: number) => void;

  constructor(file: LineageFile, store: Store, tell: (more: number) => void) {
    this.#file = file;
    this.#store = store;
    this.#tell = tell;
  }

  /** False when the index speaks of facts that are gone: then it has to be made anew. */
  async run(names: readonly Name[]): Promise<boolean> {
    const heads = new Map(
      this.#file
        .statement("SELECT id, cited FROM head")
        .all()
        .map((row) => [row.id as FactId, row.cited === 1]),
    );
    const wanted = new Map(inOrder(names).map(({ id }) => [id, false]));
    for (const [id, cited] of heads)
      if (cited && !wanted.has(id) && isCited(this.#file, id)) wanted.set(id, true);
    const gone = new Set([...heads.keys()].filter((id) => !wanted.has(id)));
    const there = await this.#present([
      ...gone,
      ...[...wanted].flatMap(([id, cited]) => (cited ? [id] : [])),
    ]);
    for (const [id, cited] of wanted) if (cited && !there.has(id)) return false;
    const fresh = [...wanted.keys()].filter((id) => !heads.has(id));
    const known = [...heads.keys()].filter((id) => wanted.has(id));
    const few = known.length <= MANY;
    const without = [...(few ? known : []), ...[...gone].filter((id) => there.has(id))];
    let elsewhere = [...(await this.#add(fresh, without, !few, gone))];
    // What is left of these leads nowhere: nothing that came in descends from it.
    if ([...gone].some((id) => !there.has(id))) return false;
    if (gone.size > 0) elsewhere.push(...(await this.#remove([...gone], [...wanted.keys()])));
    elsewhere.push(...(await this.#reread()), ...this.#missing());
    while (elsewhere.length > 0) elsewhere = [...(await this.#beside(elsewhere, wanted))];
    this.#file.exec("DELETE FROM head");
    const insert = this.#file.statement("INSERT INTO head VALUES (?, ?, ?)");
    const spaces = new Set(names.filter(isSpace).map(({ id }) => id));
    for (const [id, cited] of wanted) {
      const root = spaces.has(id) ? await rootOf(this.#file, this.#store, id) : undefined;
      insert.run(id, cited ? 1 : 0, root ?? null);
    }
    return true;
  }

  /** Takes in what is new. Those of `gone` that something new comes from are not gone. */
  async #add(
    heads: readonly FactId[],
    without: readonly FactId[],
    again: boolean,
    gone: Set<FactId>,
  ): Promise<readonly FactId[]> {
    if (heads.length === 0) return [];
    const growth = new LineageGrowth(this.#file, this.#store, { again });
    for await (const lines of this.#store.lines(heads, { without })) {
      await growth.add(lines);
      if (gone.size > 0)
        for (const { line } of lines) for (const parent of parentsOf(line)) gone.delete(parent);
      this.#tell(lines.length);
    }
    return growth.finish();
  }

  async #remove(heads: readonly FactId[], without: readonly FactId[]): Promise<readonly FactId[]> {
    const growth = new LineageGrowth(this.#file, this.#store, { again: false });
    const cited: FactId[] = [];
    for await (const lines of this.#store.lines(heads, { without }))
      cited.push(...(await growth.remove(lines)));
    this.#file.exec("DELETE FROM amount WHERE n = 0");
    return cited;
  }

  /** Takes in facts that memories cite and that no name leads to. */
  async #beside(cited: readonly FactId[], wanted: Map<FactId, boolean>): Promise<readonly FactId[]> {
    const there = await this.#present(cited);
    for (const id of cited) {
      const sql = there.has(id)
        ? "DELETE FROM missing WHERE cited = ?"
        : "INSERT OR IGNORE INTO missing VALUES (?)";
      this.#file.statement(sql).run(id);
    }
    if (there.size === 0) return [];
    const growth = new LineageGrowth(this.#file, this.#store, { again: false });
    const met: FactId[] = [];
    for await (const lines of this.#store.lines([...there], { without: [...wanted.keys()] })) {
      for (const { id } of lines) if (there.has(id)) met.push(id);
      await growth.add(lines);
      this.#tell(lines.length);
    }
    for (const id of met) wanted.set(id, true);
    return growth.finish();
  }

  /** Reads again what was not there, or is not there any more. */
  async #reread(): Promise<readonly FactId[]> {
    const growth = new LineageGrowth(this.#file, this.#store, { again: false });
    const facts = new Set<FactId>();
    for await (const id of changed(this.#file, this.#store)) facts.add(id);
    for (const id of facts) {
      const line = await this.#store.line(id);
      if (line !== undefined) await growth.reread({ id, line });
    }
    return growth.finish();
  }

  /** What was cited before it was here, or after it was collected. */
  #missing(): readonly FactId[] {
    return this.#file
      .statement("SELECT cited FROM missing WHERE cited IN (SELECT cited FROM cite) LIMIT ?")
      .all(RETRIED)
      .map((row) => row.cited as FactId);
  }

  async #present(ids: readonly FactId[]): Promise<ReadonlySet<FactId>> {
    const there = new Set<FactId>();
    for (const id of ids) if (await this.#store.has(id)) there.add(id);
    return there;
  }
}

/** Memories first: then it is known what they cite when it comes. */
function inOrder(names: readonly Name[]): readonly Name[] {
  return [...names].sort((one, other) => Number(isSpace(other)) - Number(isSpace(one)));
}

export function isSpace({ name }: Name): boolean {
  return name.startsWith(storeNameOf(""));
}

/** Whether something that was not there is there now, or the other way round. */
async function isStale(file: LineageFile, store: Store): Promise<boolean> {
  for (const { cited } of file.statement("SELECT cited FROM missing LIMIT ?").all(RETRIED))
    if (!isCited(file, cited as FactId) || (await store.has(cited as FactId))) return true;
  // What no name leads to can be collected while every name stays where it is.
  for (const { id } of file.statement("SELECT id FROM head WHERE cited = 1").all())
    if (!(await store.has(id as FactId))) return true;
  for await (const _ of changed(file, store)) return true;
  return false;
}

/** The facts whose content came, or was erased. */
async function* changed(file: LineageFile, store: Store): AsyncGenerator<FactId> {
  if (file.statement("SELECT 1 FROM outside LIMIT 1").get() === undefined) return;
  for (const row of file
    .statement("SELECT DISTINCT digest, fact FROM outside WHERE open = 1 LIMIT ?")
    .all(RETRIED))
    if ((await store.blob(row.digest as string).catch(() => undefined)) !== undefined)
      yield row.fact as FactId;
  const readBefore = file.statement("SELECT fact FROM outside WHERE digest = ? AND open = 0");
  for (const { digest } of await store.erasures())
    for (const row of readBefore.all(digest)) yield row.fact as FactId;
}
