import { ROLES } from "./route.js";
import {
  anything,
  choice,
  cursors,
  fields,
  flag,
  integer,
  list,
  nullable,
  number,
  object,
  optional,
  page,
  text,
  type ValueOf,
} from "./schema.js";

/** A SHA-256 in hex: of a record line, or of bytes. */
export const id = (what: string) => text({ pattern: "^[0-9a-f]{64}$", description: what });
export const dollars = nullable(number({ description: "US dollars; null when a price is not known" }));
const when = text({ description: "a time in ISO 8601" });
export const milliseconds = nullable(
  number({ description: "epoch milliseconds; null where the record says no time" }),
);

const origin = object(
  {
    kind: choice(["fork", "what-if", "import"]),
    of: text({ description: "the fact in the other session, or the format of an import" }),
    name: optional(text({ description: "the other session, where the caller may see it" })),
  },
  "Origin",
);

export const sessionRow = object(
  {
    name: text(),
    head: id("the newest fact"),
    state: text({ description: "finished, open, waiting, failed, cancelled, in-doubt" }),
    title: text({ description: "the task, at most 120 characters" }),
    text: text({ description: "the newest answer, at most 240 characters" }),
    module: optional(text()),
    facts: integer(),
    branches: integer(),
    tokens: integer(),
    cost: dollars,
    models: list(text()),
    tools: list(text()),
    people: list(text()),
    failures: integer(),
    waits: integer({ description: "the questions to people so far" }),
    startedAt: when,
    changedAt: when,
    origin: optional(origin),
    spaces: list(text(), { description: "the memory spaces that were read" }),
  },
  "SessionRow",
);

export const rowFields = fields({
  id: id("the SHA-256 of the record line"),
  index: optional(integer({ description: "its place in the order of recording" })),
  type: text(),
  kind: text({ description: "the family of facts" }),
  tone: choice(["good", "bad", "warn", "quiet", "what-if", "plain"]),
  label: text({ description: "the event in words; reads as a sentence after `by`" }),
  text: optional(text({ description: "the message, or the outcome" })),
  at: milliseconds,
  by: text(),
  branch: optional(text()),
  module: optional(text()),
  call: optional(id("the request that it is about")),
  flags: list(choice(["waiting", "failed", "in-doubt", "taken", "erased"])),
});
export const factRow = object(rowFields, "FactRow");

export const fact = object(
  {
    id: id("the SHA-256 of the line"),
    name: nullable(text({ description: "a session that contains the fact" })),
    parents: list(text()),
    children: list(text(), { description: "a hundred at most" }),
    row: factRow,
    line: text({ description: "its SHA-256 is the id" }),
    fact: anything("the fact as docs/format.md tells it; content of more than 4 MB is named by its blob"),
  },
  "Fact",
);

export const hit = object(
  {
    id: id("the fact"),
    name: text({ description: "the session that it was found in first" }),
    type: text(),
    at: when,
    by: text(),
    label: text(),
    snippet: list(text(), {
      minItems: 3,
      maxItems: 3,
      description: "the text before the first match, the match, and the text after it",
    }),
  },
  "Hit",
);

export const pendingRow = object(
  {
    name: text(),
    session: id("the newest fact of the session"),
    request: id("the fact that asks"),
    kind: choice(["approval", "question", "signal", "doubt", "timer"]),
    of: list(text(), { description: "the people who may answer; empty when nobody is named" }),
    what: text(),
    digest: optional(text({ description: "an answer must name it" })),
    input: optional(anything("the call exactly as it would be executed")),
    escaped: optional(flag({ description: "invisible characters are shown as escapes" })),
    answer: optional(anything("the JSON Schema of an answer")),
    changed: optional(anything("who changed the arguments, and those before")),
    rule: optional(text()),
    why: optional(text()),
    problem: optional(text({ description: "why the request is asked again" })),
    tool: optional(id("the call that it is about")),
    since: when,
    deadline: optional(when),
    may: flag({ description: "whether the caller may answer it" }),
    answered: flag(),
  },
  "PendingRow",
);

export const origins = object(
  {
    name: text(),
    from: list(object({ kind: text(), of: text(), name: optional(text()) }), {
      description: "its origin, the origin of that, and so on",
    }),
    items: list(sessionRow, { description: "the sessions that were made from it" }),
    spaces: list(text(), { description: "the memory spaces that it read" }),
    ...cursors,
  },
  "Origins",
);

/** The answer of the record to a question: `Answer` of the library. */
export const answer = object(
  {
    question: text(),
    answer: text(),
    claims: list(object({ text: text(), facts: list(text(), { minItems: 1 }) })),
    facts: list(
      object({
        id: id("the fact"),
        type: text(),
        at: text(),
        by: text(),
        run: optional(text()),
        branch: optional(text()),
        excerpt: text(),
        line: optional(text()),
      }),
    ),
    gaps: list(text(), { description: "the parts that the record cannot answer" }),
    detail: optional(anything("the same for programs")),
    next: optional(nullable(text({ description: "the cursor of the next part, for `after`" }))),
  },
  "Answer",
);

export const grant = object({ roles: list(choice(ROLES)), under: text() }, "Grant");

export const me = object(
  {
    principal: text({ description: "the verified identity; every action is recorded with it" }),
    grants: list(grant),
    via: choice(["token", "oidc", "single", "cookie"]),
    single: flag({ description: "whether this is a server for one person" }),
    store: text(),
    modules: list(text()),
  },
  "Me",
);

export const questions = page(
  object({ name: text(), takes: list(text(), { description: "the parameters that it reads" }) }, "Question"),
);

export type SessionRow = ValueOf<typeof sessionRow>;
export type FactRow = ValueOf<typeof factRow>;
export type PendingRow = ValueOf<typeof pendingRow>;
