// @ts-check
// A chat inside a chat, which comes back as a summary: `npm run example -- patterns/nested-chat`. The models are scripts.
import assert from "node:assert/strict";
import { agent, openRath, scripted } from "openrath";
import { chat, deedsOf, mentions, nestedChat } from "openrath/pattern";

const searcher = agent({
  name: "searcher",
  model: scripted("Graphite is carbon.", "It was found in 1564, in Borrowdale."),
});
const skeptic = agent({ name: "skeptic", model: scripted("Since when is it known?", "I BELIEVE IT.") });
const editor = agent({ name: "editor", model: scripted("Graphite is carbon, known since 1564.") });
const writer = agent({
  name: "writer",
  model: scripted("What is graphite?", "Pencils: carbon since 1564. DONE"),
});

const research = nestedChat({
  name: "research",
  chat: chat("inquiry", [searcher, skeptic], { until: mentions("I BELIEVE IT"), maxTurns: 8 }),
  summary: editor,
});
const article = chat("article", [writer, research], { until: mentions("DONE"), maxTurns: 6 });

const rath = openRath({ store: "memory:" });
const session = await rath.run(article, rath.start("A line on pencils."), { name: "article" });

for (const { branch, by, did } of deedsOf(session)) console.log(`  ${branch}  ${by}  ${did}`);
// The outer conversation has one message of it, which names where it comes from.
assert.equal(session.transcript.length, 4);
const summary = session.transcript[2];
assert.ok(summary !== undefined && "content" in summary && typeof summary.content !== "string");
const source = summary.content.find((part) => part.type === "source");
assert.ok(source?.type === "source");
const { branch, session: id } = /** @type {{ branch: string, session: string }} */ (source.source);
const inner = [...session.history()].find((one) => one.id === id);
assert.equal(inner?.branch, branch);
// From there all of it can be read.
assert.match(JSON.stringify(inner.transcript), /Borrowdale/);
assert.doesNotMatch(JSON.stringify(session.transcript), /Borrowdale/);

const again = await rath.replay("article", article, { mode: "verify" });
assert.equal(again.id, session.id);
console.log("\nreplayed without a model: same id");
await rath.close();
