import { FactError } from "./error.js";
import type { FactBodies, FactType } from "./fact.js";
import type { Json } from "./json.js";

/**
 * What each field of each fact must be, checked when a fact is appended, for callers the compiler did not
 * check. A `?` marks an optional field; `content` marks what a person or a model said or did, which the
 * strictest setting keeps out of the line so that it can be erased; a long `list`, `json` or `evidence` may leave
 * the line, all else stays, because views are made of it. The compiler keeps this table complete.
 */
type Kind =
  | "id"
  | "digest"
  | "text"
  | "number"
  | "flag"
  | "list"
  | "json"
  | "given"
  | "place"
  | "words"
  | "evidence"
  | "usage";
type Rule = `${"" | "content "}${Kind}${"" | "?"}`;

export const shapes: {
  readonly [Type in FactType]: {
    readonly [Field in keyof FactBodies[Type] as string extends Field ? never : Field]-?: Rule;
  };
} = {
  "session-start": { nonce: "text", text: "content words?", inline: "number?", key: "text?" },
  "session-detach": {
    nonce: "text",
    from: "id",
    why: "content text?",
    messages: "content list",
    placement: "place?",
    inline: "number?",
    key: "text?",
  },
  "message-say": { role: "text", content: "content words" },
  "context-compress": { from: "id", to: "id", summary: "content text", of: "id?" },
  "model-call": {
    model: "text",
    agent: "text?",
    config: "digest?",
    prompt: "digest?",
    parameters: "content json?",
  },
  "model-reply": {
    of: "id",
    content: "content words",
    finish: "text",
    usage: "usage",
    model: "text?",
    response: "text?",
    raw: "content json?",
  },
  "model-failure": { of: "id", error: "content json" },
  "tool-call": { name: "text", input: "content json", call: "text?", effect: "text?", key: "text?" },
  "tool-result": { of: "id", output: "content json", milliseconds: "number?" },
  "tool-failure": { of: "id", error: "content json", milliseconds: "number?" },
  "memory-read": { space: "text", head: "id?", query: "content json", hits: "content list" },
  "memory-write": { space: "text", text: "content text", scope: "json", source: "text", because: "evidence" },
  "memory-revise": { of: "id", text: "content text", because: "evidence", why: "content text?" },
  "memory-revoke": { of: "id", because: "list?", why: "content text" },
  "placement-change": { sandbox: "text", spec: "given?" },
  "workspace-change": { before: "json", after: "digest", paths: "list", of: "id?" },
  "branch-fork": { name: "text", why: "content text?" },
  "branch-merge": { adopt: "given", why: "content text?" },
  "run-start": { nonce: "text", module: "text", digests: "json?", key: "text?" },
  "run-suspend": { of: "id", waiting: "list" },
  "run-end": { of: "id", error: "content json?" },
  "module-enter": { module: "text", digests: "json?" },
  "module-exit": { of: "id", error: "content json?" },
  "route-choose": { selector: "text", candidates: "list", chosen: "json", why: "content text?" },
  "approval-ask": { what: "content json", digest: "digest", of: "id?", expires: "text?" },
  "approval-give": {
    of: "id",
    decision: "text",
    digest: "digest",
    why: "content text?",
    edit: "content json?",
  },
  "validation-report": { name: "text", passed: "flag", score: "number?", detail: "content json?", of: "id?" },
  "budget-set": { limits: "json" },
  "budget-stop": { limit: "text", allowed: "number", spent: "number", asked: "number" },
  "content-erase": { digests: "list", why: "text" },
  "record-import": { format: "text", source: "content text", digest: "digest", detail: "content json?" },
  note: { kind: "text?" },
};

const stamps = new Set(["type", "at", "by", "run", "seq"]);
/** Type, time and author: every fact has them. */
const STAMPED = 3;
const date = /^\d{4}-\d\d-\d\d(T|$)/;
const principal = /^(user|agent|tool|runtime|service)(:.+)?$/s;
const hex64 = /^[0-9a-f]{64}$/;

/** The rules of one type, split once: appending is the hottest path there is. */
type Checks = {
  readonly open: boolean;
  readonly fields: readonly { name: string; kind: Kind; optional: boolean }[];
  readonly known: ReadonlySet<string>;
};
const checks = new Map<string, Checks>(
  Object.entries(shapes).map(([type, shape]) => {
    const fields = Object.entries(shape).map(([name, rule]) => {
      const kind = rule.replace("content ", "").replace("?", "") as Kind;
      return { name, kind, optional: rule.endsWith("?") };
    });
    return [type, { open: type === "note", fields, known: new Set(fields.map((field) => field.name)) }];
  }),
);

/** Throws a `FactError` unless the fact is one of the union. `now` is a time that is known to be one. */
export function checkShape(value: { readonly [field: string]: Json }, now: string): void {
  const { type } = value;
  if (typeof type !== "string" || type === "")
    throw new FactError(
      typeof type,
      "a fact is an object with a type",
      'append({ type: "note", kind: "…" })',
    );
  const check = checks.get(type);
  if (check === undefined) {
    throw new FactError(
      type,
      "it is not one of the known types",
      `for facts of your own use { type: "note", kind: ${JSON.stringify(type)} }`,
    );
  }
  let known = STAMPED;
  for (const field of check.fields) {
    const found = value[field.name];
    if (found === undefined && field.optional) continue;
    known += 1;
    if (!is(field.kind, found)) {
      throw new FactError(
        type,
        `its field "${field.name}" must be ${describe[field.kind]}`,
        `look at "${type}" in the Fact union`,
      );
    }
  }
  const names = Object.keys(value);
  if (!check.open && names.length > known) {
    for (const name of names) {
      if (!check.known.has(name) && !stamps.has(name)) {
        throw new FactError(
          type,
          `it has no field "${name}"`,
          `its fields are ${[...check.known].join(", ")}; facts of your own go into a note`,
        );
      }
    }
  }
  if (value.by !== "user" && (typeof value.by !== "string" || !principal.test(value.by))) {
    throw new FactError(
      type,
      "`by` must say who",
      'use "user", "agent", "tool", "runtime" or "service", with a name if you like: "user:ada"',
    );
  }
  if (
    value.at !== now &&
    (typeof value.at !== "string" || !date.test(value.at) || Number.isNaN(Date.parse(value.at)))
  ) {
    throw new FactError(type, "`at` must be a time", "use an ISO 8601 string: new Date().toISOString()");
  }
  if (value.run !== undefined && typeof value.run !== "string")
    throw new FactError(type, "`run` must be text", "leave it to the runtime");
  if (value.seq !== undefined && !Number.isSafeInteger(value.seq))
    throw new FactError(type, "`seq` must be a whole number", "leave it to the runtime");
}

/**
 * The field that is missing or of the wrong kind in a fact from a line, if any. Unknown types and further
 * fields are a newer version's and pass; what `outside` names is in a blob and is not looked at.
 */
export function flawOf(
  fact: { readonly [field: string]: unknown },
  outside: { readonly [field: string]: unknown },
): string | undefined {
  const { type } = fact;
  for (const { name, kind, optional } of checks.get(type as string)?.fields ?? []) {
    if (Object.hasOwn(outside, name) || (optional && !Object.hasOwn(fact, name))) continue;
    if (!Object.hasOwn(fact, name) || !is(kind, fact[name])) return name;
  }
  return undefined;
}

export function isStamp(field: string): boolean {
  return stamps.has(field);
}

/** Whether a field is content: what was said or done, as opposed to the structure that says where and when. */
export function isContent(type: string, field: string): boolean {
  if (stamps.has(field)) return false;
  if (type === "note") return field !== "kind";
  return ruleOf(type, field)?.startsWith("content") ?? true;
}

/** Whether a field that is not content may be kept in a blob when it is long: lists and data, never what views are made of. */
export function isBulky(type: string, field: string): boolean {
  return /^(list|json|evidence)/.test(ruleOf(type, field) ?? "");
}

/** None for a fact of a newer version. */
function ruleOf(type: string, field: string): Rule | undefined {
  const shape = Object.hasOwn(shapes, type)
    ? (shapes[type as FactType] as { readonly [field: string]: Rule })
    : {};
  return Object.hasOwn(shape, field) ? shape[field] : undefined;
}

const describe: { readonly [kind in Kind]: string } = {
  id: "the id of a session (64 hex digits)",
  digest: "a SHA-256 digest (64 hex digits)",
  text: "a string",
  number: "a number",
  flag: "true or false",
  list: "a list",
  json: "given",
  given: "given",
  place: "an object that names a sandbox",
  words: "a string or a list of parts",
  evidence: "a list of at least one id",
  usage: "an object with the numbers input and output",
};

function is(kind: Kind, value: unknown): boolean {
  switch (kind) {
    case "id":
    case "digest":
      return typeof value === "string" && hex64.test(value);
    case "text":
      return typeof value === "string";
    case "number":
      return typeof value === "number";
    case "flag":
      return typeof value === "boolean";
    case "list":
      return Array.isArray(value);
    case "json":
    case "given":
      return value !== undefined;
    case "place":
      return typeof (value as { sandbox?: unknown } | null | undefined)?.sandbox === "string";
    case "words":
      return typeof value === "string" || Array.isArray(value);
    case "evidence":
      return Array.isArray(value) && value.length > 0 && value.every((id) => is("id", id));
    case "usage":
      return isUsage(value as { readonly [count: string]: unknown });
  }
}

/** Sums are made of these: one that is not a number would spoil the sum for ever. */
function isUsage(value: { readonly [count: string]: unknown } | null | undefined): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const { input, output, cached = 0, reasoning = 0 } = value;
  return [input, output, cached, reasoning].every((count) => typeof count === "number");
}
