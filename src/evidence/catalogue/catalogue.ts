import type { Connection } from "../../memory/index.js";
import { patiently } from "../../memory/index.js";
import type { Digest, Fact, FactId } from "../../session/index.js";
import { digestsOf, isDigest } from "../../session/index.js";
import {
  beforeClosing,
  type Erasure,
  isKeptByRuntime,
  NotFoundError,
  namesMoved,
  newestToken,
  type Recorded,
  type Store,
} from "../../store/index.js";
import { IndexingError } from "../indexing.js";
import { erasuresKey, RowReader } from "../page/row.js";
import { idIn, isBroken, newCatalogue, openCatalogue } from "./file.js";
import { listPending, type PendingOptions, type PendingPage, type Pendings } from "./pending.js";
import { type SearchOptions, type SearchPage, searchFacts } from "./search.js";
import {
  listSessions,
  type SessionPage,
  type SessionRow,
  type SessionsOptions,
  sessionOf,
} from "./sessions.js";
import { addFact, newSummary, type Summary, traitsOf } from "./summary.js";
import { exactly, spaced, wordsOf } from "./words.js";

/** How many facts go into one transaction: others may work between. */
const BATCH = 250;
/** A question that is to be answered soon waits for so many facts and names to be taken in. */
const SOON = 500;

type FreshOptions = { readonly fresh?: boolean | "soon" };

/** Lists and searches of a store in bounded time, from an index beside it that is only derived. */
export class Catalogue {
  readonly #store: Store;
  #file: Connection | undefined;
  #syncing: Promise<void> | undefined;
  /** Facts and names that were taken in. */
  #taken = 0;
  readonly #waiting = new Set<{ readonly at: number; readonly resolve: () => void }>();

  constructor(store: Store) {
    this.#store = store;
    beforeClosing(store, async () => {
      await this.#syncing?.catch(() => {});
      this.#file?.close();
      this.#file = undefined;
    });
  }

  /** Sessions by their last change, the newest first, with the figures of each. */
  sessions(options: SessionsOptions = {}): Promise<SessionPage> {
    return this.#page(options, (file) => listSessions(file, this.#store, options));
  }

  /** The row of a session; undefined for a name that is not in use. */
  session(name: string, options: FreshOptions = {}): Promise<SessionRow | undefined> {
    return this.#found(options, name, (file) => sessionOf(file, this.#store, name));
  }

  /** The session that a fact was found in first. */
  sessionWith(fact: FactId, options: FreshOptions = {}): Promise<string | undefined> {
    return this.#found(options, fact, async (file) => {
      const found = file.get(
        "SELECT s.name FROM fact AS f JOIN session AS s ON s.row = f.session WHERE f.id = ?",
        bytesOf(fact),
      );
      return found?.name as string | undefined;
    });
  }

  /** Facts that say some words or have some values, those found last first. */
  search(options: SearchOptions = {}): Promise<SearchPage> {
    return this.#page(options, (file) => searchFacts(file, this.#store, options));
  }

  /** The requests that sessions wait for, those of the session that changed last first. */
  pending(rath: Pendings, options: PendingOptions = {}): Promise<PendingPage> {
    return this.#page(options, (file) => listPending(file, this.#store, rath, options));
  }

  async #page<Page extends object>(
    options: FreshOptions,
    act: (file: Connection) => Promise<Page>,
  ): Promise<Page & { readonly indexing?: true }> {
    const isBehind = await this.#freshened(options);
    const page = await this.#mended(act);
    return isBehind ? { ...page, indexing: true } : page;
  }

  /** One row. That it is not there can be said only when everything was taken in. */
  async #found<Row>(
    options: FreshOptions,
    subject: string,
    act: (file: Connection) => Promise<Row | undefined>,
  ): Promise<Row | undefined> {
    const isBehind = await this.#freshened(options);
    const row = await this.#mended(act);
    if (row === undefined && isBehind) throw new IndexingError(subject, this.#taken, undefined);
    return row;
  }

  /** Takes in what is new, or begins to; gives whether something is still to be taken in. */
  async #freshened({ fresh = true }: FreshOptions): Promise<boolean> {
    if (fresh === false) return false;
    const synced = this.sync().then(() => false);
    if (fresh === true) return synced;
    const waiter = { at: this.#taken + SOON, resolve: () => {} };
    const soon = new Promise<true>((resolve) => {
      waiter.resolve = () => resolve(true);
    });
    this.#waiting.add(waiter);
    try {
      return await Promise.race([synced, soon]);
    } finally {
      this.#waiting.delete(waiter);
      synced.catch(() => {});
    }
  }

  #count(taken: number): void {
    this.#taken += taken;
    for (const { at, resolve } of this.#waiting) if (this.#taken >= at) resolve();
  }

  /** Takes in what happened in the store since the last time. A page does it first; a server does it as names move. */
  sync(): Promise<void> {
    this.#syncing ??= this.#mended((file) => this.#follow(file)).finally(() => {
      this.#syncing = undefined;
    });
    return this.#syncing;
  }

  /** Does something with the file; where it turns out to be damaged, with a new one. */
  async #mended<Result>(act: (file: Connection) => Promise<Result>): Promise<Result> {
    this.#file ??= openCatalogue(this.#store);
    try {
      return await act(this.#file);
    } catch (error) {
      if (!isBroken(error)) throw error;
      this.#file.close();
      this.#file = newCatalogue(this.#store);
      await this.#follow(this.#file);
      return await act(this.#file);
    }
  }

  async #follow(file: Connection): Promise<void> {
    await this.#forgetErased(file);
    const state = file.get("SELECT token FROM state")?.token as string | null;
    const end = newestToken(this.#store);
    if (state === end) return;
    const names = state === null ? undefined : await namesMoved(this.#store, state, end);
    if (names === undefined) await this.#takeAll(file);
    else for (const name of names) if (!isKeptByRuntime(name)) await this.#take(file, name);
    await this.#write(file, () => file.run("UPDATE state SET token = ?", end));
  }

  async #takeAll(file: Connection): Promise<void> {
    const gone = new Set(file.all("SELECT name FROM session").map(({ name }) => name as string));
    // The one that moved first comes first: a fork is found after the session that it left.
    const names = (await this.#store.names({ order: "changed" })).map(({ name }) => name).reverse();
    for (const name of [...names.filter((one) => !isKeptByRuntime(one)), ...gone])
      await this.#take(file, name);
  }

  /** Brings the row of a name, and its facts, to where the name stands now; again where another process was in between. */
  async #take(file: Connection, name: string): Promise<void> {
    try {
      while (!(await this.#isTaken(file, name)));
    } catch (error) {
      // Collected since: the move that took the name away is in the log, too.
      if (!(error instanceof NotFoundError)) throw error;
    }
  }

  /** Gives false, and writes nothing more, once the row or what is erased is not as it was at first. */
  async #isTaken(file: Connection, name: string): Promise<boolean> {
    this.#count(1);
    let stood = standing(file, name);
    const { head: before = "" } = stood ?? {};
    const erased = erasuresIn(file);
    const head = await this.#store.head(name);
    if (head === stood?.head) return true;
    const write = async (act: () => void): Promise<boolean> => {
      let isSame = false;
      await this.#write(file, () => {
        isSame = standing(file, name)?.key === stood?.key && erasuresIn(file) === erased;
        if (isSame) act();
      });
      return isSame;
    };
    if (head === undefined) return write(() => forget(file, name));
    const isOn = before !== "" && (await this.#goesOn(before, head));
    const sum = isOn ? (JSON.parse(stood?.summary as string) as Summary) : newSummary();
    const begin = (): void => {
      // A name that was set elsewhere has a row of its own from here on: it says nothing of the facts behind the old one.
      if (before !== "" && !isOn) forget(file, name);
      reserve(file, name);
      stood = standing(file, name);
    };
    if (!(await write(begin))) return false;
    const session = (stood as Standing).row;
    let batch: Recorded[] = [];
    const keep = (): Promise<boolean> => {
      const facts = batch;
      batch = [];
      this.#count(facts.length);
      return write(() => {
        for (const one of facts) addRow(file, session, one, sum);
      });
    };
    for await (const one of this.#store.history(head, isOn ? { without: [before] } : {})) {
      addFact(sum, one.id, one.fact);
      if (batch.push(one) === BATCH && !(await keep())) return false;
    }
    return (await keep()) && write(() => keepSession(file, session, head, sum));
  }

  /** Whether a head has another in its past, so that what is known of the other need not be read again. */
  async #goesOn(before: FactId, head: FactId): Promise<boolean> {
    if (!(await this.#store.has(before))) return false;
    const [old, whole, rest] = [
      await this.#store.facts(before, { limit: 1 }),
      await this.#store.facts(head, { limit: 1 }),
      await this.#store.facts(head, { limit: 1, without: before }),
    ];
    return old.count + rest.count === whole.count;
  }

  /** Takes the words of erased content out of the file. */
  async #forgetErased(file: Connection): Promise<void> {
    const erasures = await this.#store.erasures();
    const all = erasuresKey(erasures);
    const reader = new RowReader(this.#store);
    const rows = new Map<number, Recorded | undefined>();
    for (let isDone = all === erasuresIn(file); !isDone; ) {
      const found = (): ReadonlyMap<number, FactId> => factsWith(file, erasures);
      for (const [row, id] of found()) if (!rows.has(row)) rows.set(row, await reader.fact(id));
      await this.#write(file, () => {
        // Another process may have added some since.
        isDone = [...found().keys()].every((row) => rows.has(row));
        if (!isDone) return;
        for (const [row, recorded] of rows) takeOutWords(file, row, recorded);
        // A word that was deleted is in the file until its part of the index is written anew.
        if (rows.size > 0) file.exec("INSERT INTO words (words) VALUES ('optimize')");
        file.run("UPDATE state SET erasures = ?", all);
      });
    }
    if (rows.size > 0) file.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  }

  /** One transaction; another process that writes is waited for. */
  async #write(file: Connection, act: () => void): Promise<void> {
    await breath();
    return patiently(() => {
      file.exec("BEGIN IMMEDIATE");
      try {
        act();
        file.exec("COMMIT");
      } catch (error) {
        file.rollback();
        throw error;
      }
    });
  }
}

/** Others may work between. */
function breath(): Promise<void> {
  return new Promise((done) => setImmediate(done));
}

/** The erasures that the file knows: their key. */
function erasuresIn(file: Connection): string {
  return file.get("SELECT erasures FROM state")?.erasures as string;
}

/** The rows of facts that have some of the erased content. */
function factsWith(file: Connection, erasures: readonly Erasure[]): ReadonlyMap<number, FactId> {
  const sql = "SELECT fact, id FROM blob JOIN fact ON fact.row = blob.fact WHERE digest = ?";
  const found = erasures.flatMap(({ digest }) => file.all(sql, bytesOf(digest)));
  return new Map(found.map(({ fact, id }) => [fact as number, idIn(id)]));
}

/** The words of a fact without those that were erased. */
function takeOutWords(file: Connection, row: number, recorded: Recorded | undefined): void {
  const { tool, model } = file.get("SELECT tool, model FROM fact WHERE row = ?", row) ?? {};
  file.run("DELETE FROM words WHERE rowid = ?", row);
  if (recorded !== undefined)
    addWords(file, row, recorded.fact, tool as string | null, model as string | null);
}

/** The row of a name, and where it stands: "" before all of its facts are there. */
type Standing = {
  readonly row: number;
  readonly head: FactId;
  readonly summary: string;
  readonly key: string;
};

function standing(file: Connection, name: string): Standing | undefined {
  const found = file.get("SELECT row, head, summary FROM session WHERE name = ?", name);
  if (found === undefined) return undefined;
  const [row, head] = [found.row as number, idIn(found.head)];
  return { row, head, summary: found.summary as string, key: `${row} ${head}` };
}

/** Makes the row of a new name, which stands nowhere until all of its facts are there. */
function reserve(file: Connection, name: string): void {
  file.run("INSERT OR IGNORE INTO session VALUES (NULL, ?, x'', 0, 'open', '{}')", name);
}

function keepSession(file: Connection, session: number, head: FactId, sum: Summary): void {
  file.run("DELETE FROM trait WHERE session = ?", session);
  for (const [kind, value] of traitsOf(sum))
    file.run("INSERT OR IGNORE INTO trait VALUES (?, ?, ?)", kind, value, session);
  file.run(
    "UPDATE session SET head = ?, changed = ?, state = ?, summary = ? WHERE row = ?",
    bytesOf(head),
    Date.parse(sum.changedAt) || 0,
    sum.state,
    JSON.stringify(sum),
    session,
  );
}

function forget(file: Connection, name: string): void {
  file.run("DELETE FROM trait WHERE session = (SELECT row FROM session WHERE name = ?)", name);
  file.run("DELETE FROM session WHERE name = ?", name);
}

/** Adds a fact that is not there yet. One that another session has shows where this one comes from. */
function addRow(
  file: Connection,
  session: number,
  { id, parents, line, fact }: Recorded,
  sum: Summary,
): void {
  const known = file.get(
    "SELECT f.session, s.name FROM fact AS f JOIN session AS s ON s.row = f.session WHERE f.id = ?",
    bytesOf(id),
  );
  if (known !== undefined && known.session !== session)
    sum.shared = { of: id, name: known.name as string, session: known.session as number };
  // Found in a session that is gone: it is found in this one now.
  const isKnown = file.get("SELECT 1 FROM fact WHERE id = ?", bytesOf(id)) !== undefined;
  if (isKnown && known === undefined)
    file.run("UPDATE fact SET session = ? WHERE id = ?", session, bytesOf(id));
  if (isKnown) return;
  const { shared } = sum;
  delete sum.shared;
  if (fact.type === "branch-fork") {
    file.run("INSERT OR IGNORE INTO fork VALUES (?, ?)", bytesOf(parents[0] ?? ""), session);
    if (shared !== undefined) sum.origin ??= { kind: "fork", of: shared.of, name: shared.name };
  } else if (shared !== undefined) markFork(file, shared, session);
  const request =
    "of" in fact && isDigest(fact.of)
      ? file.get("SELECT tool, model FROM fact WHERE id = ?", bytesOf(fact.of))
      : undefined;
  const tool = fact.type === "tool-call" ? fact.name : ((request?.tool ?? null) as string | null);
  const model = fact.type === "model-call" ? fact.model : ((request?.model ?? null) as string | null);
  const row = file.run(
    "INSERT INTO fact VALUES (NULL, ?, ?, ?, ?, ?)",
    bytesOf(id),
    session,
    Date.parse(fact.at) || 0,
    tool,
    model,
  );
  addWords(file, row, fact, tool, model);
  for (const digest of digestsOf(line))
    file.run("INSERT OR IGNORE INTO blob VALUES (?, ?)", bytesOf(digest), row);
}

/** Where a session goes straight on from a place at which another one forked, the other one came from it. */
function markFork(
  file: Connection,
  { of, session: fork }: NonNullable<Summary["shared"]>,
  session: number,
): void {
  if (file.get("SELECT 1 FROM fork WHERE place = ? AND session = ?", bytesOf(of), fork) === undefined) return;
  const row = file.get("SELECT summary FROM session WHERE row = ?", fork);
  const sum = JSON.parse(String(row?.summary)) as Summary;
  const name = file.get("SELECT name FROM session WHERE row = ?", session)?.name as string;
  if (sum.origin !== undefined) return;
  sum.origin = { kind: "fork", of, name };
  file.run("UPDATE session SET summary = ? WHERE row = ?", JSON.stringify(sum), fork);
  file.run("INSERT OR IGNORE INTO trait VALUES ('origin', ?, ?)", name, fork);
}

function addWords(
  file: Connection,
  row: number,
  fact: Fact,
  tool: string | null,
  model: string | null,
): void {
  file.run(
    "INSERT INTO words (rowid, text, type, actor, tool, model) VALUES (?, ?, ?, ?, ?, ?)",
    row,
    spaced(wordsOf(fact)),
    exactly(fact.type),
    exactly(fact.by),
    tool === null ? "" : exactly(tool),
    model === null ? "" : exactly(model),
  );
}

function bytesOf(id: FactId | Digest): Uint8Array {
  return Buffer.from(id, "hex");
}

const catalogues = new WeakMap<Store, Catalogue>();

/** The catalogue of a store: pages of its sessions, and search in its facts. It closes with the store. */
export function catalogue(store: Store): Catalogue {
  const known = catalogues.get(store) ?? new Catalogue(store);
  catalogues.set(store, known);
  return known;
}
