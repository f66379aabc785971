import type { Because, Digest, FactId, Json, Principal, Session } from "../session/index.js";
import { optionNames } from "../util/index.js";
import type { Contradicts } from "./contradiction.js";
import type { Embedder } from "./embedding/embedder.js";
import type { Needs, Rules } from "./rules.js";
import type { Scope, ScopeGiven } from "./scope.js";
import type { Source } from "./source.js";
import type { Status } from "./state.js";

/** The settings of an open space. */
export type SpaceSettings = {
  readonly name: string;
  readonly scope: Scope;
  readonly rules: Rules;
  readonly embedder: Embedder;
  readonly contradicts?: Contradicts | false;
};

/** On whose behalf an operation changes a space. */
export type WriteOptions = {
  /** The session that does it. It is saved first, and everything that it has read counts as an origin of the text. */
  readonly from?: Session;
  /** An operation that is repeated with the same key, after a crash, is done once. */
  readonly key?: string;
  /** When it is done. Default: now. */
  readonly at?: string;
};

/** A text that another system keeps, and its address there. */
export type Foreign = {
  readonly backend: string;
  readonly address: string;
  readonly text: string;
  readonly digest: Digest;
};

/** The memory after a write. */
export type Written = {
  readonly memory: FactId;
  readonly version: FactId;
  readonly head: FactId;
  readonly status: Status;
  readonly needs?: Needs;
  readonly contradicts: readonly FactId[];
};

export type Revision = {
  readonly text: string;
  readonly because: Because;
  readonly by: Principal;
  readonly source?: Source;
  readonly importance?: number;
  readonly expires?: string;
  readonly meta?: Json;
  readonly why?: string;
  /** The version that it was made from. The revision is refused when there is a newer one. Default: the newest. */
  readonly was?: FactId;
};
export type Ending = {
  readonly why: string;
  readonly by: Principal;
  readonly because?: readonly FactId[];
  /** For revocations: takes back only this version, which waits for approval. The version that is recalled stays. */
  readonly version?: FactId;
};
export type Promotion = {
  readonly because: Because;
  readonly by: Principal;
  /** The version that is approved. Default: the newest that is held, or the first. */
  readonly version?: FactId;
  /** The scope that it has from now on. */
  readonly to?: ScopeGiven;
  readonly why?: string;
};
export type Linking = {
  readonly to: FactId;
  readonly relation: string;
  readonly by: Principal;
  readonly why?: string;
};
export type RollbackTo = { readonly to: FactId; readonly why: string; readonly by: Principal };
export type BranchOptions = { readonly by: Principal; readonly why?: string };
/** The result of a rollback: the undone facts, and the memories that are no longer recalled. */
export type Undone = {
  readonly head: FactId;
  readonly facts: readonly FactId[];
  readonly memories: readonly FactId[];
};

export const REVISION = optionNames<Revision>()("text because by source importance expires meta why was");
export const ENDING = optionNames<Ending>()("why by because version");
export const PROMOTION = optionNames<Promotion>()("because by version to why");
export const LINKING = optionNames<Linking>()("to relation by why");
export const ROLLBACK = optionNames<RollbackTo>()("to why by");
export const BRANCH = optionNames<BranchOptions>()("by why");
