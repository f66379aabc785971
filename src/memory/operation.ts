import type { Because, Digest, FactId, Json, Principal, Session } from "../session/index.js";
import { isPrincipal } from "../session/index.js";
import { defined, optionNames, showValue } from "../util/index.js";
import { requireOptions } from "../workflow/index.js";
import type { Contradicts } from "./contradiction.js";
import type { Embedder } from "./embedding/embedder.js";
import { refusing } from "./error.js";
import type { Needs, Rules } from "./rules.js";
import { type Scope, type ScopeGiven, scopeOf } from "./scope.js";
import { SOURCES, type Source } from "./source.js";
import type { Status } from "./state.js";

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

export type Revision = Pick<Draft, "text" | "because" | "by" | "importance" | "expires" | "meta"> & {
  readonly source?: Source;
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

/** The maximum number of characters of a memory. Keep longer documents as files, and remember where they are. */
export const LONGEST = 32_768;
const LONGEST_SUBJECT = 500;

/** A memory to be written. It must name its evidence and its author. */
export type Draft = {
  readonly text: string;
  /** The ids of the facts that show it. They must be in the store. */
  readonly because: Because;
  readonly source: Source;
  readonly by: Principal;
  /** Where it holds. Default: the scope of the space. */
  readonly scope?: ScopeGiven;
  /** The subject. Another text about the same subject contradicts it. */
  readonly subject?: string;
  readonly importance?: number;
  /** When it expires, as an ISO time. */
  readonly expires?: string;
  /** The memories that it replaces. */
  readonly merges?: readonly FactId[];
  readonly meta?: Json;
};

const KNOWN = optionNames<Draft>()("text because source by scope subject importance expires merges meta");

const EXAMPLE =
  '{ text: "…", because: groundsOf(session), source: "tool-result", by: "agent:coder", scope: "project:rath" }';

/** A draft with every field checked but its evidence. */
export type Checked = Omit<Draft, "scope"> & { readonly scope: Scope };

export function checkDraft(draft: Draft, scope: Scope, use: string): Checked {
  const refuse = refusing(use);
  requireOptions(draft, refuse, EXAMPLE, KNOWN);
  const { merges, subject, importance, expires } = draft;
  if (merges !== undefined && !Array.isArray(merges))
    throw refuse(
      `\`merges\` must be a list of ids; got ${showValue(merges)}`,
      "merges: [the ids of memories]",
    );
  return {
    ...draft,
    text: textOf(draft.text, use),
    source: sourceOf(draft.source, use),
    by: principalOf(draft.by, use),
    scope: draft.scope === undefined ? scope : scopeOf(draft.scope, use),
    ...defined({
      subject: optional(subject, subjectOf, use),
      importance: optional(importance, importanceOf, use),
      expires: optional(expires, timeOf, use),
    }),
  };
}

/** Checks a field that may be left out. */
export function optional<Given, Checked>(
  given: Given | undefined,
  check: (given: Given, use: string) => Checked,
  use: string,
): Checked | undefined {
  return given === undefined ? undefined : check(given, use);
}

/** A text that a prompt and an index can hold: not empty, not too long, and without halves of characters. */
export function textOf(text: unknown, use: string): string {
  const refuse = refusing(use, "text");
  if (typeof text !== "string" || text.trim() === "") throw refuse(`its text is ${showValue(text)}`, EXAMPLE);
  if (text.length <= LONGEST) return text.toWellFormed();
  throw refuse(
    `its text has ${text.length} characters, and the limit is ${LONGEST}`,
    "keep the document as a file, and remember a summary and where it is",
    { characters: text.length, most: LONGEST },
  );
}

export function sourceOf(source: unknown, use: string): Source {
  if (SOURCES.includes(source as Source)) return source as Source;
  const hint = `one of ${SOURCES.map((one) => JSON.stringify(one)).join(", ")}`;
  throw refusing(use, "source")(`its source is ${showValue(source)}`, hint);
}

export function principalOf(by: unknown, use: string): Principal {
  if (isPrincipal(by)) return by;
  throw refusing(use)(
    `\`by\` must be a principal; got ${showValue(by)}`,
    'by: "user:ada", or by: "agent:coder"',
  );
}

function subjectOf(subject: unknown, use: string): string {
  if (typeof subject === "string" && subject !== "" && subject.length <= LONGEST_SUBJECT)
    return subject.toWellFormed();
  throw refusing(use)(
    `its subject is ${showValue(subject)}`,
    `a text of at most ${LONGEST_SUBJECT} characters: subject: "the port of the server"`,
  );
}

export function importanceOf(importance: unknown, use: string): number {
  if (typeof importance === "number" && Number.isFinite(importance)) return importance;
  throw refusing(use)(`its importance is ${showValue(importance)}`, "importance: 5");
}

export function timeOf(time: unknown, use: string, field = "expires"): string {
  const at = typeof time === "string" ? Date.parse(time) : Number.NaN;
  if (!Number.isNaN(at)) return new Date(at).toISOString();
  throw refusing(use)(
    `\`${field}\` must be an ISO time; got ${showValue(time)}`,
    `${field}: "2030-01-01T00:00:00Z"`,
  );
}

export function reasonOf(why: unknown, use: string): string {
  if (typeof why === "string" && why.trim() !== "") return why.toWellFormed();
  throw refusing(use)(`\`why\` must be a text; got ${showValue(why)}`, 'why: "it turned out to be false"');
}
