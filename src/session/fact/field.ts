import type { Json } from "../json.js";
import { isPrincipal } from "../principal.js";
import type {
  Adopt,
  Because,
  Candidate,
  Content,
  Digest,
  Effect,
  FactId,
  Failure,
  MemoryHit,
  Message,
  Origin,
  PathChange,
  Placement,
  Principal,
  Role,
  Settlement,
  Usage,
} from "./value.js";

/** A field of a fact: what it must be, whether it may be left out, and whether it is content. */
export type Field<Value = unknown, Optional extends boolean = boolean> = {
  readonly kind: Kind;
  readonly optional: Optional;
  /**
   * "content" is what a person or a model said or did: the strictest setting keeps it out of the line so that it can be
   * erased. "personal" content is kept out of the line by default: words of people, memories, and copies of them.
   */
  readonly mark?: "content" | "personal";
  /** For the compiler alone: what the field holds. */
  readonly value?: Value;
};

/** What a field must be. */
export type Kind = {
  readonly name: string;
  /** Completes "its field … must be". */
  readonly wanted: string;
  /** What docs/format.md says, where that is more than `wanted`. */
  readonly note?: string;
  /** Whether a long value that is not content may leave the line: lists and data, never what views are made of. */
  readonly bulky: boolean;
  /** Strictly, for what is made here; else only as far as views and those who show a fact depend on it. */
  readonly test: (value: unknown, strict: boolean) => boolean;
};

/** The field may be left out. */
export function optional<Value>(field: Field<Value, false>): Field<Value, true> {
  return { ...field, optional: true };
}

/** What a person or a model said or did. */
export function content<Value>(field: Field<Value, false>): Field<Value, false> {
  return { ...field, mark: "content" };
}

/** Words of people, memories, and copies of them. */
export function personal<Value>(field: Field<Value, false>): Field<Value, false> {
  return { ...field, mark: "personal" };
}

/** The same field with a type that the compiler checks and the record does not: records of other versions stay readable. */
export function typed<Value>(field: Field<unknown, false>): Field<Value, false> {
  return field as Field<Value, false>;
}

/** Every kind of field there is, by its name. */
export const kinds = new Map<string, Kind>();

function field<Value>(
  name: string,
  wanted: string,
  test: Kind["test"],
  { note, bulky = false }: { readonly note?: string; readonly bulky?: boolean } = {},
): Field<Value, false> {
  const kind: Kind = { name, wanted, bulky, test, ...(note !== undefined && { note }) };
  kinds.set(name, kind);
  return { kind, optional: false };
}

/** One of a few words. A newer version may have more of them, so a reader takes any text. */
function word<Value extends string>(name: string, words: readonly Value[]): Field<Value, false> {
  const known: ReadonlySet<unknown> = new Set(words);
  const quoted = words.map((one) => `"${one}"`);
  const wanted = `${quoted.slice(0, -1).join(", ")} or ${quoted.at(-1)}`;
  return field<Value>(name, wanted, (value, strict) => isText(value) && (!strict || known.has(value)), {
    note: `${wanted}; a reader takes any string`,
  });
}

const LARGE = { bulky: true };

export const id = field<FactId>("id", "the id of a session (64 hex digits)", isHex);
export const digest = field<Digest>("digest", "a SHA-256 digest (64 hex digits)", isHex);
export const digestOrNull = field<Digest | null>(
  "digest or null",
  "a SHA-256 digest (64 hex digits) or null",
  (value) => value === null || isHex(value),
);
export const text = field<string>("text", "a string", isText);
export const textOrNull = field<string | null>(
  "text or null",
  "a string or null",
  (value) => value === null || isText(value),
);
export const number = field<number>("number", "a number", (value) => typeof value === "number");
export const numberOrNull = field<number | null>(
  "number or null",
  "a number or null",
  (value) => value === null || typeof value === "number",
);
export const size = field<number>("size", "a whole number, not negative", isSize);
export const flag = field<boolean>("flag", "true or false", (value) => typeof value === "boolean");
export const role = word<Role>("role", ["user", "assistant", "system"]);
export const effect = word<Effect>("effect", ["pure", "read", "idempotent", "write"]);
export const decision = word("decision", ["approve", "reject", "take-over"]);
export const verdict = word("verdict", ["allow", "ask", "deny"]);
export const settlement = word<Settlement>("settlement", ["done", "failed", "again"]);
export const origin = field<Origin>(
  "origin",
  "an object with the texts run and start and a list of leaves",
  (value) => isObject(value) && isText(value.run) && isHex(value.start) && isIds(value.leaves),
  {
    note: "an object with the text `run`, the id `start`, a list of ids `leaves`, and `again` (true) for a retry",
  },
);
export const principal = field<Principal>(
  "principal",
  "a principal, such as user:ada",
  (value, strict) => isText(value) && (!strict || isPrincipal(value)),
  { note: "who acts, as in `by`: a kind and perhaps a name, such as `user:ada`; a reader takes any string" },
);
export const side = field<Adopt>(
  "side",
  '"ours", "theirs", "both", "none" or the place of a parent in the list',
  (value) => value === "ours" || value === "theirs" || value === "both" || value === "none" || isSize(value),
  {
    note: '`"ours"`, `"theirs"` (of two parents), `"both"`, `"none"`, or the place of a parent in the list, from 0',
  },
);
export const json = field<Json>("json", "given", isGiven, { note: "any JSON value", ...LARGE });
export const given = field<Json>("given", "given", isGiven, {
  note: "any JSON value, which stays in the line however long it is",
});
export const place = field<Placement>(
  "place",
  "an object that names a sandbox",
  (value) => isText((value as { sandbox?: unknown } | null | undefined)?.sandbox),
  { note: "an object that names a `sandbox` (`Placement` below)" },
);
export const words = field<Content>(
  "words",
  "a string or a list of parts, each with a known type and its fields",
  isWords,
  { note: "a string, or a list of parts (`Part` below); a reader takes parts of other types" },
);
export const messages = field<readonly Message[]>(
  "messages",
  "a list of messages, each with a role and what it says",
  (value, strict) => isList(value, (message) => isMessage(message, strict)),
  { note: "a list of messages (`Message` below)" },
);
export const failure = field<Failure>("failure", "an object with the texts name and message", isFailure, {
  note: "an object with the texts `name` and `message` (`Failure` below)",
});
export const texts = field<readonly string[]>(
  "texts",
  "a list of strings",
  (value) => Array.isArray(value) && value.every(isText),
);
export const ids = field<readonly FactId[]>("ids", "a list of ids", isIds, LARGE);
export const digests = field<readonly Digest[]>("digests", "a list of SHA-256 digests", isIds, LARGE);
export const evidence = field<Because>(
  "evidence",
  "a list of at least one id",
  (value) => isIds(value) && value.length > 0,
  LARGE,
);
export const paths = field<readonly PathChange[]>(
  "paths",
  'a list of { path, change: "add" | "modify" | "delete" }',
  (value, strict) =>
    isList(value, ({ path, change }) => !strict || (isText(path) && isText(change) && CHANGES.has(change))),
  { note: "a list of objects (`PathChange` below)", ...LARGE },
);
export const candidates = field<readonly Candidate[]>(
  "candidates",
  "a list of objects, each with a name",
  (value, strict) => isList(value, ({ name }) => !strict || isText(name)),
  { note: "a list of objects (`Candidate` below)", ...LARGE },
);
export const hits = field<readonly MemoryHit[]>(
  "hits",
  "a list of objects, each with the id of a memory and a score",
  (value, strict) =>
    isList(value, ({ memory, score }) => !strict || (isHex(memory) && typeof score === "number")),
  { note: "a list of objects (`MemoryHit` below)" },
);
export const limits = field<{ readonly [name: string]: number }>(
  "limits",
  "an object of numbers",
  (value) => isObject(value) && Object.values(value).every((limit) => typeof limit === "number"),
  LARGE,
);
export const usage = field<Usage>(
  "usage",
  "an object with the numbers input and output, not negative",
  isUsage,
  {
    note: "an object with the numbers `input` and `output`, and perhaps `cached` and `reasoning`, none negative",
  },
);

type Fields = { readonly [field: string]: unknown };

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isHex(value: unknown): boolean {
  return typeof value === "string" && HEX64.test(value);
}

function isSize(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isGiven(value: unknown): boolean {
  return value !== undefined;
}

function isIds(value: unknown): value is readonly FactId[] {
  return Array.isArray(value) && value.every(isHex);
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isList(value: unknown, test: (item: Fields) => boolean): boolean {
  return Array.isArray(value) && value.every((item) => isObject(item) && test(item));
}

function isFailure(value: unknown): boolean {
  return isObject(value) && isText(value.name) && isText(value.message);
}

function isWords(value: unknown, strict: boolean): boolean {
  return typeof value === "string" || isList(value, (part) => isPart(part, strict));
}

function isPart(part: Fields, strict: boolean): boolean {
  if (typeof part.type !== "string") return false;
  const fields = PARTS.get(part.type);
  if (fields === undefined) return !strict;
  const carried = CARRIED.get(part.type);
  if (carried !== undefined && part[carried] === undefined) return false;
  return fields.every((name) => typeof part[name] === "string");
}

function isMessage(message: Fields, strict: boolean): boolean {
  if (message.author !== undefined && typeof message.author !== "string") return false;
  if (message.role !== "tool")
    return role.kind.test(message.role, strict) && isWords(message.content, strict);
  if (message.error !== undefined && !isFailure(message.error)) return false;
  return typeof message.call === "string" && typeof message.name === "string";
}

/** Sums are made of these: one that is not a number would spoil the sum permanently. */
function isUsage(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { input, output, cached = 0, reasoning = 0 } = value;
  return isAmount(input) && isAmount(output) && isAmount(cached) && isAmount(reasoning);
}

function isAmount(count: unknown): boolean {
  return typeof count === "number" && count >= 0 && count <= Number.MAX_SAFE_INTEGER;
}

const HEX64 = /^[0-9a-f]{64}$/;
const CHANGES: ReadonlySet<string> = new Set(["add", "modify", "delete"]);

/** The fields that each type of part must have; all are text; any JSON is in `CARRIED`. */
const PARTS = new Map<string, readonly string[]>([
  ["text", ["text"]],
  ["reasoning", ["text"]],
  ["tool-call", ["call", "name"]],
  ["tool-result", ["call", "name"]],
  ["file", ["media", "data"]],
  ["source", []],
  ["other", []],
  ["withheld", ["reason", "digest"]],
]);

/** The field of a type of part that holds JSON. */
const CARRIED = new Map<string, string>([
  ["tool-call", "input"],
  ["tool-result", "output"],
  ["source", "source"],
  ["other", "value"],
]);
