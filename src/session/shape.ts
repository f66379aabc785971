import { FactError } from "./error.js";
import type { FactBodies, FactType, PrincipalKind } from "./fact.js";
import type { Json } from "./json.js";
import { isPrincipal } from "./principal.js";

/**
 * Who did it when nobody says, and what each field of each fact must be, checked when a fact is appended, for
 * callers the compiler did not check. A `?` marks an optional field; `content` marks what a person or a model said
 * or did, which the strictest setting keeps out of the line so that it can be erased; long lists and data may leave
 * the line, all else stays, because views are made of it. The compiler keeps this table complete.
 */
type Kind = keyof typeof describe;
type Rule = `${"" | "content "}${Kind}${"" | "?"}`;
type Shape<Type extends FactType> = {
  readonly [Field in keyof FactBodies[Type] as string extends Field ? never : Field]-?: Rule;
};
/** A guess about who decided would be false evidence for ever, so decisions have no default. */
type Author = PrincipalKind | "by role" | "must say";

const table: { readonly [Type in FactType]: readonly [by: Author, fields: Shape<Type>] } = {
  "session-start": ["user", { nonce: "text", text: "content words?", inline: "size?", key: "text?" }],
  "session-detach": [
    "user",
    {
      nonce: "text",
      from: "id",
      why: "content text?",
      messages: "content messages",
      placement: "place?",
      tree: "digest?",
      inline: "size?",
      key: "text?",
    },
  ],
  "message-say": ["by role", { role: "role", content: "content words" }],
  "context-compress": [
    "agent",
    {
      from: "id",
      to: "id",
      summary: "content text",
      of: "id?",
      policy: "text?",
      claims: "content json?",
      tokens: "json?",
    },
  ],
  "agent-configure": [
    "agent",
    {
      agent: "text",
      instructions: "content text?",
      tools: "content json?",
      output: "content json?",
      parameters: "content json?",
      since: "id?",
      foreign: "json?",
    },
  ],
  "model-call": [
    "agent",
    {
      model: "text",
      agent: "text?",
      config: "id?",
      prompt: "digest?",
      parameters: "content json?",
    },
  ],
  "model-reply": [
    "service",
    {
      of: "id",
      content: "content words",
      finish: "text",
      usage: "usage",
      cost: "number?",
      model: "text?",
      response: "text?",
      agent: "text?",
      meta: "content json?",
      raw: "content json?",
      milliseconds: "number?",
      from: "id?",
      redacted: "json?",
    },
  ],
  "model-failure": [
    "service",
    { of: "id", error: "content failure", milliseconds: "number?", from: "id?", redacted: "json?" },
  ],
  "tool-call": [
    "agent",
    { name: "text", input: "content json", call: "text?", effect: "effect?", key: "text?", source: "json?" },
  ],
  "tool-result": [
    "tool",
    {
      of: "id",
      output: "content json",
      origin: "text?",
      edited: "content json?",
      milliseconds: "number?",
      from: "id?",
      redacted: "json?",
    },
  ],
  "tool-failure": [
    "tool",
    {
      of: "id",
      error: "content failure",
      edited: "content json?",
      milliseconds: "number?",
      from: "id?",
      redacted: "json?",
    },
  ],
  "step-call": ["agent", { name: "text", input: "content json?", effect: "effect?", key: "text?" }],
  "step-result": [
    "tool",
    {
      of: "id",
      value: "content json",
      edited: "content json?",
      milliseconds: "number?",
      from: "id?",
      redacted: "json?",
    },
  ],
  "step-failure": [
    "tool",
    {
      of: "id",
      error: "content failure",
      edited: "content json?",
      milliseconds: "number?",
      from: "id?",
      redacted: "json?",
    },
  ],
  "effect-start": ["runtime", { of: "id", attempt: "size", key: "text?" }],
  "effect-fail": ["runtime", { of: "id", attempt: "size", error: "content failure", wait: "number" }],
  "effect-doubt": ["runtime", { of: "id", attempt: "size", error: "content failure" }],
  "effect-settle": [
    "must say",
    {
      of: "id",
      decision: "settlement",
      value: "content json?",
      error: "content failure?",
      why: "content text?",
    },
  ],
  "timer-set": ["agent", { milliseconds: "number?", until: "text?" }],
  "timer-fire": ["runtime", { of: "id" }],
  "signal-await": ["agent", { name: "text", what: "content json?" }],
  "signal-give": ["must say", { of: "id", value: "content json" }],
  "answer-take": ["runtime", { of: "id", answer: "id" }],
  "wait-cancel": ["runtime", { of: "id", why: "content text?", late: "flag?" }],
  "memory-space": ["must say", { space: "text", scope: "json", rules: "json?" }],
  "memory-read": [
    "agent",
    {
      space: "text",
      head: "id?",
      query: "content json",
      hits: "content hits",
      settings: "json?",
      shown: "content text?",
      before: "text?",
      of: "id?",
    },
  ],
  "memory-write": [
    "must say",
    {
      space: "text",
      text: "content text",
      scope: "json",
      source: "text",
      because: "evidence",
      subject: "content text?",
      origins: "json?",
      importance: "number?",
      expires: "text?",
      needs: "text?",
      contradicts: "ids?",
      merges: "ids?",
      meta: "content json?",
      of: "id?",
    },
  ],
  "memory-revise": [
    "must say",
    {
      of: "id",
      text: "content text",
      because: "evidence",
      source: "text?",
      origins: "json?",
      importance: "number?",
      expires: "text?",
      needs: "text?",
      meta: "content json?",
      why: "content text?",
    },
  ],
  "memory-revoke": ["must say", { of: "id", because: "ids?", why: "content text", version: "id?" }],
  "memory-promote": [
    "must say",
    { of: "id", because: "evidence", version: "id?", to: "json?", why: "content text?" },
  ],
  "memory-expire": ["must say", { of: "id", because: "ids?", why: "content text" }],
  "memory-link": ["must say", { of: "id", to: "id", relation: "text", why: "content text?" }],
  "memory-rollback": ["must say", { to: "id", undoes: "ids", why: "content text" }],
  "placement-change": ["user", { sandbox: "text", spec: "given?" }],
  "sandbox-open": [
    "runtime",
    {
      sandbox: "text",
      incarnation: "size",
      provider: "text",
      isolation: "text",
      spec: "json",
      status: "json",
      capabilities: "json",
      native: "json?",
      tree: "digest or null",
      parent: "json?",
      of: "id?",
    },
  ],
  "sandbox-suspend": ["runtime", { sandbox: "text", incarnation: "size", why: "content text?", of: "id?" }],
  "sandbox-resume": ["runtime", { sandbox: "text", incarnation: "size", why: "content text?", of: "id?" }],
  "sandbox-lose": ["runtime", { sandbox: "text", incarnation: "size", why: "content text", of: "id?" }],
  "sandbox-close": ["runtime", { sandbox: "text", incarnation: "size", why: "content text?", of: "id?" }],
  "command-run": [
    "tool",
    {
      sandbox: "text",
      incarnation: "size",
      command: "content json",
      directory: "content text?",
      outcome: "text",
      code: "number or null",
      signal: "text?",
      stdout: "content json?",
      stderr: "content json?",
      cut: "size?",
      network: "content json?",
      milliseconds: "number",
      of: "id?",
    },
  ],
  "workspace-import": [
    "runtime",
    {
      source: "content text",
      after: "digest",
      files: "size",
      bytes: "size",
      skipped: "content json?",
      of: "id?",
    },
  ],
  "workspace-read": ["tool", { tree: "digest or null", sandbox: "text?", of: "id?" }],
  "workspace-change": [
    "tool",
    {
      before: "digest or null",
      after: "digest",
      paths: "paths",
      sandbox: "text?",
      skipped: "content json?",
      of: "id?",
    },
  ],
  "workspace-merge": [
    "runtime",
    {
      base: "digest or null",
      ours: "digest or null",
      theirs: "digest",
      after: "digest",
      paths: "paths",
      conflicts: "content json",
      of: "id?",
    },
  ],
  "workspace-resolve": [
    "must say",
    {
      merge: "id",
      after: "digest",
      paths: "paths",
      choices: "content json",
      resolved: "content json?",
      why: "content text?",
      of: "id?",
    },
  ],
  "branch-fork": ["user", { name: "text", why: "content text?" }],
  "branch-merge": ["user", { adopt: "side", why: "content text?" }],
  "run-start": [
    "runtime",
    { nonce: "text", module: "text", name: "text?", digests: "json?", from: "origin?" },
  ],
  "run-cancel": ["runtime", { of: "id", why: "content text?" }],
  "run-suspend": ["runtime", { of: "id", waiting: "ids" }],
  "run-end": ["runtime", { of: "id", error: "content failure?" }],
  "module-enter": ["runtime", { module: "text", digests: "json?" }],
  "module-exit": ["runtime", { of: "id", error: "content failure?" }],
  "route-choose": [
    "agent",
    {
      selector: "text",
      candidates: "candidates",
      chosen: "text or null",
      why: "content text?",
      chooser: "text?",
      cost: "number?",
      table: "digest?",
      detail: "content json?",
    },
  ],
  "skill-activate": [
    "agent",
    { name: "text", source: "text", digest: "digest", instructions: "content text", of: "id?" },
  ],
  "approval-ask": [
    "runtime",
    {
      what: "content json",
      digest: "digest",
      of: "id?",
      expires: "text?",
      to: "json?",
      name: "text?",
      rule: "text?",
      why: "content text?",
      level: "number?",
      edited: "content json?",
      fixed: "flag?",
      answer: "content json?",
      problem: "content text?",
    },
  ],
  "approval-give": [
    "must say",
    {
      of: "id",
      decision: "decision",
      digest: "digest",
      why: "content text?",
      edit: "content json?",
      value: "content json?",
    },
  ],
  "policy-set": ["runtime", { module: "text", policy: "text", version: "digest" }],
  "policy-decide": [
    "runtime",
    {
      of: "id",
      verdict: "verdict",
      policies: "json",
      rules: "json",
      for: "json?",
      approvals: "json?",
      labels: "json?",
      why: "content text?",
    },
  ],
  "validation-report": [
    "tool",
    { name: "text", passed: "flag", score: "number?", detail: "content json?", of: "id?" },
  ],
  "budget-set": ["user", { limits: "limits" }],
  "budget-stop": ["runtime", { limit: "text", allowed: "number", spent: "number", asked: "number" }],
  "content-erase": ["must say", { digests: "digests", why: "text" }],
  "head-sign": ["must say", { of: "id", key: "text", signature: "text" }],
  "record-import": [
    "runtime",
    { format: "text", source: "content text", digest: "digest", detail: "content json?" },
  ],
  note: ["user", { kind: "text?" }],
};

/** What each field of each fact must be. */
export const shapes = Object.fromEntries(
  Object.entries(table).map(([type, [, fields]]) => [type, fields]),
) as { readonly [Type in FactType]: Shape<Type> };

const roles: { readonly [role: string]: PrincipalKind } = {
  user: "user",
  assistant: "agent",
  system: "runtime",
};
const stamps = new Set(["type", "at", "by", "run", "seq"]);
/** Type, time and author: every fact has them. */
const STAMPED = 3;
const date = /^\d{4}-\d\d-\d\d(T|$)/;
const hex64 = /^[0-9a-f]{64}$/;

/** The rules of one type, split once: appending is the hottest path there is. */
type Checks = {
  readonly by: Author;
  readonly open: boolean;
  readonly fields: readonly { name: string; kind: Kind; optional: boolean }[];
  readonly known: ReadonlySet<string>;
};
const checks = new Map<string, Checks>(
  Object.entries(table).map(([type, [by, shape]]) => {
    const fields = Object.entries(shape).map(([name, rule]) => {
      const kind = rule.replace("content ", "").replace("?", "") as Kind;
      return { name, kind, optional: rule.endsWith("?") };
    });
    return [type, { by, open: type === "note", fields, known: new Set(fields.map((field) => field.name)) }];
  }),
);

/**
 * Throws a `FactError` unless the fact is one of the union, and says who did it where `by` is null. `now` is a time
 * that is known to be one.
 */
export function checkShape(value: { [field: string]: Json }, now: string): void {
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
  let known = STAMPED + (value.run === undefined ? 0 : 1) + (value.seq === undefined ? 0 : 1);
  for (const field of check.fields) {
    const found = value[field.name];
    if (found === undefined && field.optional) continue;
    known += 1;
    if (!is(field.kind, found, true)) {
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
  if (value.by === null) value.by = authorOf(type, check.by, value.role);
  else if (!isPrincipal(value.by)) {
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

function authorOf(type: string, by: Author, role: Json | undefined): PrincipalKind {
  if (by === "must say")
    throw new FactError(type, "it does not say who decided", 'say who: { by: "user:ada", … }');
  return by === "by role" ? (roles[role as string] as PrincipalKind) : by;
}

/**
 * The field that is missing or of the wrong kind in a fact from a line, if any. Unknown types, further
 * fields and further words for a role or a kind of part are a newer version's and pass; what `outside` names is in a blob and is not looked at.
 */
export function flawOf(
  fact: { readonly [field: string]: unknown },
  outside: { readonly [field: string]: unknown },
): string | undefined {
  const { type } = fact;
  for (const { name, kind, optional } of checks.get(type as string)?.fields ?? []) {
    if (Object.hasOwn(outside, name) || (optional && !Object.hasOwn(fact, name))) continue;
    if (!Object.hasOwn(fact, name) || !is(kind, fact[name], false)) return name;
  }
  return undefined;
}

/** Whether what a blob holds is what its field must be. */
export function isFit(type: string, field: string, value: unknown): boolean {
  const kind = checks.get(type)?.fields.find(({ name }) => name === field)?.kind;
  return kind === undefined || is(kind, value, false);
}

/** Whether a field is content: what was said or done, as opposed to the structure that says where and when. */
export function isContent(type: string, field: string): boolean {
  if (stamps.has(field)) return false;
  if (type === "note") return field !== "kind";
  return ruleOf(type, field)?.startsWith("content") ?? true;
}

/** Whether a field that is not content may be kept in a blob when it is long: lists and data, never what views are made of. */
export function isBulky(type: string, field: string): boolean {
  return BULKY.test(ruleOf(type, field) ?? "");
}

const BULKY = /^(json|ids|digests|paths|candidates|limits|evidence)\??$/;

/** None for a fact of a newer version. */
function ruleOf(type: string, field: string): Rule | undefined {
  const shape = Object.hasOwn(shapes, type)
    ? (shapes[type as FactType] as { readonly [field: string]: Rule })
    : {};
  return Object.hasOwn(shape, field) ? shape[field] : undefined;
}

const describe = {
  id: "the id of a session (64 hex digits)",
  digest: "a SHA-256 digest (64 hex digits)",
  "digest or null": "a SHA-256 digest (64 hex digits) or null",
  text: "a string",
  "text or null": "a string or null",
  number: "a number",
  "number or null": "a number or null",
  size: "a whole number, not negative",
  flag: "true or false",
  role: '"user", "assistant" or "system"',
  effect: '"pure", "read", "idempotent" or "write"',
  decision: '"approve", "reject" or "take-over"',
  verdict: '"allow", "ask" or "deny"',
  settlement: '"done", "failed" or "again"',
  origin: "an object with the texts run and start and a list of leaves",
  side: '"ours", "theirs", "both" or the place of a parent in the list',
  json: "given",
  given: "given",
  place: "an object that names a sandbox",
  words: "a string or a list of parts, each with a known type and its fields",
  messages: "a list of messages, each with a role and what it says",
  failure: "an object with the texts name and message",
  ids: "a list of ids",
  digests: "a list of SHA-256 digests",
  evidence: "a list of at least one id",
  paths: 'a list of { path, change: "add" | "modify" | "delete" }',
  candidates: "a list of objects, each with a name",
  hits: "a list of objects, each with the id of a memory and a score",
  limits: "an object of numbers",
  usage: "an object with the numbers input and output, not negative",
} as const;

type Fields = { readonly [field: string]: unknown };

/** Strictly, for what is made here; else only as far as views and those who show a fact depend on it. */
function is(kind: Kind, value: unknown, strict: boolean): boolean {
  switch (kind) {
    case "id":
    case "digest":
      return typeof value === "string" && hex64.test(value);
    case "digest or null":
      return value === null || is("digest", value, strict);
    case "text":
      return typeof value === "string";
    case "text or null":
      return value === null || typeof value === "string";
    case "number":
      return typeof value === "number";
    case "number or null":
      return value === null || typeof value === "number";
    case "size":
      return Number.isSafeInteger(value) && (value as number) >= 0;
    case "flag":
      return typeof value === "boolean";
    case "verdict":
      return typeof value === "string" && (!strict || ["allow", "ask", "deny"].includes(value));
    case "role":
      return typeof value === "string" && (!strict || Object.hasOwn(roles, value));
    case "effect":
      return typeof value === "string" && (!strict || effects.has(value));
    case "decision":
      return typeof value === "string" && (!strict || decisions.has(value));
    case "settlement":
      return typeof value === "string" && (!strict || settlements.has(value));
    case "origin":
      return (
        isObject(value) &&
        typeof value.run === "string" &&
        is("id", value.start, strict) &&
        is("ids", value.leaves, strict)
      );
    case "side":
      return value === "ours" || value === "theirs" || value === "both" || is("size", value, strict);
    case "json":
    case "given":
      return value !== undefined;
    case "place":
      return typeof (value as { sandbox?: unknown } | null | undefined)?.sandbox === "string";
    case "words":
      return typeof value === "string" || isList(value, (part) => isPart(part, strict));
    case "messages":
      return isList(value, (message) => isMessage(message, strict));
    case "failure":
      return isObject(value) && typeof value.name === "string" && typeof value.message === "string";
    case "ids":
    case "digests":
      return Array.isArray(value) && value.every((id) => is("id", id, strict));
    case "evidence":
      return Array.isArray(value) && value.length > 0 && value.every((id) => is("id", id, strict));
    case "paths":
      return isList(
        value,
        ({ path, change }) =>
          !strict || (typeof path === "string" && typeof change === "string" && changes.has(change)),
      );
    case "candidates":
      return isList(value, ({ name }) => !strict || typeof name === "string");
    case "hits":
      return isList(
        value,
        ({ memory, score }) => !strict || (is("id", memory, strict) && typeof score === "number"),
      );
    case "limits":
      return isObject(value) && Object.values(value).every((limit) => typeof limit === "number");
    case "usage":
      return isUsage(value);
  }
}

const effects: ReadonlySet<string> = new Set(["pure", "read", "idempotent", "write"]);
const decisions: ReadonlySet<string> = new Set(["approve", "reject", "take-over"]);
const settlements: ReadonlySet<string> = new Set(["done", "failed", "again"]);
const changes: ReadonlySet<string> = new Set(["add", "modify", "delete"]);
/** The fields that each type of part must have; all are text; any JSON is in `carried`. */
const parts = new Map<string, readonly string[]>([
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
const carried = new Map<string, string>([
  ["tool-call", "input"],
  ["tool-result", "output"],
  ["source", "source"],
  ["other", "value"],
]);

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isList(value: unknown, test: (item: Fields) => boolean): boolean {
  return Array.isArray(value) && value.every((item) => isObject(item) && test(item));
}

function isPart(part: Fields, strict: boolean): boolean {
  if (typeof part.type !== "string") return false;
  const fields = parts.get(part.type);
  if (fields === undefined) return !strict;
  const given = carried.get(part.type);
  if (given !== undefined && part[given] === undefined) return false;
  return fields.every((field) => typeof part[field] === "string");
}

function isMessage(message: Fields, strict: boolean): boolean {
  if (message.author !== undefined && typeof message.author !== "string") return false;
  if (message.role !== "tool")
    return is("role", message.role, strict) && is("words", message.content, strict);
  const { call, name, error } = message;
  if (error !== undefined && !is("failure", error, strict)) return false;
  return typeof call === "string" && typeof name === "string";
}

/** Sums are made of these: one that is not a number would spoil the sum for ever. */
function isUsage(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { input, output, cached = 0, reasoning = 0 } = value;
  return isAmount(input) && isAmount(output) && isAmount(cached) && isAmount(reasoning);
}

function isAmount(count: unknown): boolean {
  return typeof count === "number" && count >= 0 && count <= Number.MAX_SAFE_INTEGER;
}
