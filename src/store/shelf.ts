import type { Digest, FactId, Principal } from "../session/index.js";

/**
 * The part that an adapter implements: the few things that differ between SQLite and memory. `Store` is built
 * on it once, for all. A shelf holds lines and blobs that never change, and names that move. Writing
 * is waited for; reading is answered at once, since a loaded session reads its content and its past so.
 */
export interface Shelf {
  readonly url: string;
  /** Tells this store from every other one, and is the same in all copies of it; absent where nothing keeps it. */
  readonly identity?: string | undefined;
  readonly capabilities: Capabilities;
  readonly names: Pick<NameTable, "get" | "under" | "page" | "moves" | "newestMove">;
  readonly blobs: Pick<BlobTable, "get" | "digests" | "putSince" | "erased" | "erasures" | "key">;

  /** Waits until reading need not wait for a connection; undefined while it need not. Without it, reading never does. */
  ready?(): Promise<void> | undefined;
  /** The time by the clock of the store, where the clock of a process may differ from it. */
  now?(): number;
  /**
   * One transaction on all tables. `work` must not wait for anything. It gets the time by the clock of the store, which leases
   * end by. `about` are the names that it will ask for, for adapters that read them beforehand.
   */
  write<Result>(work: (tables: Tables, now: number) => Result, about?: readonly string[]): Promise<Result>;
  /**
   * All of it or nothing, durable when the promise resolves. Checks, in this order: fence, step key, head;
   * then writes. The order is part of the contract: a stale worker must be stopped even at a step that is
   * already recorded, or it goes on and repeats effects. Concurrent commits may share one sync.
   */
  commit(commit: Commit): Promise<Committed>;

  /** The line of each id, in the order asked; undefined for an id that is not here. */
  lines(ids: readonly FactId[]): readonly (string | undefined)[];
  /** Ids that begin with these hex digits, at most `most`. */
  startingWith(prefix: string, most: number): readonly FactId[];
  /** The sessions made directly from this one, in no particular order. */
  children(id: FactId): readonly FactId[];
  /**
   * The lines of the past of `heads` and of the heads, parents before children, in the order of
   * `Session.history()`, but for what is in the past of `without`. In batches, so that no history is too long.
   */
  history(heads: readonly FactId[], without?: readonly FactId[]): Iterable<readonly string[]>;
  /** The lines of such a history from one index to before another, which must be in it, and how many it has. */
  part(head: FactId, without: readonly FactId[], from: number, to: number): Part;
  /** The index of a fact in it. */
  placeIn(head: FactId, without: readonly FactId[], id: FactId): number | undefined;
  /** How many facts the past of an id has, itself included. */
  count(id: FactId): number;
  /**
   * The newest part of a history: at most `most` facts in history order, of which the first has a snapshot and
   * all others descend from the first alone. Undefined when there is no such place.
   */
  tail(head: FactId, most: number): Tail | undefined;
  saveSnapshot(id: FactId, snapshot: string): Promise<void>;
  /** All lines, in no particular order, in batches. */
  every(): Iterable<readonly string[]>;

  /** Removes facts, blobs and keys so that no byte of them is left, and gives the room back. For `gc` and `erase`. */
  remove(what: Removal): Promise<void>;
  /** Called after every commit of anyone on this shelf that moved names. Returns the way to stop. */
  listen(heard: () => void): () => void;
  /** Damage below the level of lines: pages, files, indexes. Each finding names its place. */
  examine(): Iterable<Finding>;
  /** A copy that opens as a store of its own, taken while others go on writing. */
  backup(path: string): Promise<void>;
  close(): Promise<void>;
}

/** The tables that commits read and write, inside of one transaction: all that differs between adapters. */
export type Tables = { readonly facts: FactTable; readonly names: NameTable; readonly blobs: BlobTable };

/** A line that a commit brings and that was not there before. */
export type NewFact = { readonly id: FactId; readonly line: string; readonly parents: readonly FactId[] };

export interface FactTable {
  has(id: FactId): boolean;
  /** Whether a fact is one of some stored ones or in their past. */
  descends(stored: readonly FactId[], ancestor: FactId): boolean;
  /** Adds a fact whose parents are here. */
  add(fact: NewFact): void;
}

/** Names, their leases, and the steps recorded under them. */
export interface NameTable {
  get(name: string): NameRecord | undefined;
  /** The names that begin so, in order. */
  under(start: string): readonly NameRecord[];
  /** Those of them that stand somewhere, in parts. */
  page(page: NamePage): readonly NameRecord[];
  /** Keeps a record; where it stands elsewhere than before, the move is logged with it. */
  put(record: Omit<NameRecord, "moved">): void;
  /** Takes a name and its steps away, and logs that. */
  drop(name: string): void;
  /** The moves after a number, oldest first. At least the newest `LOGGED_MOVES` are kept, and their numbers have no gaps. */
  moves(after: number, most: number): readonly MoveRecord[];
  /** The number of the newest move, 0 before the first. */
  newestMove(): number;
  step(name: string, key: string): FactId | undefined;
  addStep(name: string, key: string, head: FactId): void;
}

/** Content outside of lines: blobs, what was erased of them, and the secrets that salts are made of. */
export interface BlobTable {
  get(digest: Digest): Uint8Array | undefined;
  /** Digests of all blobs, in batches. */
  digests(): Iterable<readonly Digest[]>;
  /** Keeps blobs, but for those that were erased and are not among the revived ones. */
  add(blobs: readonly Blob[], revived: ReadonlySet<Digest>): void;
  /** Notes blobs that no fact refers to yet, also those that were here before: a writer relies on them now. */
  put(digests: readonly Digest[]): void;
  /** Blobs that were put at this time or later. Those older than a day may be left out. */
  putSince(since: number): Iterable<Digest>;
  erase(erasure: Erasure): void;
  erased(digest: Digest): Erasure | undefined;
  erasures(): readonly Erasure[];
  key(id: string): Uint8Array | undefined;
  addKey(key: { readonly id: string; readonly secret: Uint8Array }): void;
}

export type Capabilities = {
  /** The failure that a resolved commit survives. */
  readonly durability: "memory" | "process-crash" | "power-loss" | "machine-loss";
  readonly writers: "one-process" | "one-host" | "many-hosts";
};

/**
 * `snapshots` drops all of them: they are derived, and may hold what is to be erased. Facts and blobs that something has
 * come to lead to since they were counted stay (`removable` says which), unless they were erased.
 */
export type Removal = {
  readonly ids?: readonly FactId[];
  readonly digests?: readonly Digest[];
  /** Trees that lead to none of `digests`, as far as they were here. Those that other facts name are looked into. */
  readonly trees?: ReadonlySet<Digest>;
  /** Blobs that were put by themselves at this time or later stay. */
  readonly since?: number;
  readonly keys?: readonly string[];
  readonly snapshots?: true;
};
export type Blob = { readonly digest: Digest; readonly bytes: Uint8Array };
export type Commit = {
  /** New lines with their ids, parents before children; those already there are passed over. */
  readonly facts: readonly { readonly id: FactId; readonly line: string }[];
  /** Content of the facts. A blob that was erased here comes back only when it is recorded anew (`revive`), not with old lines. */
  readonly blobs: readonly Blob[];
  readonly revive?: boolean;
  /** Nobody else holds the bytes of the blobs, so they may be kept as they are. */
  readonly handedOver?: boolean;
  readonly keys?: readonly { readonly id: string; readonly secret: Uint8Array }[];
  /** Blobs erased by a fact: gone when the commit is done. */
  readonly erase?: readonly Erasure[];
  readonly move?: Move;
  /**
   * Other names, each once, that are set in the same commit whatever they stood at and under any lease (their
   * epoch, owner and steps stay), or taken away as by `forget` without a fence (null). Only if the move passes: a
   * commit that is refused or replayed changes none of them. A head that is nowhere is an orphan.
   */
  readonly also?: readonly { readonly name: string; readonly head: FactId | null }[];
};

/** The proof that a writer may write to a name. */
export type Fence = {
  /** The epoch of the lease this writer holds. */
  readonly epoch?: number;
  /** By the clock of the process; a shelf with a clock of its own takes that instead. Of no use beside an epoch. */
  readonly now: number;
};

/** Moves a name to a head, if the conditions hold. */
export type Move = Fence & {
  readonly name: string;
  readonly head: FactId;
  /** The step this commit records: done once, however often it is tried. */
  readonly key?: string;
  /** Where the name must stand: an id, null for nowhere, "past" for anywhere in the past of the new head, "any". */
  readonly expect: FactId | null | "past" | "any";
};

export type Committed =
  | { readonly outcome: "done"; readonly written: number; readonly record?: NameRecord }
  | { readonly outcome: "replayed"; readonly head: FactId }
  | { readonly outcome: "fenced"; readonly record: NameRecord }
  | { readonly outcome: "conflict"; readonly record: NameRecord | undefined }
  | { readonly outcome: "orphan"; readonly id: FactId; readonly parent: FactId };

export type NameRecord = {
  readonly name: string;
  readonly head: FactId | null;
  readonly epoch: number;
  readonly owner?: string;
  readonly until: number;
  /** The number of its last move. */
  readonly moved: number;
};
/** Names that begin so, in the order of their bytes after one of them, or from the newest move back before a number. */
export type NamePage = {
  readonly under: string;
  /** How many at most; all of them when it is negative. */
  readonly limit: number;
} & (
  | { readonly order: "name"; readonly after?: string }
  | { readonly order: "changed"; readonly before: number }
);
/** A move of a name; the heads are null before its first one and when it is taken away. */
export type MoveRecord = {
  readonly n: number;
  readonly name: string;
  readonly head: FactId | null;
  readonly before: FactId | null;
};
export type Part = { readonly count: number; readonly lines: readonly string[] };
export type Tail = { readonly snapshot: string; readonly lines: readonly string[] };
export type Erasure = {
  readonly digest: Digest;
  readonly fact: FactId;
  readonly by: Principal;
  readonly at: string;
  readonly why: string;
};
/** Something wrong, and where. */
export type Finding = { readonly place: string; readonly problem: string };
