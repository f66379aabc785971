import { isObject, isSize } from "../../util/index.js";
import { isDigest } from "../blob.js";
import type { Json } from "../json.js";
import { isPrincipal } from "../principal.js";
import type * as types from "./value.js";

/** A kind of field: its test, and how it is described. */
export type Kind<Value = unknown> = {
  /** Completes "its field … must be". */
  readonly wanted: string;
  /** The text of docs/format.md, where that is more than `wanted`. */
  readonly note?: string;
  /** Whether a long value that is not content may leave the line: lists and data, never what views are made of. */
  readonly bulky?: boolean;
  /** Strictly, for what is made here; else only as far as views and those who show a fact depend on it. */
  readonly test: (value: unknown, strict: boolean) => boolean;
  /** For the compiler alone: what the field holds. */
  readonly value?: Value;
};

type KindName = keyof typeof kinds;

/**
 * What a field is: its kind, with "?" where it may be left out. "content" is what a person or a model said or did: the
 * strictest setting keeps it out of the line so that it can be erased. "personal" content is kept out of the line by
 * default: words of people, memories, and copies of them.
 */
export type FieldText = `${"" | "content " | "personal "}${KindName}${"" | "?"}`;

/** The same field with a type that the compiler checks and the record does not: records of other versions stay readable. */
export function typed<Value>() {
  return <Text extends FieldText>(text: Text) => text as Text & { readonly holds: Value };
}

/** The type of a field's value. */
export type ValueOf<Text> = Text extends { readonly holds: infer Value }
  ? Value
  : Text extends `${infer Name}?`
    ? ValueOf<Name>
    : Text extends `${"content" | "personal"} ${infer Name}`
      ? ValueOf<Name>
      : Text extends KindName
        ? (typeof kinds)[Text] extends Kind<infer Value>
          ? Value
          : never
        : never;

const LARGE = { bulky: true };

/** Every kind of field there is, by its name, in the order of docs/format.md. */
export const kinds = {
  id: kind<types.FactId>("the id of a session (64 hex digits)", isDigest),
  digest: kind<types.Digest>("a SHA-256 digest (64 hex digits)", isDigest),
  "digest or null": kind<types.Digest | null>(
    "a SHA-256 digest (64 hex digits) or null",
    (value) => value === null || isDigest(value),
  ),
  text: kind<string>("a string", isText),
  "text or null": kind<string | null>("a string or null", (value) => value === null || isText(value)),
  number: kind<number>("a number", (value) => typeof value === "number"),
  "number or null": kind<number | null>(
    "a number or null",
    (value) => value === null || typeof value === "number",
  ),
  size: kind<number>("a whole number, not negative", isSize),
  flag: kind<boolean>("true or false", (value) => typeof value === "boolean"),
  role: word<types.Role>(["user", "assistant", "system"]),
  effect: word<types.Effect>(["pure", "read", "idempotent", "write"]),
  decision: word(["approve", "reject", "take-over"]),
  verdict: word(["allow", "ask", "deny"]),
  settlement: word<types.Settlement>(["done", "failed", "again"]),
  origin: kind<types.Origin>(
    "an object with the texts run and start and a list of leaves",
    (value) => isObject(value) && isText(value.run) && isDigest(value.start) && isIds(value.leaves),
    {
      note: "an object with the text `run`, the id `start`, a list of ids `leaves`, and `again` (true) for a retry",
    },
  ),
  principal: kind<types.Principal>(
    "a principal, such as user:ada",
    (value, strict) => isText(value) && (!strict || isPrincipal(value)),
    {
      note: "who acts, as in `by`: a kind and perhaps a name, such as `user:ada`; a reader takes any string",
    },
  ),
  side: kind<types.Adopt>(
    '"ours", "theirs", "both", "none" or the place of a parent in the list',
    (value) =>
      value === "ours" || value === "theirs" || value === "both" || value === "none" || isSize(value),
    {
      note: '`"ours"`, `"theirs"` (of two parents), `"both"`, `"none"`, or the place of a parent in the list, from 0',
    },
  ),
  json: kind<Json>("given", isGiven, { note: "any JSON value", ...LARGE }),
  given: kind<Json>("given", isGiven, { note: "any JSON value, which stays in the line however long it is" }),
  place: kind<types.Placement>(
    "an object that names a sandbox",
    (value) => isText((value as { sandbox?: unknown } | null | undefined)?.sandbox),
    { note: "an object that names a `sandbox` (`Placement` below)" },
  ),
  words: kind<types.Content>("a string or a list of parts, each with a known type and its fields", isWords, {
    note: "a string, or a list of parts (`Part` below); a reader takes parts of other types",
  }),
  messages: kind<readonly types.Message[]>(
    "a list of messages, each with a role and what it says",
    (value, strict) => isList(value, (message) => isMessage(message, strict)),
    { note: "a list of messages (`Message` below)" },
  ),
  failure: kind<types.Failure>("an object with the texts name and message", isFailure, {
    note: "an object with the texts `name` and `message` (`Failure` below)",
  }),
  texts: kind<readonly string[]>("a list of strings", (value) => Array.isArray(value) && value.every(isText)),
  ids: kind<readonly types.FactId[]>("a list of ids", isIds, LARGE),
  digests: kind<readonly types.Digest[]>("a list of SHA-256 digests", isIds, LARGE),
  evidence: kind<types.Because>(
    "a list of at least one id",
    (value) => isIds(value) && value.length > 0,
    LARGE,
  ),
  paths: kind<readonly types.PathChange[]>(
    'a list of { path, change: "add" | "modify" | "delete" }',
    (value, strict) =>
      isList(value, ({ path, change }) => !strict || (isText(path) && isText(change) && CHANGES.has(change))),
    { note: "a list of objects (`PathChange` below)", ...LARGE },
  ),
  candidates: kind<readonly types.Candidate[]>(
    "a list of objects, each with a name",
    (value, strict) => isList(value, ({ name }) => !strict || isText(name)),
    { note: "a list of objects (`Candidate` below)", ...LARGE },
  ),
  hits: kind<readonly types.MemoryHit[]>(
    "a list of objects, each with the id of a memory and a score",
    (value, strict) =>
      isList(value, ({ memory, score }) => !strict || (isDigest(memory) && typeof score === "number")),
    { note: "a list of objects (`MemoryHit` below)" },
  ),
  limits: kind<{ readonly [name: string]: number }>(
    "an object of numbers",
    (value) => isObject(value) && Object.values(value).every((limit) => typeof limit === "number"),
    LARGE,
  ),
  usage: kind<types.Usage>("an object with the numbers input and output, not negative", isUsage, {
    note: "an object with the numbers `input` and `output`, and perhaps `cached` and `reasoning`, none negative",
  }),
};

function kind<Value>(
  wanted: string,
  test: Kind["test"],
  more: Pick<Kind, "note" | "bulky"> = {},
): Kind<Value> {
  return { wanted, test, ...more };
}

/** One of a few words. A newer version may have more of them, so a reader takes any text. */
function word<Value extends string>(words: readonly Value[]): Kind<Value> {
  const known: ReadonlySet<unknown> = new Set(words);
  const quoted = words.map((one) => `"${one}"`);
  const wanted = `${quoted.slice(0, -1).join(", ")} or ${quoted.at(-1)}`;
  return kind(wanted, (value, strict) => isText(value) && (!strict || known.has(value)), {
    note: `${wanted}; a reader takes any string`,
  });
}

type Fields = { readonly [field: string]: unknown };

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isGiven(value: unknown): boolean {
  return value !== undefined;
}

function isIds(value: unknown): value is readonly types.FactId[] {
  return Array.isArray(value) && value.every(isDigest);
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
    return kinds.role.test(message.role, strict) && isWords(message.content, strict);
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
