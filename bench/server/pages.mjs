// @ts-check
// Run as a process of its own by http.mjs: asks a server in this process for every page of a store, and tells the CPU and the
// memory that each takes, the first time and then.
import { openRath } from "openrath";
import { server } from "openrath/server";
import { openStore } from "openrath/store";

const [, , path] = process.argv;
const store = await openStore(`sqlite:${path}`);
const rath = openRath({ store });
const handler = server(rath, {
  auth: { single: "user:ada" },
  limits: { requests: { burst: 1e6, perSecond: 1e6 } },
});
const headers = { authorization: `Bearer ${handler.token}` };

/** @param {string} address @returns {Promise<{ text: string, isIndexing: boolean, body: () => any }>} */
async function ask(address) {
  const response = await handler(new Request(`http://127.0.0.1${address}`, { headers }));
  const text = await response.text();
  const isIndexing = response.status === 503 && JSON.parse(text).code === "indexing";
  if (!response.ok && !isIndexing) throw new Error(`${address}: ${text}`);
  return { text, body: () => JSON.parse(text), isIndexing };
}

const long = "/api/sessions/long";
const newest = (await ask(`${long}/facts?type=model-reply&reverse=true&limit=1`)).body().items[0].id;
const old = (await ask(`${long}/facts?type=model-reply&limit=1`)).body().items[0].id;
const remembered = (await ask("/api/sessions/memory%2Fnotes/facts?type=memory-write&limit=1")).body().items[0]
  .id;
/** @type {{ [kind: string]: string }} */
const pages = {
  sessions: "/api/sessions?limit=1000",
  names: "/api/sessions?order=name&limit=1000",
  said: "/api/sessions?q=question&limit=100",
  state: "/api/sessions?state=failed",
  session: "/api/sessions/long",
  facts: `${long}/facts?limit=1000`,
  reverse: `${long}/facts?reverse=true&limit=1000`,
  typed: `${long}/facts?type=tool-call`,
  branch: `${long}/facts?branch=aside`,
  people: `${long}/facts?only=people&limit=1000`,
  fact: `/api/facts/${old}`,
  graph: `${long}/graph`,
  graph_middle: `${long}/graph?page=300`,
  graph_head: `${long}/graph?head=${old}`,
  summary: `${long}/graph/summary`,
  summary_head: `${long}/graph/summary?head=${newest}`,
  turns: `${long}/turns?limit=1000`,
  turns_head: `${long}/turns?head=${old}`,
  timeline: `${long}/timeline?limit=1000`,
  series: `${long}/series?buckets=1000`,
  prompt: `${long}/prompt?fact=${newest}`,
  prompt_old: `${long}/prompt?fact=${old}`,
  files: `${long}/files`,
  changes: `${long}/changes`,
  compare: "/api/compare?a=long&b=long/aside",
  compare_other: "/api/compare?a=long&b=merged&limit=1000",
  branch_of: `${long}/ask/branch`,
  step: `${long}/ask/step?step=${newest}`,
  saw: `${long}/ask/saw?step=${newest}`,
  ask_memory: `${long}/ask/memory?step=${newest}`,
  search: "/api/search?q=number500&limit=1000",
  search_typed: "/api/search?type=tool-call&tool=look",
  search_time: "/api/search?until=2020-01-01",
  pending: "/api/pending",
  origins: "/api/origins/long?limit=1000",
  memory: "/api/memory",
  memories: "/api/memory/notes",
  memory_why: `/api/memory/notes/${remembered}/why`,
  influence: `/api/memory/notes/${remembered}/influence`,
  if_false: `/api/ask/ifFalse?memory=${remembered}`,
  conflicts: `${long}/conflicts?theirs=long/aside`,
  back: "/api/sessions/long~5000/facts?limit=1",
  at_branch: "/api/sessions/long@main/facts?limit=1",
};
let index_cpu_ms = 0;
const asked = process.argv.slice(3);
/** @type {{ [kind: string]: { first_cpu_ms: number, cpu_ms: number, mb: number, kb: number } }} */
const figures = {};
for (const [kind, address] of Object.entries(pages)) {
  if (asked.length > 0 && !asked.includes(kind)) continue;
  const first = await cost(() => ask(address));
  // The graph of a long session is read beside the question.
  const begun = process.cpuUsage();
  let isIndexing = first.isIndexing;
  while (isIndexing) {
    await new Promise((done) => setTimeout(done, 100));
    ({ isIndexing } = await ask(address));
  }
  const { user, system } = process.cpuUsage(begun);
  if (first.isIndexing) index_cpu_ms += (user + system) / 1000;
  globalThis.gc?.();
  const rounds = [];
  for (let round = 0; round < 5; round++) rounds.push(await cost(() => ask(address)));
  figures[kind] = {
    first_cpu_ms: first.cpu,
    cpu_ms: Math.min(...rounds.map(({ cpu }) => cpu)),
    mb: Math.max(...rounds.map(({ mb }) => mb)),
    kb: first.bytes / 1024,
  };
  if (process.send === undefined) console.log(kind, figures[kind]);
}
handler.close();
await rath.close();
await store.close();
process.send?.({ pages: figures, index_cpu_ms });

/** @param {() => Promise<{ text: string, isIndexing: boolean }>} work */
async function cost(work) {
  globalThis.gc?.();
  const before = process.memoryUsage().rss;
  const start = process.cpuUsage();
  const { text, isIndexing } = await work();
  const { user, system } = process.cpuUsage(start);
  const mb = (process.memoryUsage().rss - before) / 1_048_576;
  return { cpu: (user + system) / 1000, mb, bytes: text.length, isIndexing };
}
