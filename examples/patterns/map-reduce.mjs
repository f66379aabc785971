// @ts-check
// Map and reduce over forks, one of which fails: `npm run example -- patterns/map-reduce`.
import assert from "node:assert/strict";
import { agent, openRath, scripted } from "openrath";
import { deedsOf, mapReduce } from "openrath/pattern";

const chapters = ["It was night.", "(a page is missing)", "It rained for days."];
const reader = agent({
  name: "reader",
  model: scripted((prompt) => {
    const asked = JSON.stringify(prompt.at(-1));
    if (asked.includes("missing")) throw new Error("the page cannot be read");
    return asked.includes("night") ? "dark" : "wet";
  }),
  retry: { attempts: 1 },
});
/** @type {string[]} */
const seen = [];
const editor = agent({
  name: "editor",
  model: scripted((prompt) => {
    seen.push(JSON.stringify(prompt));
    return "A dark and wet story; chapter 2 is lost.";
  }),
});

const report = mapReduce({
  name: "chapter",
  split: () => chapters,
  map: reader,
  reduce: editor,
  concurrency: 2,
});
const rath = openRath({ store: "memory:" });
const session = await rath.run(report, rath.start("Sum up the book."), { name: "book" });
for (const { branch, by, did } of deedsOf(session)) console.log(`  ${branch} | ${by} | ${did}`);

const [last] = session.recent(1);
assert.match(JSON.stringify(last), /dark and wet/);
// The editor saw each part with its branch, and the one that failed too.
assert.match(seen[0] ?? "", /Part 1 \(branch \\"chapter 1\\"\).*dark.*Part 2.*failed.*Part 3/);
assert.deepEqual(
  session.lineage
    .filter(({ kind }) => kind === "fork")
    .map(({ branch }) => branch)
    .sort(),
  ["chapter 1", "chapter 2", "chapter 3"],
);

assert.equal((await rath.replay("book", report, { mode: "verify" })).id, session.id);
console.log("\nreplayed without a model: same id");
await rath.close();
