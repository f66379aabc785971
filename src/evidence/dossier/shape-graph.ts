import type { Adopt, Cost, FactId, Usage } from "../../session/index.js";
import type { Item, Told } from "./told.js";

/** The picture: one row for each place where something began, branched, came together or was decided. */
export type Graph = { readonly rows: readonly Row[]; readonly total: number; readonly gap?: number };

export type RowKind =
  | "start"
  | "fork"
  | "merge"
  | "stretch"
  | "check"
  | "person"
  | "say"
  | "stop"
  | "suspend"
  | "end";

export type Row = {
  readonly kind: RowKind;
  readonly branch: number;
  readonly label: string;
  /** The colour of what happened: good, bad, or neither. */
  readonly tone?: "good" | "bad";
  readonly facts: number;
  readonly first: FactId;
  readonly last: FactId;
  readonly at?: string;
  /** The rows that it comes from. */
  readonly from: readonly number[];
};

/** What became of a branch. */
export type Fate =
  /** Where the session began. */
  | "trunk"
  /** The result stands on it, and no merge chose it. */
  | "result"
  | "accepted"
  | "rejected"
  /** Both sides went on. */
  | "merged"
  /** Kept beside others without a preference: trials, and branches of an imported record. */
  | "gathered"
  /** A call took its answer in. */
  | "returned"
  /** The run ended without it. */
  | "left"
  /** Nothing took it in: it ends where it ends. */
  | "open";

export type Branch = Item & {
  readonly name: string;
  readonly index: number;
  readonly why?: Told;
  readonly parent?: string;
  readonly parentIndex?: number;
  readonly fate: Fate;
  /** Is in no past of this session: found because it hangs from one of its facts. */
  readonly elsewhere?: true;
  /** The fact that decided, who and why. */
  readonly decided?: {
    readonly fact: FactId;
    readonly by: string;
    readonly at?: string;
    readonly why?: Told;
    readonly adopt?: Adopt;
    readonly into?: string;
  };
  readonly head: FactId;
  readonly length: number;
  readonly until?: string;
  readonly models: number;
  readonly tools: number;
  readonly usage: Usage;
  /** Null where a reply does not say what it cost. */
  readonly cost: Cost;
  /** The newest checks on it: what a merge could go by. */
  readonly checks: readonly {
    readonly fact: FactId;
    readonly name: string;
    readonly passed: boolean;
    readonly score?: number;
  }[];
  readonly answer?: Told;
};

export type Route = Item & {
  readonly selector: string;
  readonly chosen: string | null;
  readonly chooser?: string;
  readonly why?: Told;
  readonly cost?: number;
  readonly candidates: readonly {
    readonly name: string;
    readonly score?: number;
    readonly description?: string;
  }[];
};

/** Words that stand for themselves: messages, summaries, notes, signals, instructions of skills. */
export type Said = Item & { readonly type: string; readonly title: string; readonly text: Told };

export type Event = Item & { readonly type: string; readonly text: string };
