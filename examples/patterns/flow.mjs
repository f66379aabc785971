// @ts-check
// A flow of events with a person in it, killed and resumed: `npm run example -- patterns/flow`. The models are scripts.
import assert from "node:assert/strict";
import { agent, openRath, scripted, workflow } from "openrath";
import { deedsOf, flow, keep, keptIn } from "openrath/pattern";
import { openStore } from "openrath/store";

let asked = 0;
/** @param {string} name @param {string[]} words */
const says = (name, ...words) =>
  agent({
    name,
    model: scripted((_prompt, turn) => {
      asked += 1;
      return words[turn] ?? "(nothing more to say)";
    }),
  });

const make = () =>
  flow({
    name: "article",
    steps: {
      draft: { run: says("writer", "Pencils are made of wood.") },
      style: { on: "draft", run: says("stylist", "Style: fine.") },
      facts: { on: "draft", run: says("checker", "Facts: the core is graphite.") },
      count: {
        on: { all: ["style", "facts"] },
        run: workflow("counting", async (session) =>
          keep(session, { reviews: Number(keptIn(session).reviews ?? 0) + 1 }),
        ),
      },
      judge: {
        on: { any: ["count", "rewrite"] },
        route: (session) => (JSON.stringify(session.recent(1)).includes("wood around") ? "good" : "bad"),
        labels: ["good", "bad"],
      },
      rewrite: {
        on: { any: ["bad", "no"] },
        run: says("editor", "Pencils are wood around graphite.", "Pencils: wood around graphite!"),
      },
      consent: { on: "good", ask: "Shall it be published?", labels: ["yes", "no"] },
      publish: { on: "yes", run: says("publisher", "Published.") },
    },
  });

// Each step of this program is another process, as far as the runtime can tell: nothing is left but the store.
const store = await openStore("memory:");
const first = openRath({ store });
assert.equal(
  (await first.run(make(), first.start("An article."), { name: "article" })).fact.type,
  "run-suspend",
);
assert.deepEqual(
  (await first.pending("article")).map(({ what }) => what),
  ["consent"],
);
await first.signal("article", "consent", { outcome: "no", feedback: "Livelier, please." }, "user:ada");

const second = openRath({ store });
await second.resume("article", make());
await second.signal("article", "consent", "yes", "user:ada");

const third = openRath({ store });
const session = await third.resume("article", make());
for (const { branch, by, did } of deedsOf(session))
  if (by !== "runtime") console.log(`  ${branch}  ${by}  ${did}`);
assert.deepEqual(
  session.lineage.map(({ kind, branch }) => `${kind} ${branch}`),
  ["start main", "fork style", "fork facts", "merge main"],
);
const decided = [...session.history()].flatMap(({ fact }) =>
  fact.type === "route-choose" ? [`${fact.by} ${fact.chosen}`] : [],
);
assert.deepEqual(decided, ["runtime bad", "runtime good", "user:ada no", "runtime good", "user:ada yes"]);
assert.deepEqual(keptIn(session), { reviews: 1 });
assert.equal(asked, 6);

const again = await third.replay("article", make(), { mode: "verify" });
assert.equal(again.id, session.id);
assert.equal(asked, 6);
console.log(
  "\nstopped twice, and nobody was asked anything twice; replayed without model or person: same id",
);
await third.close();
