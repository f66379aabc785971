// @ts-check
// How often the right note is among the first: the pairs of ./pairs, all languages in one space.
import { readdirSync, readFileSync } from "node:fs";
import { Session } from "openrath";
import { memory } from "openrath/memory";
import { openStore } from "openrath/store";
import { median, timeAsync } from "../measure.mjs";
import { Bm25 } from "./bm25.mjs";
import { withServerMemory } from "./server-memory.mjs";

const folder = new URL("./pairs/", import.meta.url);
const DEPTHS = [1, 5, 10];

/** @typedef {{ id: string, language: string, kind?: string, question?: string, note: string }} Pair */

/** @returns {readonly Pair[]} */
function pairs() {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".jsonl"))
    .sort()
    .flatMap((name) =>
      readFileSync(new URL(name, folder), "utf8")
        .split("\n")
        .filter((line) => line.trim() !== "")
        .map((line) => /** @type {Pair} */ (JSON.parse(line))),
    );
}

/** @param {(text: string) => void} progress */
export async function measurePairs(progress) {
  const all = pairs();
  const asked = all.filter(({ question }) => question !== undefined);
  progress(`${all.length} notes, ${asked.length} questions`);
  const store = await openStore("memory:");
  const evidence = Session.start("The notes of the benchmark.");
  await store.save(evidence, { name: "evidence" });
  const space = memory({ name: "pairs", scope: "project:bench", contradicts: false }).open(store);
  /** @type {Map<string, string>} */
  const byMemory = new Map();
  for (const { id, note } of all) {
    const { memory: written } = await space.write({
      text: note,
      because: [evidence.id],
      source: "human-correction",
      by: "user:bench",
    });
    byMemory.set(written, id);
  }
  await space.find("warm");
  const bm25 = new Bm25(all.map(({ id, note }) => ({ id, text: note })));
  /** @type {{ [method: string]: (question: string) => Promise<readonly string[]> }} */
  const methods = { bm25: async (question) => bm25.find(question, 10) };
  for (const mode of /** @type {const} */ (["words", "meaning", "fused"]))
    methods[mode] = async (question) => {
      const { found } = await space.find(question, { mode, limit: 10, threshold: 0 });
      return found.map(({ memory: { id } }) => byMemory.get(id) ?? "");
    };
  /** @type {{ [figure: string]: number | string }} */
  const figures = { pairs: asked.length, notes: all.length };
  for (const [method, find] of Object.entries(methods)) {
    progress(`asking ${method}`);
    Object.assign(figures, await judged(method, asked, find));
  }
  const peer = await withServerMemory(async (server) => {
    progress("asking MCP server-memory");
    const write = await timeAsync(() => server.keep(all.map(({ id, note }) => ({ id, text: note }))));
    return {
      ...(await judged("server_memory", asked, (question) => server.find(question))),
      server_memory_keep_all_ms: write,
    };
  });
  await store.close();
  return { ...figures, ...peer };
}

/**
 * @param {string} method
 * @param {readonly Pair[]} asked
 * @param {(question: string) => Promise<readonly string[]>} find
 */
async function judged(method, asked, find) {
  /** @type {Map<string, { right: number[], of: number }>} */
  const groups = new Map();
  const times = [];
  for (const { id, language, kind = "", question = "" } of asked) {
    /** @type {readonly string[]} */
    let found = [];
    times.push(
      await timeAsync(async () => {
        found = await find(question);
      }),
    );
    const place = found.indexOf(id);
    for (const group of ["all", language, kind]) {
      const known = groups.get(group) ?? { right: DEPTHS.map(() => 0), of: 0 };
      groups.set(group, known);
      known.of += 1;
      for (const [index, depth] of DEPTHS.entries())
        if (place >= 0 && place < depth) known.right[index] = (known.right[index] ?? 0) + 1;
    }
  }
  /** @type {{ [figure: string]: number }} */
  const figures = { [`${method}_ms`]: median(times) };
  for (const [group, { right, of }] of groups)
    for (const [index, depth] of DEPTHS.entries())
      figures[`${method}_${group.replace("-", "_")}_at_${depth}`] = (right[index] ?? 0) / of;
  return figures;
}
