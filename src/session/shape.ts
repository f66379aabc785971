import { FactError } from "./error.js";
import type { FactBodies, FactType, Principal, PrincipalKind } from "./fact.js";
import type { Json } from "./json.js";
import { isPerson, isPrincipal, PRINCIPAL_KINDS } from "./principal.js";

/**
 * Who did it when nobody says, and what each field of each fact must be, checked when a fact is appended, for
 * callers the compiler did not check. A `?` marks an optional field; `content` marks what a person or a model said
 * or did, which the strictest setting keeps out of the line so that it can be erased; `personal` marks the content that is
 * kept out of it by default: words of people, memories, and copies of them. Long lists and data may leave
 * the line, all else stays, because views are made of it. The compiler keeps this table complete.
 */
type Kind = keyof typeof describe;
type Rule = `${"" | "content " | "personal "}${Kind}${"" | "?"}`;
type Shape<Type extends FactType> = {
  readonly [Field in keyof FactBodies[Type] as string extends Field ? never : Field]-?: Rule;
};
/** A guess about who decided would be false evidence for ever, so decisions have no default. */
type Author = PrincipalKind | "by role" | "must say";

const table: { readonly [Type in FactType]: readonly [by: Author, fields: Shape<Type>] } = {
  "session-start": ["user", { nonce: "text", text: "personal words?", inline: "size?", key: "text?" }],
  "session-detach": [
    "user",
    {
      nonce: "text",
      from: "id",
      why: "content text?",
      messages: "personal messages",
      placement: "place?",
      tree: "digest?",
      inline: "size?",
      key: "text?",
    },
  ],
  "message-say": ["by role", { role: "role", content: "content words", labels: "json?" }],
  "context-compress": [
    "agent",
    {
      from: "id",
      to: "id",
      summary: "personal text",
      of: "id?",
      policy: "text?",
      claims: "personal json?",
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
    {
      name: "text",
      input: "content json",
      call: "text?",
      effect: "effect?",
      key: "text?",
      source: "json?",
      labels: "json?",
    },
  ],
  "tool-result": [
    "tool",
    {
      of: "id",
      output: "content json",
      origin: "text?",
      edited: "personal json?",
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
      edited: "personal json?",
      milliseconds: "number?",
      from: "id?",
      redacted: "json?",
    },
  ],
  "step-call": [
    "agent",
    { name: "text", input: "content json?", effect: "effect?", key: "text?", labels: "json?" },
  ],
  "step-result": [
    "tool",
    {
      of: "id",
      value: "content json",
      origin: "text?",
      edited: "personal json?",
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
      edited: "personal json?",
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
      value: "personal json?",
      error: "personal failure?",
      why: "personal text?",
      digest: "digest?",
    },
  ],
  "timer-set": ["agent", { milliseconds: "number?", until: "text?" }],
  "timer-fire": ["runtime", { of: "id" }],
  "signal-await": ["agent", { name: "text", what: "content json?" }],
  "signal-give": ["must say", { of: "id", value: "personal json" }],
  "answer-take": ["runtime", { of: "id", answer: "id" }],
  "wait-cancel": ["runtime", { of: "id", why: "content text?", late: "flag?" }],
  "memory-space": ["must say", { space: "text", scope: "json", rules: "json?" }],
  "memory-read": [
    "agent",
    {
      space: "text",
      head: "id?",
      query: "personal json",
      hits: "personal hits",
      settings: "json?",
      shown: "personal text?",
      before: "text?",
      of: "id?",
      module: "texts?",
    },
  ],
  "memory-write": [
    "must say",
    {
      space: "text",
      text: "personal text",
      scope: "json",
      source: "text",
      because: "evidence",
      subject: "personal text?",
      origins: "json?",
      importance: "number?",
      expires: "text?",
      needs: "text?",
      contradicts: "ids?",
      merges: "ids?",
      meta: "personal json?",
      of: "id?",
    },
  ],
  "memory-revise": [
    "must say",
    {
      of: "id",
      text: "personal text",
      because: "evidence",
      source: "text?",
      origins: "json?",
      importance: "number?",
      expires: "text?",
      needs: "text?",
      meta: "personal json?",
      why: "personal text?",
      from: "id?",
    },
  ],
  "memory-revoke": [
    "must say",
    { of: "id", because: "ids?", why: "personal text", version: "id?", from: "id?" },
  ],
  "memory-promote": [
    "must say",
    { of: "id", because: "evidence", version: "id?", to: "json?", why: "personal text?", from: "id?" },
  ],
  "memory-expire": ["must say", { of: "id", because: "ids?", why: "personal text", from: "id?" }],
  "memory-link": ["must say", { of: "id", to: "id", relation: "text", why: "personal text?", from: "id?" }],
  "memory-rollback": ["must say", { to: "id", undoes: "ids", why: "personal text" }],
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
    { nonce: "text", module: "text", name: "text?", digests: "json?", from: "origin?", for: "principal?" },
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
      edited: "personal json?",
      fixed: "flag?",
      answer: "content json?",
      problem: "content text?",
      execution: "number?",
    },
  ],
  "approval-give": [
    "must say",
    {
      of: "id",
      decision: "decision",
      digest: "digest",
      why: "personal text?",
      edit: "personal json?",
      value: "personal json?",
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
    { format: "text", source: "personal text", digest: "digest", detail: "personal json?" },
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
/** The types that have a personal field, by any author. */
const PERSONAL: ReadonlySet<string> = new Set(
  Object.entries(shapes).flatMap(([type, shape]) =>
    Object.values(shape).some((rule: Rule) => rule.startsWith("personal ")) ? [type] : [],
  ),
);
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
      const kind = rule.replace(/^(content|personal) /, "").replace("?", "") as Kind;
      return { name, kind, optional: rule.endsWith("?") };
    });
    return [type, { by, open: type === "note", fields, known: new Set(fields.map((field) => field.name)) }];
  }),
);

/**
 * Throws a `FactError` unless the fact is one of the union, and says who did it where `by` is null. `now` is a time
 * that is known to be one; `actor` acts in place of the user, in a run.
 */
export function checkShape(value: { [field: string]: Json }, now: string, actor?: Principal): void {
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
  if (value.by === null) value.by = authorOf(type, check.by, value.role, actor);
  else if (!isPrincipal(value.by)) {
    throw new FactError(
      type,
      "`by` must say who",
      `use one of ${PRINCIPAL_KINDS.join(", ")}, with a name if you like: "user:ada"`,
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

function authorOf(type: string, by: Author, role: Json | undefined, actor: Principal = "user"): Principal {
  if (by === "must say")
    throw new FactError(type, "it does not say who decided", 'say who: { by: "user:ada", … }');
  const kind = by === "by role" ? (roles[role as string] as PrincipalKind) : by;
  return kind === "user" ? actor : kind;
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
  const rule = ruleOf(type, field);
  return rule === undefined || rule.startsWith("content ") || rule.startsWith("personal ");
}

/**
 * Whether a field holds words of a person, a memory, or a copy of either: what the table says, and all content of a fact
 * whose author or whose role makes it so.
 */
export function isPersonal(fact: Fields, field: string): boolean {
  const type = fact.type as string;
  if (ruleOf(type, field)?.startsWith("personal ") === true) return true;
  // The id of what a note belongs to is not somebody's words, and a replay finds the note by it.
  if (field === "of" && is("id", fact.of, true)) return false;
  return isOfPerson(fact) && isContent(type, field);
}

/** Whether any field of a fact can be personal: asked of every line, so it looks at no field. */
export function mayBePersonal(fact: Fields): boolean {
  return PERSONAL.has(fact.type as string) || isOfPerson(fact);
}

/**
 * Facts by people, messages in the role of a user by anybody, questions with arguments that a person changed, what goes into
 * or out of a memory, and what an import kept without knowing what it is.
 */
function isOfPerson({ type, by, role, kind, edited, name }: Fields): boolean {
  if (isPerson(by as string)) return true;
  switch (type) {
    case "message-say":
      return role === "user";
    case "note":
      return kind === "import-rest";
    case "approval-ask":
      return edited !== undefined;
    case "step-call":
      return OF_MEMORY.test(name as string);
    default:
      return false;
  }
}

/** How src/memory calls its steps: the record says no more about what a step is for. */
const OF_MEMORY = /^(?:(?:remember|revise|revoke|expire|promote|link) in|roll back|recall from) /;

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
  principal: "a principal, such as user:ada",
  side: '"ours", "theirs", "both", "none" or the place of a parent in the list',
  json: "given",
  given: "given",
  place: "an object that names a sandbox",
  words: "a string or a list of parts, each with a known type and its fields",
  messages: "a list of messages, each with a role and what it says",
  failure: "an object with the texts name and message",
  texts: "a list of strings",
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
    case "principal":
      return typeof value === "string" && (!strict || isPrincipal(value));
    case "origin":
      return (
        isObject(value) &&
        typeof value.run === "string" &&
        is("id", value.start, strict) &&
        is("ids", value.leaves, strict)
      );
    case "side":
      return (
        value === "ours" ||
        value === "theirs" ||
        value === "both" ||
        value === "none" ||
        is("size", value, strict)
      );
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
    case "texts":
      return Array.isArray(value) && value.every((text) => typeof text === "string");
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
