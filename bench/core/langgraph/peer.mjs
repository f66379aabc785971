// The same conversation in LangGraph.js: one node, one message per step, its SqliteSaver on a file.
//
//   node peer.mjs [steps] [bytes per message]
//
// Prints one JSON object. The saver's own settings stay as they are; "sync" durability means that each step waits
// for its checkpoint to be written before the next one starts, as an appended fact does in OpenRath.
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HumanMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";

const steps = Number(process.argv[2] ?? 1000);
const size = Number(process.argv[3] ?? 1024);
const repeats = 7;
const thread = { configurable: { thread_id: "conversation" } };
const folder = mkdtempSync(join(tmpdir(), "openrath-peer-"));

try {
  process.stdout.write(`${JSON.stringify(await measure(join(folder, "langgraph.sqlite")))}\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function measure(path) {
  const stepMilliseconds = await converse(path);
  const bytes = settledSize(path);
  const load = await loadLatest(path);
  const fork = await forkBeforeLatest(path);
  return {
    langgraph_step_ms: round(stepMilliseconds),
    langgraph_bytes_per_step_1k: Math.round(bytes / steps),
    langgraph_load_1k_ms: round(load),
    langgraph_fork_ms: round(fork),
    langgraph_fork_bytes: Math.round((settledSize(path) - bytes) / repeats),
    langgraph_steps: steps,
    langgraph_version: version(),
  };
}

/** One run of `steps` steps; the median time from one step to the next. */
async function converse(path) {
  const saver = SqliteSaver.fromConnString(path);
  const starts = [];
  const graph = conversation(saver, () => starts.push(performance.now()));
  await graph.invoke({ messages: [] }, { ...thread, recursionLimit: steps + 5, durability: "sync" });
  starts.push(performance.now());
  saver.db.close();
  return median(starts.slice(1).map((start, index) => start - starts[index]));
}

/** The latest state with all its messages, by a saver and a graph that have seen nothing before. */
async function loadLatest(path) {
  const times = [];
  for (let repeat = 0; repeat < repeats; repeat++) {
    const start = performance.now();
    const saver = SqliteSaver.fromConnString(path);
    const { values } = await conversation(saver).getState(thread);
    times.push(performance.now() - start);
    expect(values.messages.length === steps, "the whole conversation is loaded");
    saver.db.close();
  }
  return median(times);
}

/** Branches from the checkpoint before the latest: the newest past there is, as long as what our bench forks. */
async function forkBeforeLatest(path) {
  const saver = SqliteSaver.fromConnString(path);
  const graph = conversation(saver);
  // Asking the saver (`list`) revives every state it passes, which takes minutes; the table knows the id.
  const { id } = saver.db
    .prepare("SELECT checkpoint_id AS id FROM checkpoints ORDER BY checkpoint_id DESC LIMIT 1 OFFSET 1")
    .get();
  const earlier = { configurable: { ...thread.configurable, checkpoint_id: id } };
  await graph.getState(earlier);
  const times = [];
  for (let repeat = 0; repeat < repeats; repeat++) {
    const start = performance.now();
    await graph.updateState(earlier, { messages: [] }, "turn");
    times.push(performance.now() - start);
  }
  saver.db.close();
  return median(times);
}

function conversation(saver, onStep = () => {}) {
  const turn = ({ messages }) => {
    onStep();
    return { messages: [new HumanMessage(text(messages.length))] };
  };
  const more = ({ messages }) => (messages.length < steps ? "turn" : END);
  return new StateGraph(MessagesAnnotation)
    .addNode("turn", turn)
    .addEdge(START, "turn")
    .addConditionalEdges("turn", more, ["turn", END])
    .compile({ checkpointer: saver });
}

/** Another text for every step, `size` bytes long. */
function text(index) {
  return `${index} The quick brown fox jumps over the lazy dog. `.repeat(Math.ceil(size / 40)).slice(0, size);
}

/** The size of the file once the write-ahead log has been written back into it. */
function settledSize(path) {
  const { db } = SqliteSaver.fromConnString(path);
  db.pragma("wal_checkpoint(TRUNCATE)");
  db.close();
  return statSync(path).size;
}

function version() {
  const file = new URL("node_modules/@langchain/langgraph/package.json", import.meta.url);
  return JSON.parse(readFileSync(file, "utf8")).version;
}

function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}

function round(value) {
  return Number(value.toFixed(2));
}

function expect(condition, what) {
  if (!condition) throw new Error(`the measurement is not what it says: expected that ${what}`);
}
