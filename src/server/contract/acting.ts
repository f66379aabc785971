import { route } from "./route.js";
import { id } from "./rows.js";
import { anything, choice, flag, input, integer, list, object, optional, text } from "./schema.js";

const name = (what: string) => text({ minLength: 1, maxLength: 512, description: what });
const module = name("one of `modules` in GET /api/me");
const why = optional(text({ maxLength: 4096, description: "the reason, for the record" }));
const words = text({ maxLength: 1_000_000 });

/** How a run stands. */
const ran = object(
  {
    name: text({ description: "the name of its session" }),
    id: text({ description: "its newest fact" }),
    state: text({ description: "running, finished, waiting, failed, cancelled or open" }),
    text: optional(text({ description: "the newest answer" })),
    error: optional(anything("the failure that ended it, as the record has it")),
  },
  "Ran",
);

const request = {
  request: id("the fact that asks, from GET /api/pending"),
  digest: optional(text({ description: "the digest of the content shown; required if the request has one" })),
};
const answered = object({
  id: id("the fact of the answer"),
  resumed: flag({ description: "whether the server continues the run now" }),
});

const change = {
  from: id("the fact to go on from"),
  as: optional(name("the name of the new session")),
  name: optional(name("the same as `as`")),
  module: optional(module),
  instruction: optional(words),
  input: optional(anything("other arguments of the call")),
  answer: optional(anything("another outcome of the call")),
};
const confirmed = {
  digest: text({ pattern: "^[0-9a-f]{64}$", description: "the digest of the plan" }),
  allowed: optional(list(text(), { description: "the writes of the plan that may happen again" })),
  wait: optional(flag()),
};

/** The operations that change something. */
export const acting = {
  start: route({
    method: "POST",
    path: "/api/start",
    summary: "Exchanges a start token or a bearer token for a cookie of this browser",
    role: "anyone",
    body: input({ token: text({ minLength: 1, maxLength: 8192 }) }),
    answer: object({ principal: text() }),
  }),
  leave: route({
    method: "POST",
    path: "/api/leave",
    summary: "Ends the cookie of this browser",
    role: "anyone",
    answer: object({}),
  }),
  run: route({
    method: "POST",
    path: "/api/runs",
    summary:
      "Starts a run, or with `turn` continues a conversation; the run continues when the caller disconnects",
    role: "member",
    body: input({
      module,
      name: optional(name("the name of the session; without it one is made")),
      text: optional(words),
      input: optional(anything("in place of text: JSON, which the module reads as text")),
      turn: optional(flag({ description: "adds the text to the conversation with this name" })),
      wait: optional(flag({ description: "responds when the run has ended or waits" })),
    }),
    answer: ran,
  }),
  resume: route({
    method: "POST",
    path: "/api/sessions/{name}/resume",
    summary: "Continues a run that crashed or waits; finished effects are not repeated",
    role: "run",
    body: input({ module: optional(module), wait: optional(flag()) }),
    answer: ran,
  }),
  stream: route({
    method: "POST",
    path: "/api/sessions/{name}/stream",
    summary:
      "Events of the run, server-sent; with a module the run is resumed first, with text a turn is taken",
    role: "member",
    body: input({ module: optional(module), text: optional(words) }),
    answer: { media: "text/event-stream" },
  }),
  cancel: route({
    method: "POST",
    path: "/api/sessions/{name}/cancel",
    summary: "Cancels the run with this name",
    role: "run",
    body: input({ why, module: optional(module) }),
    answer: object({ cancelled: flag() }),
  }),
  approve: route({
    method: "POST",
    path: "/api/sessions/{name}/approve",
    summary: "Approves exactly what was shown",
    role: "approve",
    body: input({ ...request, why, always: optional(choice(["arguments", "tool"])) }),
    answer: answered,
  }),
  reject: route({
    method: "POST",
    path: "/api/sessions/{name}/reject",
    summary: "Rejects a request; the model can read the reason",
    role: "approve",
    body: input({ ...request, why }),
    answer: answered,
  }),
  edit: route({
    method: "POST",
    path: "/api/sessions/{name}/edit",
    summary: "Approves these arguments instead of the ones shown",
    role: "approve",
    body: input({ ...request, why, input: anything("the arguments") }),
    answer: answered,
  }),
  answer: route({
    method: "POST",
    path: "/api/sessions/{name}/answer",
    summary: "Answers a question, a signal, or a call that a person does",
    role: "approve",
    body: input({ ...request, value: anything("the answer") }),
    answer: answered,
  }),
  settle: route({
    method: "POST",
    path: "/api/sessions/{name}/settle",
    summary: "Settles a write in doubt with its outcome",
    role: "approve",
    body: input({
      ...request,
      why,
      happened: optional(flag({ description: "true means the outcome done, false means failed" })),
      outcome: optional(choice(["done", "failed", "again"])),
      value: optional(anything("the result of what was done")),
    }),
    answer: answered,
  }),
  fork: route({
    method: "POST",
    path: "/api/sessions/{name}/fork",
    summary: "Starts a branch from any point, under its own name",
    role: "view",
    body: input({
      as: name("the name of the new session"),
      head: optional(id("a fact of the session; left out, its newest")),
      branch: optional(name("the name of the branch; left out, that of the session")),
      why,
    }),
    answer: object({ name: text(), id: id("its newest fact"), from: text(), branch: text() }),
  }),
  merge: route({
    method: "POST",
    path: "/api/sessions/{name}/merge",
    summary: "Merges two sessions and their files",
    role: "view",
    body: input({
      theirs: name("the other session"),
      as: optional(name("the name of the merged session; left out, ours goes on")),
      files: optional(
        anything('for files in conflict: "ours", "theirs", or {"path": "ours" | "theirs" | {"text": "…"}}'),
      ),
      adopt: optional(choice(["ours", "theirs", "both", "none"])),
      why,
    }),
    answer: ran,
  }),
  replay: route({
    method: "POST",
    path: "/api/sessions/{name}/replay",
    summary: "Replays the program against its record, and says whether the result is the same",
    role: "run",
    body: input({ module: optional(module), until: optional(id("ends at this fact")) }),
    answer: object({ same: flag(), id: text(), difference: optional(anything("where it differs")) }),
  }),
  rerunPlan: route({
    method: "POST",
    path: "/api/sessions/{name}/rerun/plan",
    summary:
      "The outcomes that a rerun from a fact takes from the record, and its real effects; changes nothing",
    role: "view",
    body: input({ ...change }),
    answer: object({ digest: text(), sentence: text() }),
  }),
  rerun: route({
    method: "POST",
    path: "/api/sessions/{name}/rerun",
    summary: "Starts exactly the rerun of a plan",
    role: "view",
    body: input({ ...change, ...confirmed }),
    answer: ran,
  }),
  whatIf: route({
    method: "POST",
    path: "/api/sessions/{name}/what-if",
    summary: "An alias of rerun",
    role: "view",
    body: input({ ...change, ...confirmed }),
    answer: ran,
  }),
  erase: route({
    method: "POST",
    path: "/api/erase",
    summary: "Shows what would be erased and returns a token; with the token, erases it",
    role: "member",
    body: input({
      what: optional(
        input({
          about: optional(text({ minLength: 1, maxLength: 1024 })),
          by: optional(text({ minLength: 1, maxLength: 256 })),
          digests: optional(list(text({ minLength: 8, maxLength: 64 }), { maxItems: 1000 })),
          names: optional(list(name("a session"), { maxItems: 1000 })),
        }),
      ),
      why,
      basis: optional(
        text({
          maxLength: 1024,
          description: "the legal basis for erasing it before a retention floor ends",
        }),
      ),
      token: optional(text({ maxLength: 64 })),
    }),
    answer: object({
      erased: flag(),
      plan: optional(anything("what was found")),
      token: optional(text()),
      pieces: optional(integer()),
      facts: optional(list(text())),
      refusals: optional(anything("sessions that nothing could be erased from now, and why")),
      remains: optional(flag({ description: "whether some of it is still there" })),
      sound: optional(flag({ description: "whether the whole store verifies afterwards" })),
    }),
  }),
  revokeMemory: route({
    method: "POST",
    path: "/api/memory/{space}/{id}/revoke",
    summary: "Revokes a memory, and lists its influence",
    role: "member",
    body: input({ why: text({ minLength: 1, maxLength: 4096 }) }),
    answer: object({
      memory: text(),
      version: text(),
      head: text(),
      totals: anything("how much it had reached"),
      sessions: anything("the sessions that it had reached, as far as the caller may see them"),
    }),
  }),
};
