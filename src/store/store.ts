import type { Digest, Fact, FactId, Principal, Session } from "../session/index.js";
import type { Lease } from "./name/lease.js";
import type { Capabilities, Erasure, Finding } from "./shelf.js";

/**
 * Where sessions are kept: lines and blobs that never change, by id, and names that move. A session that is saved once
 * is never lost, and never saved twice.
 */
export interface Store {
  readonly url: string;
  /** Tells this store from every other one, and is the same in all copies of it; absent where nothing keeps it. */
  readonly identity?: string | undefined;
  readonly capabilities: Capabilities;

  /** Keeps a session and its whole past, durable when it resolves. With a name, moves the name to it. */
  save(session: Session, options?: SaveOptions): Promise<Saved>;
  /**
   * The session of a name, an id, or the beginning of an id. Content in blobs is read when it is asked for: what
   * of it was not read before the store is closed is a `store-closed` error then.
   */
  load(nameOrId: string, options?: LoadOptions): Promise<Session>;
  /** The id of a name, an id, or the beginning of an id. */
  resolve(nameOrId: string): Promise<FactId>;
  has(id: FactId): Promise<boolean>;
  /** The record line of an id, held against it; undefined when it is not here. */
  line(id: FactId): Promise<string | undefined>;
  /** The ids of the sessions made directly from this one. */
  children(id: FactId): Promise<readonly FactId[]>;
  /** The whole past of sessions, each fact once, parents before children, without holding it in memory. */
  history(nameOrId: string | readonly string[], options?: HistoryOptions): AsyncIterable<Recorded>;
  /**
   * A page of the same: in the order of the history or the newest first, of some types or of one branch. It costs the same
   * wherever it begins. `next` is the cursor of the page that follows, null at the end; a page of few facts that fit may
   * be short, or empty. The cursor stays with the head that the first page found; facts since then are
   * `facts(name, { without: head })`.
   */
  facts(nameOrId: string, options?: FactsOptions): Promise<FactsPage>;
  /**
   * The same as lines, in batches, held against their ids and not read: several times as quick, for callers that need
   * few of the facts.
   */
  lines(nameOrId: string | readonly string[], options?: HistoryOptions): AsyncIterable<readonly Line[]>;

  /** All names in use, or some of them: page by page by their order, or the newest change first. */
  names(options?: NamesOptions): Promise<readonly Name[]>;
  /** Where a name stands; undefined when it is not in use. */
  head(name: string): Promise<FactId | undefined>;
  /** Moves a name to a session that is already here. */
  point(name: string, id: FactId, options?: PointOptions): Promise<Saved>;
  /** Takes a name away. Its facts stay until `gc`. A name that is leased is only its holder's to forget. */
  forget(name: string, options?: ForgetOptions): Promise<void>;
  /**
   * Makes this process the only writer of a name, until the lease ends or is taken over. A caller that finds it held is refused
   * with a `FencedError` that says until when; a holder that is certainly dead (a process of this machine, and no owner
   * that someone chose) is replaced at once. That is known on Linux; elsewhere the lease has to end by itself.
   */
  lease(name: string, options?: LeaseOptions): Promise<Lease>;
  /** The milliseconds since 1970 by the clock that all processes on this store share. Leases end by it. */
  time(): Promise<number>;
  /**
   * Tells of every move of a name (or of all names), also by other processes, from now on or from the token of an earlier
   * move, until the signal stops it or the store is closed. Each move has a token: a later watch `from` it goes on with
   * the next move, also after a restart. Where many wait to be read, successive ones of a name arrive as one. The newest
   * 65,536 moves are kept; a watch that would begin before them is refused with `store-token-old`. Waiting for the next
   * move keeps the program running.
   */
  watch(options?: WatchOptions): AsyncIterable<NameMove> & {
    /** The token of the last move that was read, or of the newest one where it began. */
    readonly token: string;
  };

  /**
   * The record of sessions as lines of `docs/format.md`, parents before children, blobs before what needs them.
   * A blob that is neither here nor erased is a `DamageError`.
   */
  export(nameOrId: string | readonly string[], options?: ExportOptions): AsyncIterable<string>;
  /** Takes in lines; those already here are passed over. Lines before one that is refused stay. */
  import(
    lines: string | Iterable<string> | AsyncIterable<string>,
    options?: ImportOptions,
  ): Promise<Imported>;
  /** Brings over what another store has and this one has not: facts, content that is missing here, and names. */
  sync(from: Store, options?: { readonly names?: boolean }): Promise<Imported>;

  /**
   * Keeps bytes under their SHA-256. A blob stays as long as a fact refers to it, by itself or through a tree; one that
   * none refers to yet stays for a day at least, then until `gc`.
   */
  putBlob(bytes: ArrayBufferView): Promise<Digest>;
  /**
   * Keeps many blobs at once, far quicker than one by one, and answers with their digests in the same order. All of
   * them are durable when it resolves; when it fails, some may be here. Leave the bytes as they are until then: a
   * digest is that of the bytes that were kept.
   */
  putBlobs(blobs: readonly ArrayBufferView[]): Promise<readonly Digest[]>;
  blob(digest: Digest): Promise<Uint8Array | undefined>;
  /**
   * Erases blobs of a session for good and records who did it, when and why; the chain still verifies. Names
   * that stand at the session move on to the record of it. The same bytes are one blob: content without a salt
   * disappears from every session that has it. Salted content (`Session.start(text, { inline: 0 })`) is shared
   * with no other root.
   */
  erase(nameOrId: string, options: EraseOptions): Promise<Session>;
  /** Every erasure with its author, time and reason: also after the sessions that it was erased from were collected. */
  erasures(): Promise<readonly Erasure[]>;

  /**
   * Removes what no name leads to. Blobs that were put by themselves in the last day are left for the facts that are to
   * name them.
   */
  gc(options?: CollectOptions): Promise<Collected>;
  /** Reads everything and says what is wrong, and where. No findings: every byte is as it was written. */
  check(options?: { readonly progress?: (facts: number) => void }): Promise<Checked>;
  /** A copy that opens as a store of its own. */
  backup(path: string): Promise<void>;
  close(): Promise<void>;
}

export type SaveOptions = {
  readonly name?: string;
  /** Where the name must stand: an id, or null for a new name. Default: anywhere in the past of what is saved. */
  readonly expect?: FactId | null;
  /** Moves the name whatever it stood at. */
  readonly force?: boolean;
  /** The lease this writer holds on the name. */
  readonly lease?: Lease;
  /** A step that must be recorded once: saving it again answers with what was recorded the first time. */
  readonly key?: string;
  /**
   * Other names that move in the same commit, each to its session, whatever it stood at; null takes a name away, if it
   * is there. All of them move with `name` or none does. They are set even while someone holds their lease, which
   * stays as it is; taking one away ends its lease, as `forget` with `force` does.
   */
  readonly also?: { readonly [name: string]: Session | null };
};
export type PointOptions = Omit<SaveOptions, "name" | "also">;

export type Saved = {
  readonly id: FactId;
  /** How many facts were new, those of `also` among them. */
  readonly written: number;
  /** Whether the step was recorded before; then `id` is what was recorded, and nothing was written now. */
  readonly replayed: boolean;
};

export type LoadOptions = {
  /**
   * How many facts to hold in memory at most (default 100,000; with `fetch`, 10,000). A longer session opens with its
   * newest part and the answers of its views; `store.history` reads the rest. Where no place to open it at was prepared
   * near enough (that happens while sessions are saved and imported, every few thousand facts as its size allows),
   * this one loading holds more of it and prepares such a place for the next.
   */
  readonly horizon?: number;
  /**
   * Whether a question that needs older facts reads them, instead of throwing a `BeyondHorizonError`. The thread waits
   * while they are read, and they stay in memory. Once the store is closed, such a question is a `store-closed` error.
   */
  readonly fetch?: boolean;
};

export type HistoryOptions = {
  /** Leave out everything in the past of these, and themselves. */
  readonly without?: readonly string[];
};

export type FactsOptions = {
  /** Go on after a page (its `next`) or a fact (its id). */
  readonly after?: string;
  /** How many facts at most, up to 1000 (default 100). */
  readonly limit?: number;
  /** The newest first. */
  readonly reverse?: boolean;
  readonly type?: string | readonly string[];
  /** The name of a branch; "main" is what comes before the first fork. */
  readonly branch?: string;
  /** Leave out everything in the past of these, and themselves. */
  readonly without?: string | readonly string[];
};
export type FactsPage = {
  /** The facts, each with its place in the history, from 0. */
  readonly items: readonly (Recorded & { readonly index: number })[];
  readonly next: string | null;
  /** The session that the name led to. */
  readonly head: FactId;
  /** How many facts the history has, also those that do not fit. */
  readonly count: number;
};

/** A line of the record, and the id that is its SHA-256. */
export type Line = { readonly id: FactId; readonly line: string };

/** A fact as the record holds it, read without the sessions around it. */
export type Recorded = {
  readonly id: FactId;
  readonly parents: readonly FactId[];
  readonly line: string;
  readonly fact: Fact;
};

export type NamesOptions = {
  /** Only names that begin so. */
  readonly under?: string;
  /** By name (the default), or by change: the name that moved last comes first. */
  readonly order?: "name" | "changed";
  /** The names after one of them: its name, or by change its token. */
  readonly after?: string;
  /** How many names at most. */
  readonly limit?: number;
};
export type Name = {
  readonly name: string;
  readonly id: FactId;
  readonly epoch: number;
  readonly owner?: string;
  /** Its last move: `store.watch({ from: token })` tells of those that follow it. */
  readonly token: string;
};

export type WatchOptions = {
  readonly name?: string;
  /** The token of a move or a name: the watch begins with the first move after it. */
  readonly from?: string;
  /** Tells every move by itself, however many wait. */
  readonly each?: boolean;
  readonly signal?: AbortSignal;
};
/** A move of a name to an id, or null where it was taken away. `before` is where it stood, null for a new name. */
export type NameMove = {
  readonly name: string;
  readonly id: FactId | null;
  readonly before: FactId | null;
  readonly token: string;
};
export type ForgetOptions = {
  /** The lease this writer holds on the name. */
  readonly lease?: Lease;
  /** Forgets the name even if another holds its lease. */
  readonly force?: boolean;
};
export type LeaseOptions = {
  /** The holder (default: this process). A caller with the same owner takes it over at any time. */
  readonly owner?: string;
  readonly milliseconds?: number;
};
export type ExportOptions = {
  /** Leave out the content that is kept in blobs. */
  readonly blobs?: boolean;
  /** Leave out everything in the past of these: what the other side has. */
  readonly without?: readonly string[];
};
export type ImportOptions = {
  /** A name for the last session of the lines. */
  readonly name?: string;
  /** The id that must be among the lines: tells a file that was cut off. */
  readonly head?: FactId;
  /** The secrets that salts of erasable sessions are made of, by the id that a session names. Lines never hold them. */
  readonly keys?: ReadonlyMap<string, Uint8Array>;
  readonly progress?: (facts: number) => void;
};
export type Imported = {
  readonly written: number;
  readonly known: number;
  readonly blobs: number;
  /** Blobs that were erased here and did not come back. */
  readonly refused: number;
  /** Erasure lines that no fact here proves: their content counts as missing. */
  readonly unproved: number;
  /** Sessions among the lines that no other line descends from. */
  readonly heads: readonly FactId[];
};
export type EraseOptions = {
  readonly digests: readonly Digest[];
  readonly why: string;
  readonly by?: Principal;
  /** The lease this writer holds on the name that moves. */
  readonly lease?: Lease;
};
export type CollectOptions = {
  /** Only says what would go. */
  readonly dryRun?: boolean;
  /** Takes also what was put lately and has no fact yet. Only where nobody is at work: it may be somebody's files. */
  readonly all?: boolean;
};
export type Collected = {
  readonly facts: number;
  readonly blobs: number;
  readonly keptFacts: number;
  readonly keptBlobs: number;
  /** Blobs that nothing leads to and that were put too lately to go. */
  readonly spared: number;
};
export type Checked = {
  readonly facts: number;
  readonly blobs: number;
  readonly erased: number;
  readonly findings: readonly Finding[];
};
