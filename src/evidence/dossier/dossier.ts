import type { Digest, FactId } from "../../session/index.js";
import type { Branch, Event, Graph, Route, Said } from "./shape-graph.js";
import type {
  Approval,
  BudgetItem,
  Environment,
  MemoryDeed,
  MemoryRead,
  MemoryReason,
  PolicySet,
  Ruling,
  Spending,
} from "./shape-trust.js";
import type { Change, Command, ModelCall, Patch, ToolCall, Validation } from "./shape-work.js";
import type { Item, Listed, Told } from "./told.js";

export type { Branch, Event, Fate, Graph, Route, Row, RowKind, Said } from "./shape-graph.js";
export type {
  Answer,
  Approval,
  BudgetItem,
  Environment,
  MemoryDeed,
  MemoryRead,
  MemoryReason,
  PolicySet,
  Ruling,
  Spending,
  Spent,
} from "./shape-trust.js";
export type {
  Change,
  Command,
  FileDiff,
  ModelCall,
  Patch,
  Prompt,
  ToolCall,
  Validation,
} from "./shape-work.js";
export type { Item, Listed, Told } from "./told.js";

/** The version of this shape, the first thing in every dossier. */
export const DOSSIER = 1;

/**
 * All that a record says about one session, for people: plain JSON, every item with the facts that prove it. Lists are
 * bounded and say how many there are in all; the record itself, and so the bundle, has everything.
 */
export type Dossier = {
  readonly dossier: typeof DOSSIER;
  readonly session: { readonly id: FactId; readonly name?: string; readonly branch: string };
  readonly made: Made;
  readonly task: Task;
  readonly outcome: Outcome;
  readonly counts: Counts;
  readonly graph: Graph;
  readonly branches: Listed<Branch>;
  readonly routes: Listed<Route>;
  readonly timeline: Listed<Event>;
  /** What was said that is no reply of a model: by people, in imports, in notes. */
  readonly words: Listed<Said>;
  readonly models: Listed<ModelCall>;
  readonly tools: Listed<ToolCall>;
  readonly commands: Listed<Command>;
  readonly changes: Listed<Change>;
  /** From the first files to the last, along the way that was accepted; null when there are no files. */
  readonly patch: Patch | null;
  readonly validations: Listed<Validation>;
  readonly approvals: Listed<Approval>;
  readonly policies: { readonly set: Listed<PolicySet>; readonly rulings: Listed<Ruling> };
  readonly memory: {
    readonly reads: Listed<MemoryRead>;
    readonly deeds: Listed<MemoryDeed>;
    /** Why the memories that were read or written here exist. */
    readonly reasons: Listed<MemoryReason>;
  };
  readonly budgets: Listed<BudgetItem>;
  readonly spending: Spending;
  readonly environment: Environment;
  readonly imports: Listed<ImportItem>;
  readonly erasures: Listed<ErasureItem>;
  readonly proof: Proof;
  /** What this dossier could not look into, and why. */
  readonly notes: readonly string[];
};

/** Who made the dossier, which is not who made the record. */
export type Made = {
  readonly at: string;
  readonly openrath: string;
  readonly node: string;
  readonly platform: string;
};

export type Task = {
  readonly text: Told;
  readonly facts: readonly FactId[];
  readonly by?: string;
  readonly at?: string;
};

export type Outcome = {
  readonly status: "finished" | "failed" | "cancelled" | "waiting" | "open";
  readonly answer?: Told;
  readonly error?: Told;
  /** The branch that the result stands on. */
  readonly branch: string;
  readonly began?: string;
  readonly ended?: string;
  /** What is waited for. */
  readonly pending: Listed<{
    readonly id: FactId;
    readonly type: string;
    readonly what: string;
    readonly doubt?: true;
  }>;
  readonly facts: readonly FactId[];
};

export type Counts = {
  /** Facts in the past of the session, and facts of other branches that nothing took in. */
  readonly facts: number;
  readonly elsewhere: number;
  readonly types: { readonly [type: string]: number };
  readonly branches: number;
  readonly rejected: number;
  readonly filesChanged: number;
  readonly testsPassed: number;
  readonly testsFailed: number;
  /** Pieces of content that are erased or not here. */
  readonly withheld: number;
};

export type ImportItem = Item & {
  readonly format: string;
  readonly source: Told;
  readonly digest: Digest;
  readonly detail?: Told;
};

export type ErasureItem = Item & { readonly digests: readonly Digest[]; readonly why: string };

export type Proof = {
  readonly head: FactId;
  /** The record line of the head: its SHA-256 is the id. */
  readonly line: Told;
  /** Every head that the bundle holds: the session's own first, then the branches that nothing took in. */
  readonly heads: readonly { readonly id: FactId; readonly names: readonly string[] }[];
  /** How many lines were read and held against their ids while this was made. */
  readonly facts: number;
  readonly roots: readonly FactId[];
  /** Pieces of content outside of lines, without the files of workspaces. */
  readonly blobs: {
    readonly count: number;
    readonly bytes: number;
    readonly erased: number;
    readonly missing: number;
  };
  readonly signatures: Listed<
    Item & { readonly of: FactId; readonly key: string; readonly signature: string }
  >;
};
