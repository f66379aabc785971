// @ts-check
// A memory with its reasons, from the failure that taught it to its undoing: `npm run example -- memory`.
// Nothing here needs a key: the models are scripted, and say so.
import assert from "node:assert/strict";
import { agent, openRath, scripted, step, workflow } from "openrath";
import {
  influence,
  influenceText,
  memory,
  recallAgain,
  remembering,
  rollback,
  why,
  whyText,
} from "openrath/memory";
import { leaveDossier } from "./fixtures/leave-dossier.mjs";

/** The world: where the service really listens. Nobody but the check looks at it. */
let listening = 9090;

const notes = memory({ name: "notes", scope: "project:shop" });

/** Says what the documents say, unless a note says otherwise. */
const clerk = agent({
  name: "clerk",
  instructions: "Answer with the port alone.",
  model: scripted((prompt) => /not 8080 but (\d+)/.exec(JSON.stringify(prompt))?.[1] ?? "8080"),
});
const answering = remembering("answering", clerk, { from: notes, threshold: 0.2 });

const connect = step("connect", (/** @type {number} */ port) => port === listening, { effect: "read" });

/** Answers, and tries it. */
const attempt = workflow("attempt", { answering, connect }, async (session) => {
  const answered = await answering.forward(session);
  const [last] = answered.recent(1);
  const port = Number(last?.role === "assistant" ? last.content : Number.NaN);
  const { session: tried, value: passed } = await connect.call(answered, port);
  return tried.append({ type: "validation-report", name: "connects", passed, detail: { port } });
});

/** After a failure, and only then: what is to be done otherwise next time, with the failure as its reason. */
const learning = workflow("learning", { attempt }, async (session) => {
  const tried = await attempt.forward(session);
  const failed = [...tried.history()].findLast(({ fact }) => fact.type === "validation-report");
  if (failed === undefined || (failed.fact.type === "validation-report" && failed.fact.passed)) return tried;
  const { session: told } = await notes.write(tried, {
    text: "The shop service listens on port not 8080 but 9090; the documents are out of date.",
    because: [failed.id],
    source: "failed-attempt",
    by: "agent:clerk",
  });
  return told;
});

const rath = openRath({ store: "memory:" });
const store = await rath.store();
const question = "On which port does the shop service listen?";
const passedIn = (/** @type {import("openrath").Session} */ session) =>
  [...session.history()].some(({ fact }) => fact.type === "validation-report" && fact.passed);

const monday = await rath.run(learning, rath.start(question), { name: "monday" });
console.log(
  `monday:    the clerk answers from the documents: ${passedIn(monday) ? "connected" : "no connection"}`,
);
const space = notes.open(store);
const [lesson] = await space.list();
assert.ok(lesson !== undefined && !passedIn(monday));
console.log(`           it remembers: ${lesson.text}`);

const tuesday = await rath.run(learning, rath.start(question), { name: "tuesday" });
assert.ok(passedIn(tuesday));
console.log("tuesday:   the note is recalled, and the answer is right: connected");

listening = 8080;
const wednesday = await rath.run(attempt, rath.start(question), { name: "wednesday" });
assert.ok(!passedIn(wednesday));
console.log("wednesday: the service moved back; the note makes the answer wrong: no connection\n");

console.log(`why is it there?\n${whyText(await why(store, lesson.id))}\n`);
const reached = await influence(store, lesson.id);
console.log(`where did it go?\n${influenceText(reached)}\n`);
const names = reached.sessions.map(({ name }) => name);
assert.ok(names.includes("tuesday") && names.includes("wednesday") && !names.includes("monday"));

// Back to where the space stood before, with a reason; the sessions that it reached are forked to just before they were.
const first = [...(await store.load("memory/notes")).history()].find(
  ({ fact }) => fact.type === "memory-space",
);
assert.ok(first !== undefined);
const { undone, reached: undoing } = await rollback(space, first.id, {
  why: "the service is on 8080 again",
  by: "user:ada",
  fork: true,
});
assert.deepEqual(undone.memories, [lesson.id]);
const forks = undoing[0]?.forks?.forks ?? [];
console.log(
  `rolled back: ${undone.memories.length} memory; forked to just before: ${forks.map(({ name }) => name).join(", ")}`,
);

const thursday = await rath.run(attempt, rath.start(question), { name: "thursday" });
assert.ok(passedIn(thursday));
console.log("thursday:  the note is not recalled any more, and the answer is right: connected");
assert.equal((await (await space.at(undone.facts.at(-1) ?? "")).list()).length, 1);
console.log("           as of before it can still be read\n");

// What was recalled then can be asked again, as of then.
const read = [...tuesday.history()].find(({ fact }) => fact.type === "memory-read");
assert.ok(read !== undefined && (await recallAgain(store, read.id, notes.open)).same);
const modules = { monday: learning, tuesday: learning, wednesday: attempt, thursday: attempt };
for (const [name, module] of Object.entries(modules)) {
  const session = await store.load(name);
  assert.equal((await rath.replay(name, module, { mode: "verify" })).id, session.id);
}
console.log("all four days replayed without models, service or memory: same id");
await leaveDossier(store, "wednesday", "memory");
await rath.close();
