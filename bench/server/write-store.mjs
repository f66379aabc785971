// @ts-check
// Run as a process of its own by reads.mjs: a session of so many facts with a fork, one with a fork and a merge every ten facts, many small
// sessions, and the catalogue of all of them.
import { Session } from "openrath";
import { catalogue } from "openrath/evidence";
import { memory } from "openrath/memory";
import { openStore } from "openrath/store";
import { words } from "../measure.mjs";

const [, , path, facts, sessions] = process.argv;
const AT_ONCE = 20_000;
const store = await openStore(`sqlite:${path}`);
let session = Session.start("long");
for (let number = 1; number < Number(facts); number++) {
  session = number % 1000 < 996 ? said(session, number) : asked(session, number);
  if (number % AT_ONCE === 0 || number === Number(facts) - 1) await store.save(session, { name: "long" });
}
let merged = Session.start("merged");
for (let number = 0; number < Number(facts) / 10; number += 10) {
  for (let step = 0; step < 7; step++) merged = merged.say(`step ${number + step}`);
  merged = merged.merge(merged.fork(`side ${number}`).say("aside"), { adopt: "ours" });
  if (number % AT_ONCE === 0) await store.save(merged, { name: "merged" });
}
await store.save(merged, { name: "merged" });
for (let number = 0; number < Number(sessions); number += 1000) {
  const some = Array.from(
    { length: Math.min(1000, Number(sessions) - number) },
    (_, index) => number + index,
  );
  await Promise.all(
    some.map((index) => store.save(Session.start(`question ${index}`), { name: `session/${index}` })),
  );
}
await store.save(session.fork("aside").say("Once more."), { name: "long/aside" });
await remember();
const start = performance.now();
await catalogue(store).sync();
const catalogue_build_ms = performance.now() - start;
await store.close();
process.send?.({ catalogue_build_ms });

/** Fifty memories, and a session that read one of them. */
async function remember() {
  const told = Session.start("Blue it is.", { by: "user:ada" });
  await store.save(told, { name: "told" });
  const space = memory({ name: "notes", scope: "user:ada" }).open(store);
  /** @type {string[]} */
  const ids = [];
  for (let number = 0; number < 50; number++) {
    const text = `note ${number}: blue`;
    const written = await space.write({
      text,
      source: "human-correction",
      by: "user:ada",
      because: [told.id],
    });
    ids.push(written.memory);
  }
  const hits = [{ memory: /** @type {string} */ (ids[0]), score: 1 }];
  const read = Session.start("Which?").append({ type: "memory-read", space: "notes", query: "blue", hits });
  await store.save(read.say("Blue.", { role: "assistant" }), { name: "read" });
}

/** @param {Session} session @param {number} number */
function said(session, number) {
  return session.say(`${words(200, number)} number${number}`, { role: "assistant" });
}

/** Every thousandth fact or so a model is asked, and calls a tool. @param {Session} session @param {number} number */
function asked(session, number) {
  const of = session.id;
  switch (number % 1000) {
    case 996:
      return session.append({ type: "model-call", model: "small-1" });
    case 997: {
      const usage = { input: 100, output: 10 };
      return session.append({ type: "model-reply", of, content: "I look.", finish: "tool-calls", usage });
    }
    case 998:
      return session.append({ type: "tool-call", name: "look", input: { number } });
    default:
      return session.append({ type: "tool-result", of, output: `found ${number}` });
  }
}
