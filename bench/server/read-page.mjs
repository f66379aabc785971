// @ts-check
// Run as a process of its own by reads.mjs: one page of one kind, of a store that was only opened.
import { catalogue } from "openrath/evidence";
import { openStore } from "openrath/store";

const [, , path, kind = ""] = process.argv;
const store = await openStore(`sqlite:${path}`);
/** @type {{ [kind: string]: () => Promise<{ readonly length: number }> }} */
const kinds = {
  list: () => store.names({ after: "session/5", limit: 50 }),
  changed: () => store.names({ order: "changed", limit: 50 }),
  facts: async () => (await store.facts("long", { reverse: true })).items,
  middle: async () => {
    const { count, head } = await store.facts("long", { limit: 1 });
    const [, at = 0] = [head, Math.floor(count / 2)];
    return (await store.facts("long", { after: cursorAt(head, at) })).items;
  },
  filtered: async () => [(await store.facts("long", { type: "tool-call" })).next ?? ""],
  merged: async () => (await store.facts("merged", { reverse: true })).items,
  search: async () => (await catalogue(store).search({ text: "number500" })).items,
  sessions: async () => (await catalogue(store).sessions({ state: "open" })).items,
};
globalThis.gc?.();
const before = process.memoryUsage().rss;
const start = performance.now();
const cpu = process.cpuUsage();
const items = await kinds[kind]?.();
const ms = performance.now() - start;
const { user, system } = process.cpuUsage(cpu);
const mb = (process.memoryUsage().rss - before) / 1_048_576;
if (items === undefined || items.length === 0) throw new Error(`the page ${kind} is empty`);
await store.close();
process.send?.({ ms, cpu_ms: (user + system) / 1000, mb });

/** The cursor of a place, as `store.facts` makes it. @param {string} head @param {number} at */
function cursorAt(head, at) {
  return Buffer.from(JSON.stringify([head, at, false, [], null, []])).toString("base64url");
}
