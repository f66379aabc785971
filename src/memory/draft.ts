import { type Because, type FactId, isPrincipal, type Json, type Principal } from "../session/index.js";
import { optionNames, showValue } from "../util/index.js";
import { requireOptions } from "../workflow/index.js";
import { MemoryRefusedError } from "./error.js";
import { type Scope, type ScopeGiven, scopeOf } from "./scope.js";
import { SOURCES, type Source } from "./source.js";

/** Characters of one memory. What is longer is a document: keep it as a file, and remember where it is. */
export const LONGEST = 32_768;
const LONGEST_SUBJECT = 500;

/** Something to be remembered. It does not compile, and does not run, without its evidence and who says it. */
export type Draft = {
  readonly text: string;
  /** The facts that show it, by id. They must be in the store. */
  readonly because: Because;
  readonly source: Source;
  readonly by: Principal;
  /** Where it holds. Default: the scope of the space. */
  readonly scope?: ScopeGiven;
  /** What it is about. Another text about the same subject contradicts it. */
  readonly subject?: string;
  readonly importance?: number;
  /** When it stops being told, as an ISO time. */
  readonly expires?: string;
  /** Memories that it takes the place of. */
  readonly merges?: readonly FactId[];
  readonly meta?: Json;
};

const KNOWN = optionNames<Draft>()("text because source by scope subject importance expires merges meta");

const EXAMPLE =
  '{ text: "…", because: groundsOf(session), source: "tool-result", by: "agent:coder", scope: "project:rath" }';

/** A draft with everything that it says checked but its evidence. */
export type Checked = Omit<Draft, "scope"> & { readonly scope: Scope };

export function checkDraft(draft: Draft, scope: Scope, use: string): Checked {
  requireOptions(draft, refusing(use), EXAMPLE, KNOWN);
  const { because: _, ...rest } = draft;
  if (draft.merges !== undefined && !Array.isArray(draft.merges))
    throw refusing(use)(`its \`merges\` are ${showValue(draft.merges)}`, "merges: [the ids of memories]");
  return {
    ...rest,
    because: draft.because,
    text: textOf(draft.text, use),
    source: sourceOf(draft.source, use),
    by: principalOf(draft.by, use),
    scope: draft.scope === undefined ? scope : scopeOf(draft.scope, use),
    ...(draft.subject !== undefined && { subject: subjectOf(draft.subject, use) }),
    ...(draft.importance !== undefined && { importance: importanceOf(draft.importance, use) }),
    ...(draft.expires !== undefined && { expires: timeOf(draft.expires, use) }),
  };
}

export function refusing(use: string): (reason: string, hint: string) => MemoryRefusedError {
  return (reason, hint) => new MemoryRefusedError("option", use, reason, hint);
}

/** A text that a prompt and an index can hold: not empty, not endless, and without halves of characters. */
export function textOf(text: unknown, use: string): string {
  if (typeof text !== "string" || text.trim() === "")
    throw new MemoryRefusedError("text", use, `its text is ${showValue(text)}`, EXAMPLE);
  if (text.length > LONGEST)
    throw new MemoryRefusedError(
      "text",
      use,
      `its text has ${text.length} characters, and a memory has ${LONGEST} at most`,
      "keep the document as a file, and remember what it says in short and where it is",
      { characters: text.length, most: LONGEST },
    );
  return text.toWellFormed();
}

export function sourceOf(source: unknown, use: string): Source {
  if (SOURCES.includes(source as Source)) return source as Source;
  throw new MemoryRefusedError(
    "source",
    use,
    `its source is ${showValue(source)}`,
    `one of ${SOURCES.map((one) => JSON.stringify(one)).join(", ")}`,
  );
}

export function principalOf(by: unknown, use: string): Principal {
  if (isPrincipal(by)) return by as Principal;
  throw new MemoryRefusedError(
    "option",
    use,
    by === undefined ? "it does not say who says it" : `its \`by\` is ${showValue(by)}, which is nobody`,
    'by: "user:ada", or by: "agent:coder"',
  );
}

function subjectOf(subject: unknown, use: string): string {
  if (typeof subject === "string" && subject !== "" && subject.length <= LONGEST_SUBJECT)
    return subject.toWellFormed();
  throw new MemoryRefusedError(
    "option",
    use,
    `its subject is ${showValue(subject)}`,
    `a text of at most ${LONGEST_SUBJECT} characters: subject: "the port of the server"`,
  );
}

export function importanceOf(importance: unknown, use: string): number {
  if (typeof importance === "number" && Number.isFinite(importance)) return importance;
  throw new MemoryRefusedError("option", use, `its importance is ${showValue(importance)}`, "importance: 5");
}

export function timeOf(time: unknown, use: string, field = "expires"): string {
  const at = typeof time === "string" ? Date.parse(time) : Number.NaN;
  if (!Number.isNaN(at)) return new Date(at).toISOString();
  throw new MemoryRefusedError(
    "option",
    use,
    `${showValue(time)} is no time`,
    `an ISO time: ${field}: "2030-01-01T00:00:00Z"`,
  );
}

export function whyOf(why: unknown, use: string): string {
  if (typeof why === "string" && why.trim() !== "") return why.toWellFormed();
  throw new MemoryRefusedError("option", use, "it does not say why", 'why: "it turned out to be false"');
}
