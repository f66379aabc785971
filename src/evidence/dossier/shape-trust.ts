import type { Cost, Digest, FactId, Usage } from "../../session/index.js";
import type { Item, Listed, Told } from "./told.js";

export type Approval = Item & {
  readonly what: Told;
  readonly digest: Digest;
  /** Whether the digest is that of what is told here: then exactly this was shown. */
  readonly sound: boolean | "unknown";
  readonly name?: string;
  readonly rule?: string;
  readonly why?: Told;
  readonly to?: readonly string[];
  readonly expires?: string;
  readonly edited?: Told;
  readonly of?: FactId;
  readonly answers: readonly Answer[];
};

export type Answer = {
  readonly fact: FactId;
  readonly decision: string;
  readonly by: string;
  readonly at?: string;
  readonly why?: Told;
  readonly edit?: Told;
  readonly value?: Told;
  /** Whether it names the digest of the question: it covers these bytes and no others. */
  readonly covers: boolean;
};

export type PolicySet = Item & { readonly module: string; readonly policy: string; readonly version: Digest };

export type Ruling = Item & {
  readonly of: FactId;
  readonly verdict: string;
  readonly rules: readonly string[];
  readonly policies: Told;
  readonly why?: Told;
  readonly labels?: Told;
  readonly approvals?: Told;
};

export type MemoryRead = Item & {
  /** The modules in which it was read, the outermost first; a run of version 0.1 does not say. */
  readonly module?: readonly string[];
  readonly space: string;
  readonly head?: FactId;
  readonly query: Told;
  readonly settings?: Told;
  readonly shown?: Told;
  readonly hits: Listed<{ readonly memory: string; readonly score?: number; readonly text?: Told }>;
  readonly withheld?: Told;
};

export type MemoryDeed = Item & {
  readonly type: string;
  readonly space?: string;
  readonly memory: string;
  readonly text?: Told;
  readonly why?: Told;
  readonly source?: string;
  readonly scope?: Told;
  readonly because: readonly FactId[];
};

export type MemoryReason = {
  readonly memory: FactId;
  readonly space?: string;
  readonly versions: readonly {
    readonly fact: FactId;
    readonly type: string;
    readonly by: string;
    readonly at?: string;
    readonly text: string;
  }[];
  /** What it rests on in the end: people, tools, validations, imports. */
  readonly grounds: readonly {
    readonly fact: FactId;
    readonly type: string;
    readonly ground: string;
    readonly by?: string;
    readonly text: string;
  }[];
  readonly more: boolean;
  readonly problem?: string;
};

export type BudgetItem = Item & {
  readonly kind: "set" | "stop";
  readonly limits?: Told;
  readonly limit?: string;
  readonly allowed?: number;
  readonly spent?: number;
  readonly asked?: number;
};

export type Spent = {
  readonly calls: number;
  readonly usage: Required<Usage>;
  /** Null where a reply does not say what it cost. */
  readonly cost: Cost;
  readonly milliseconds: number;
};

export type Spending = {
  /** In the past of the session; every call once. */
  readonly total: Spent;
  /** On branches that are not in it. */
  readonly elsewhere: Spent;
  /** Whether every reply says what it cost. */
  readonly priced: boolean;
  readonly agents: Listed<Spent & { readonly name: string }>;
  readonly models: Listed<Spent & { readonly name: string }>;
  readonly branches: Listed<Spent & { readonly name: string }>;
};

export type Environment = {
  readonly placements: Listed<Item & { readonly sandbox: string; readonly spec?: Told }>;
  readonly sandboxes: Listed<
    Item & {
      readonly sandbox: string;
      readonly incarnation: number;
      readonly provider: string;
      readonly isolation: string;
      readonly spec: Told;
      readonly capabilities: Told;
      readonly status: Told;
      readonly native?: Told;
      readonly ends: readonly { readonly fact: FactId; readonly type: string; readonly why?: Told }[];
    }
  >;
  readonly agents: Listed<
    Item & {
      readonly agent: string;
      readonly instructions?: Told;
      readonly tools: readonly string[];
      readonly definitions?: Told;
      readonly parameters?: Told;
      readonly output?: Told;
    }
  >;
  readonly runs: Listed<
    Item & {
      readonly run: string;
      readonly module: string;
      readonly name?: string;
      readonly digests?: Told;
      readonly from?: { readonly run: string; readonly start: FactId };
      /** On whose behalf it acted; a run of version 0.1 does not say. */
      readonly for?: string;
      readonly suspended: number;
      readonly end?: FactId;
      readonly error?: Told;
    }
  >;
  readonly modules: Listed<{
    readonly module: string;
    readonly entered: number;
    readonly digests?: Told;
    readonly fact: FactId;
  }>;
};
