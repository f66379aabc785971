// @ts-check
// `npm run bench -- langgraph [--json] [--turns 1000]`: a thread that grows by a message a turn, on LangGraph's own saver in memory
// and on ours in memory and on disk: milliseconds a turn, and bytes a turn at the end, in one run.
import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { MemorySaver, MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { rathSaver } from "openrath/interop/langgraph";
import { columns, median, timeAsync, words } from "../measure.mjs";

const { values: options } = parseArgs({
  options: { json: { type: "boolean" }, turns: { type: "string", default: "1000" } },
});
const turns = Number(options.turns);
const folder = mkdtempSync(join(tmpdir(), "openrath-bench-"));
/** @type {{ [figure: string]: number | string | undefined }} */
const figures = { turns, node: process.version, cpu: cpus()[0]?.model };

try {
  const memory = new MemorySaver();
  await measure("memory_saver", memory, async () => sizeOf(memory.storage) + sizeOf(memory.writes));
  for (const [name, url] of [
    ["rath_memory", "memory:"],
    ["rath_sqlite", `sqlite:${join(folder, "rath.db")}`],
  ]) {
    const saver = await rathSaver(/** @type {string} */ (url));
    await measure(/** @type {string} */ (name), saver, async () => {
      let bytes = 0;
      for await (const line of saver.store.export(saver.nameOf("thread"))) bytes += line.length;
      return bytes;
    });
    await saver.close();
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.stdout.write(options.json ? `${JSON.stringify(figures)}\n` : `${table()}\n`);

/**
 * @param {string} name
 * @param {import("@langchain/langgraph").BaseCheckpointSaver} checkpointer
 * @param {() => Promise<number>} size
 */
async function measure(name, checkpointer, size) {
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("answer", async ({ messages }) => ({ messages: [new AIMessage(words(100, messages.length))] }))
    .addEdge("__start__", "answer")
    .addEdge("answer", "__end__")
    .compile({ checkpointer });
  const config = { configurable: { thread_id: "thread" } };
  /** @type {number[]} */
  const times = [];
  let before = 0;
  for (let turn = 0; turn < turns; turn++) {
    if (turn === turns - 10) before = await size();
    times.push(
      await timeAsync(() => graph.invoke({ messages: [new HumanMessage(words(100, turn))] }, config)),
    );
  }
  const after = await size();
  figures[`${name}_ms`] = median(times.slice(-20));
  figures[`${name}_bytes`] = after;
  figures[`${name}_bytes_a_turn`] = (after - before) / 10;
  if (globalThis.gc) globalThis.gc();
}

/** Bytes of what a saver in memory holds. @param {unknown} value @returns {number} */
function sizeOf(value) {
  if (value instanceof Uint8Array) return value.length;
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 8;
  return Object.entries(value).reduce((sum, [key, one]) => sum + key.length + sizeOf(one), 0);
}

function table() {
  const names = ["memory_saver", "rath_memory", "rath_sqlite"];
  const number = (/** @type {string} */ figure, digits = 1) =>
    Number(figures[figure]).toLocaleString("en", { maximumFractionDigits: digits });
  const least = (/** @type {string} */ figure) =>
    `${(Number(figures[`memory_saver_${figure}`]) / Number(figures[`rath_sqlite_${figure}`])).toFixed(1)}x`;
  return columns([
    [
      `${turns} turns, Node ${figures.node}`,
      "MemorySaver",
      "ours, memory:",
      "ours, sqlite:",
      "theirs / ours on disk",
    ],
    ...["ms", "bytes_a_turn", "bytes"].map((figure) => [
      { ms: "ms a turn at the end", bytes_a_turn: "bytes a turn at the end", bytes: "bytes in all" }[
        figure
      ] ?? figure,
      ...names.map((name) => number(`${name}_${figure}`)),
      least(figure),
    ]),
  ]);
}
