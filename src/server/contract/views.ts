import { dollars, factRow, id, rowFields, milliseconds as time } from "./rows.js";
import {
  always,
  anything,
  choice,
  cursors,
  either,
  fields,
  flag,
  integer,
  list,
  nullable,
  number,
  object,
  optional,
  page,
  record,
  text,
  tuple,
} from "./schema.js";

/** The answers of the pages about one session: the shapes of `pages(store)` in `openrath/evidence`. */

const whole = integer();
export const LEVELS = ["run", "turn", "step", "fact"] as const;

const shownFields = fields({
  text: text({ description: "the content, or its beginning" }),
  size: integer({ description: "characters of the whole; bytes where it was not read" }),
  json: optional(always()),
  blob: optional(id("the blob that holds all of it")),
  gone: optional(text({ description: "why it is not there: erased, ..." })),
});
export const shown = object(shownFields, "Shown");

export const graphPage = object(
  {
    level: choice(LEVELS),
    page: whole,
    first: integer({ description: "the number of its first row" }),
    rows: list(
      object(
        { ...rowFields, lane: whole, column: whole, facts: whole, last: id("the newest fact of the row") },
        "GraphRow",
      ),
    ),
    lanes: list(tuple(whole, whole, whole, whole, whole, whole), {
      description: "lines: lane, column, from row, to row, branch, colour",
    }),
    bends: list(tuple(whole, whole, whole, whole), { description: "row, from column, to column, lane" }),
    ports: list(tuple(whole, whole), {
      description: "lines that are too long to be drawn: from row, to row",
    }),
    sealed: flag({ description: "nothing that is appended changes this page" }),
    etag: id("the SHA-256 of the page"),
  },
  "GraphPage",
);

const branchRow = object(
  {
    id: whole,
    name: text(),
    begin: id("its first fact"),
    from: nullable(id("the fact that it left")),
    head: id("where it stands"),
    state: text(),
    fate: choice(["open", "accepted", "rejected", "what-if", "merged"]),
    reason: optional(text()),
    facts: whole,
  },
  "BranchRow",
);

export const graphSummary = object(
  {
    head: id("where the session stands"),
    state: text(),
    rows: object({ run: whole, turn: whole, step: whole, fact: whole }),
    branches: list(branchRow),
    moreBranches: whole,
    buckets: list(list(whole), { description: "of each stretch of facts: steps, failures, waits, forks" }),
    open: list(text(), { description: "requests that nothing has answered" }),
  },
  "GraphSummary",
);

const commandRow = object({
  id: id("the fact"),
  command: shown,
  outcome: text(),
  code: nullable(integer()),
  ms: number(),
  stdout: optional(shown),
  stderr: optional(shown),
});

const callFields = fields({
  id: id("the fact that asks"),
  tool: text(),
  input: shown,
  effect: optional(text()),
  state: choice(["open", "done", "failed", "in-doubt"]),
  outcome: optional(shown),
  result: optional(id("the fact of its outcome")),
  ms: optional(number()),
  attempts: whole,
  tries: list(shown, { description: "the failure of each attempt that was repeated" }),
  commands: list(commandRow),
  files: list(object({ fact: text(), path: text(), change: text() })),
  notes: list(factRow),
  taken: optional(id("the outcome was taken from this fact of an earlier run")),
});

const turnPart = either(
  object({ type: choice(["text", "reasoning"]), ...shownFields }),
  object({ type: choice(["call"]), ...callFields }),
  object({
    type: choice(["image"]),
    fact: id("the message"),
    part: integer({ description: "its place: GET .../parts/{fact}/{part} has the bytes" }),
    media: text(),
    name: optional(text()),
    digest: optional(text()),
    size: optional(whole),
    url: optional(text({ description: "its address, where the record has no bytes; nobody has loaded it" })),
  }),
  object({ type: choice(["notice"]), row: factRow }),
);

export const turn = object(
  {
    id: id("its first fact"),
    index: whole,
    role: choice(["user", "assistant", "system", "notice"]),
    parts: list(turnPart),
    at: time,
    by: text(),
    branch: text(),
    module: optional(text()),
    model: optional(text()),
    usage: optional(
      object({
        input: number(),
        output: number(),
        cached: optional(number()),
        reasoning: optional(number()),
        cost: dollars,
        milliseconds: optional(number()),
      }),
    ),
    taken: optional(id("the reply was taken from this fact")),
    open: optional(always()),
    more: optional(integer({ description: "facts that were not read" })),
  },
  "Turn",
);

export const span = object(
  {
    id: id("where it began"),
    index: whole,
    parent: optional(id("the module or the call that it happened in")),
    kind: choice(["model", "tool", "step", "command", "wait", "module"]),
    name: text(),
    branch: text(),
    from: time,
    to: optional(time),
    ms: optional(number()),
    state: choice(["open", "done", "failed", "in-doubt", "waiting"]),
    outcome: optional(id("the fact that ended it")),
    taken: optional(id("the outcome was taken from this fact")),
    tokens: optional(object({ input: number(), output: number() })),
    cost: optional(dollars),
    retries: whole,
  },
  "Span",
);

const sums = fields({ calls: whole, tokens: number(), cost: dollars, latency: number(), longest: number() });
export const series = object(
  {
    from: time,
    to: time,
    buckets: list(object({ from: number(), ...sums })),
    total: object(sums),
    idle: list(tuple(number(), number()), { description: "pauses of more than 30 s: from, to" }),
  },
  "Series",
);

export const fileRow = object(
  {
    path: text(),
    kind: choice(["file", "directory", "link"]),
    mode: optional(text()),
    size: optional(whole),
    digest: optional(text()),
    change: optional(choice(["added", "changed", "removed"])),
  },
  "FileRow",
);

const side = anything("one side: kind, digest, size, mode");
export const fileDiff = object(
  {
    path: text(),
    hunks: list(object({ oldStart: whole, newStart: whole, lines: list(text()) })),
    binary: optional(always()),
    before: optional(side),
    after: optional(side),
    more: optional(integer({ description: "lines that are left out" })),
  },
  "FileDiff",
);

export const blameLine = object(
  {
    from: whole,
    to: whole,
    lines: list(text()),
    fact: optional(id("what wrote them")),
    by: optional(text()),
    at: optional(text()),
    branch: optional(text()),
    call: optional(text()),
    tool: optional(text()),
    prompt: optional(text({ description: "the call of the model that wanted it" })),
    model: optional(text()),
  },
  "BlameLine",
);

export const conflictRow = object(
  {
    path: text(),
    kind: text(),
    merge: optional(id("the merge that left it")),
    base: optional(shown),
    ours: optional(shown),
    theirs: optional(shown),
    result: optional(shown),
  },
  "ConflictRow",
);

const pair = tuple(nullable(number()), nullable(number()));
export const compare = object(
  {
    ancestor: nullable(id("the newest fact that both have")),
    common: whole,
    a: object({ head: text() }),
    b: object({ head: text() }),
    rows: list(
      object({
        kind: choice(["message", "call", "check", "memory", "other"]),
        a: optional(factRow),
        b: optional(factRow),
        same: flag(),
        diff: optional(text({ description: "the paths of the values that differ" })),
        values: optional(list(object({ path: text(), a: optional(shown), b: optional(shown) }))),
      }),
    ),
    sums: object({
      facts: pair,
      passed: pair,
      failed: pair,
      calls: pair,
      tokens: pair,
      cost: pair,
      ms: pair,
    }),
    more: integer({ description: "steps that were not paired" }),
    ...cursors,
  },
  "Compare",
);

export const memorySpace = object(
  { space: text(), head: nullable(text()), memories: whole, counts: record(integer()) },
  "MemorySpace",
);

export const memoryRow = object(
  {
    id: id("the fact that wrote it"),
    space: text(),
    text: text(),
    state: text({ description: "live, held, revoked, expired, merged" }),
    trust: text(),
    at: text(),
    by: text(),
    subject: optional(text()),
    told: integer({ description: "readings that found it, or a memory that came of it" }),
    why: list(text(), { description: "the facts that it rests on" }),
    contradicts: list(text()),
    reason: optional(text({ description: "why it is no longer live" })),
  },
  "MemoryRow",
);

export const memoryWhy = object(
  {
    memory: text(),
    space: text(),
    versions: list(anything("how it was written and changed")),
    nodes: list(anything("the facts behind it: id, type, text, by, at, ground")),
    edges: list(object({ from: text(), to: text(), relation: text() })),
    leaves: list(anything("the evidence that all of it rests on")),
    more: flag(),
  },
  "MemoryWhy",
);

export const influence = object(
  {
    memory: text(),
    prompts: list(factRow, { description: "readings that found it: they stand in prompts" }),
    decisions: list(factRow),
    sessions: list(anything("sessions that it reached: name, id, first, before")),
    memories: list(anything("memories that came of it: id, space, text")),
    totals: object({ facts: whole, reads: whole, decisions: whole, direct: whole, memories: whole }),
    more: flag({ description: "a list is not all there is" }),
  },
  "Influence",
);

export const prompt = object(
  {
    items: list(object({ role: text(), content: shown })),
    ...cursors,
    call: nullable(id("the call of the model")),
    digest: nullable(text()),
    rendered: flag({ description: "the messages are those whose digest the call recorded" }),
    characters: whole,
    messages: whole,
    claims: list(object({ text: text(), facts: list(text()) })),
    gaps: list(text()),
  },
  "Prompt",
);

const sectionName = object({ section: text(), title: text() });
export const sections = page(sectionName);
export const dossierSection = object(
  {
    section: text(),
    title: text(),
    sections: list(sectionName),
    content: anything("the parts of the dossier in this section"),
  },
  "DossierSection",
);
