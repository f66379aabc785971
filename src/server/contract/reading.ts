import type { Route } from "./route.js";
import { answer, fact, factRow, hit, me, origins, pendingRow, questions, sessionRow } from "./rows.js";
import {
  anything,
  choice,
  flag,
  input,
  integer,
  list,
  object,
  optional,
  page,
  type Schema,
  text,
} from "./schema.js";
import {
  blameLine,
  compare,
  conflictRow,
  dossierSection,
  fileDiff,
  fileRow,
  graphPage,
  graphSummary,
  influence,
  LEVELS,
  memoryRow,
  memorySpace,
  memoryWhy,
  prompt,
  sections,
  series,
  span,
  turn,
} from "./views.js";

const word = (description: string) => optional(text({ maxLength: 400, description }));
const limit = optional(
  integer({ minimum: 1, maximum: 1000, description: "the maximum number of items in a page" }),
);
const after = optional(text({ maxLength: 4096, description: "the `next` of the previous page" }));
const listed = { limit, after };
const stretch = { ...listed, reverse: optional(flag({ description: "from the end" })) };
const head = word("a fact: the answer as of it, or of the branch that it ends");
const before = word("the fact to compare with; left out, before there were any files");
const path = text({ minLength: 1, maxLength: 4096, description: "a path in the files of the session" });
const none = input({});

const asking = {
  message: word("a message, by its id: for branch"),
  step: word("a step by its number, or any fact of it: for step, memory, saw"),
  path: optional(text({ maxLength: 4096, description: "for file" })),
  line: optional(integer({ minimum: 1, description: "for file" })),
  from: word("a time, a step or a fact: for between"),
  to: word("a time, a step or a fact: for between"),
  all: optional(flag({ description: "for between: every fact, including bookkeeping" })),
  principal: word("user:ada: for by"),
  memory: word("a memory: for ifFalse"),
  after: word("the `next` of the page before: answers about many facts come in pages"),
  limit,
};

/** The operations that only read. */
export const reading = {
  me: get("member", "/api/me", "The identity and the roles of the caller", me, none),
  sessions: get(
    "member",
    "/api/sessions",
    "The sessions that the caller may see, the one that changed last first",
    page(sessionRow),
    input({
      ...listed,
      under: word("only names that begin so"),
      order: optional(choice(["changed", "name"])),
      q: word("only sessions that say these words, or have them in their name"),
      state: optional(choice(["open", "waiting", "in-doubt", "failed", "finished", "cancelled"])),
      person: word("only sessions of this person: user:ada"),
      model: word("only sessions that called this model"),
      tool: word("only sessions that called this tool"),
      memory: word("only sessions that read this memory space"),
      origin: word("only sessions that came from this one, or were imported from this format"),
      failed: optional(flag({ description: "only sessions in which a call failed" })),
    }),
  ),
  session: get("view", "/api/sessions/{name}", "One session", sessionRow, none),
  facts: get(
    "view",
    "/api/sessions/{name}/facts",
    "The facts of a session, in the order of its history",
    page(factRow),
    input({
      ...stretch,
      type: optional(list(text(), { maxItems: 20, description: "only facts of these types" })),
      branch: word("only facts of this branch"),
      only: optional(choice(["failed", "waiting", "people", "fork"], { description: "of all branches" })),
    }),
  ),
  fact: get("view", "/api/sessions/{name}/facts/{id}", "One fact of a session", fact, none),
  factById: get("member", "/api/facts/{id}", "One fact, by its id", fact, none),
  graph: get(
    "view",
    "/api/sessions/{name}/graph",
    "256 rows of the graph with their lines: page `page`, the page of the fact `of`, or the newest",
    graphPage,
    input({
      level: optional(choice(LEVELS)),
      page: optional(integer({ minimum: 0 })),
      of: word("a fact of the graph"),
      head,
    }),
  ),
  summary: get(
    "view",
    "/api/sessions/{name}/graph/summary",
    "Rows of each level, branches and the minimap",
    graphSummary,
    input({ head }),
  ),
  turns: get(
    "view",
    "/api/sessions/{name}/turns",
    "The conversation, with calls, commands and files",
    page(turn),
    input({ ...stretch, head, of: word("a fact: the page begins with its turn") }),
  ),
  timeline: get(
    "view",
    "/api/sessions/{name}/timeline",
    "Calls, commands, waits and modules, in the order in which they began",
    page(span),
    input({ ...stretch, head }),
  ),
  series: get(
    "view",
    "/api/sessions/{name}/series",
    "Tokens, cost and latency over time",
    series,
    input({ buckets: optional(integer({ minimum: 1, maximum: 1000 })) }),
  ),
  prompt: get(
    "view",
    "/api/sessions/{name}/prompt",
    "The prompt of a model call as it was sent",
    prompt,
    input({ ...stretch, fact: text({ maxLength: 200, description: "the call, or a fact after it" }) }),
  ),
  files: get(
    "view",
    "/api/sessions/{name}/files",
    "One directory of the files",
    page(fileRow),
    input({ ...stretch, path: optional(path), head }),
  ),
  changes: get(
    "view",
    "/api/sessions/{name}/changes",
    "The paths that changed between two facts",
    page(fileRow),
    input({ ...stretch, before, head }),
  ),
  diff: get(
    "view",
    "/api/sessions/{name}/diff",
    "The difference of a file between two facts",
    fileDiff,
    input({ path, before, head }),
  ),
  file: get(
    "view",
    "/api/sessions/{name}/file",
    "The bytes of a file; with ranges",
    { media: "*/*" },
    input({ path, head }),
  ),
  blame: get(
    "view",
    "/api/sessions/{name}/blame",
    "The author of each stretch of lines of a file",
    page(blameLine),
    input({ ...stretch, path, head }),
  ),
  conflicts: get(
    "view",
    "/api/sessions/{name}/conflicts",
    "The conflicts in the files, or those that a merge would leave",
    page(conflictRow),
    input({ theirs: word("the session to merge with") }),
  ),
  part: get(
    "view",
    "/api/sessions/{name}/parts/{fact}/{part}",
    "A file of a message; with ranges",
    { media: "*/*" },
    none,
  ),
  blob: get(
    "member",
    "/api/blobs/{digest}",
    "Content by its digest; with ranges",
    { media: "*/*" },
    input({
      name: word("the session that has it"),
      fact: word("the fact of it that names the blob: needed by those who do not see all sessions"),
    }),
  ),
  compare: get(
    "member",
    "/api/compare",
    "Two sessions, branches or facts beside each other, from their nearest common ancestor on",
    compare,
    input({
      a: text({ minLength: 1, maxLength: 1024, description: "a session: name, name~3, name@branch" }),
      b: text({ minLength: 1, maxLength: 1024 }),
      ...stretch,
      differences: optional(flag({ description: "only rows that differ; true by default" })),
      kind: optional(choice(["message", "call", "check", "memory", "other"])),
    }),
  ),
  spaces: get("member", "/api/memory", "The memory spaces", page(memorySpace), input(stretch)),
  memories: get(
    "member",
    "/api/memory/{space}",
    "The memories of a space, in the order of writing",
    page(memoryRow),
    input({
      ...stretch,
      head: word("a fact of the space: the memories as of it"),
      q: word("only with these words"),
    }),
  ),
  memoryWhy: get(
    "member",
    "/api/memory/{space}/{id}/why",
    "The facts that a memory rests on",
    memoryWhy,
    none,
  ),
  influence: get(
    "member",
    "/api/memory/{space}/{id}/influence",
    "Everything that a memory reached",
    influence,
    none,
  ),
  questions: get("member", "/api/questions", "The questions that a record answers", questions, none),
  ask: get(
    "view",
    "/api/sessions/{name}/ask/{question}",
    "The answer of the record, with the facts that prove it",
    answer,
    input(asking),
  ),
  askAll: get(
    "member",
    "/api/ask/{question}",
    "The answer of the whole store to `by` or `ifFalse`; for those who see all of it",
    answer,
    input(asking),
  ),
  sections: get("audit", "/api/sessions/{name}/dossier", "The sections of the dossier", sections, none),
  section: get(
    "audit",
    "/api/sessions/{name}/dossier/{section}",
    "A section of the dossier; for those who may audit all sessions",
    dossierSection,
    none,
  ),
  verify: get(
    "audit",
    "/api/sessions/{name}/verify",
    "Checks every line, blob and signature: {checked, total} as progress, and {ok, checked, problems, more, report} at the end",
    { media: "application/x-ndjson" },
    none,
  ),
  export: get(
    "audit",
    "/api/sessions/{name}/export",
    "The session as a file: lines, bundle, html, otel, atif, ...",
    { media: "*/*" },
    input({
      format: word("lines by default; an unknown one is refused with those that there are"),
      content: optional(flag({ description: "includes content in formats that leave it out by default" })),
    }),
  ),
  search: get(
    "member",
    "/api/search",
    "Facts that say some words or have some values, those found last first",
    page(hit),
    input({
      ...listed,
      q: word("words that a fact says; the last one may be the beginning of a longer one"),
      type: word("message-say, tool-call, ..."),
      actor: word("user:ada"),
      tool: word("the tool of a call or its outcome"),
      model: word("the model of a call or its reply"),
      since: word("a time"),
      until: word("a time"),
    }),
  ),
  pending: get(
    "member",
    "/api/pending",
    "The requests that wait for people; a page is of at most 20 sessions",
    page(pendingRow),
    input({ ...listed, of: word("only what this person may answer: user:ada") }),
  ),
  origins: get(
    "member",
    "/api/origins/{name}",
    "Where a session comes from, and the sessions that came of it",
    origins,
    input(listed),
  ),
  openapi: get(
    "anyone",
    "/openapi.json",
    "This interface as an OpenAPI document",
    object({ openapi: text(), info: anything("title and version"), paths: anything("the operations") }),
    none,
  ),
  events: get(
    "member",
    "/api/events",
    "Events as they happen, server-sent: hello, move, pending, delta, erase, reset",
    { media: "text/event-stream" },
    none,
  ),
};

/** An operation that reads. */
function get<
  const Path extends string,
  const Who extends Route["role"],
  const Answer extends Route["answer"],
  Query extends Schema<object>,
>(role: Who, path: Path, summary: string, answer: Answer, query: Query) {
  return { method: "GET", path, summary, role, answer, query } as const;
}
