// @ts-check
// `npm run bench -- core [--json] [--no-peer] [--facts N]`: the value and the store, beside the limit or a peer, in one run.
import { execFile } from "node:child_process";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { columns } from "../measure.mjs";
import { ensurePeer } from "../peer.mjs";
import { measureStore } from "./store.mjs";
import { measureValue } from "./value.mjs";

const { values: options } = parseArgs({
  options: { json: { type: "boolean" }, "no-peer": { type: "boolean" }, facts: { type: "string" } },
});
/** @param {string} text */
const progress = (text) => process.stderr.write(process.stderr.isTTY ? `\r\x1b[K${text} …` : `${text} …\n`);

const figures = {
  ...measureValue(progress),
  ...(await measureStore({ progress, facts: Number(options.facts ?? 1_000_000) })),
  ...(await measurePeer()),
  node: process.version,
  cpu: cpus()[0]?.model,
};
if (process.stderr.isTTY) process.stderr.write("\r\x1b[K");
process.stdout.write(options.json ? `${JSON.stringify(figures)}\n` : table(figures));

async function measurePeer() {
  if (options["no-peer"]) return { langgraph_skipped: "--no-peer" };
  const installed = await ensurePeer(new URL("./langgraph/", import.meta.url), "LangGraph.js", [
    "better-sqlite3",
  ]);
  if (!installed.ok) return { langgraph_skipped: installed.reason };
  progress("the same conversation in LangGraph.js with its SqliteSaver");
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [fileURLToPath(new URL("./langgraph/peer.mjs", import.meta.url)), "1000", "1024"],
    { maxBuffer: 1e8 },
  );
  return JSON.parse(stdout);
}

/** @param {any} found */
function table(found) {
  const rows = [
    ["", "here", "beside it", "ratio", "goal"],
    [
      "append 10,000 facts with ids",
      ms(found.append_10k_ms),
      `${ms(found.append_limit_10k_ms)} stringify + SHA-256`,
      times(found.append_vs_limit),
      "at most 2x",
    ],
    ["append 10,000 facts without ids", ms(found.append_10k_without_ids_ms), "", "", "under 5 ms"],
    [
      "fork at 100,000 facts",
      ns(found.fork_ns_100k),
      `${ns(found.fork_ns_10)} at 10 facts`,
      times(found.fork_ns_100k / found.fork_ns_10),
      "within 1.5x, under 2 µs",
    ],
    ["bytes of a fork", `${Math.round(found.fork_bytes)} B`, "", "", "under 500 B"],
    [
      "merge on 100,000 facts",
      ns(found.merge_ns_trunk_100k),
      `${ns(found.merge_ns_trunk_10)} on 10 facts`,
      times(found.merge_ns_trunk_100k / found.merge_ns_trunk_10),
      "independent of the trunk",
    ],
    [
      "usage after that merge",
      ns(found.merge_usage_ns_trunk_100k),
      `${ns(found.merge_usage_ns_trunk_10)} on 10 facts`,
      times(found.merge_usage_ns_trunk_100k / found.merge_usage_ns_trunk_10),
      "independent of the trunk",
    ],
    [
      "durable append of 1 KB",
      ms(found.durable_append_ms),
      `${ms(found.fdatasync_append_ms)} append + fdatasync`,
      times(found.durable_vs_fdatasync),
      "at most 2x",
    ],
    [
      "32 sessions, group commit",
      `${Math.round(found.grouped_facts_per_s)} facts/s`,
      "",
      "",
      "at least 20,000 facts/s",
    ],
    [
      "bytes per 1 KB step at 10,000 steps",
      `${Math.round(found.bytes_per_step_10k)} B`,
      `${Math.round(found.bytes_per_step_1k)} B at 1,000 steps`,
      times(found.bytes_per_step_10k / found.bytes_per_step_1k),
      "within 5 %",
    ],
    [
      "… beside the content",
      "",
      `${found.content_bytes_per_step} B of content, ${Math.round(found.line_bytes_per_step)} B of line`,
      times(found.bytes_per_step_10k / found.content_bytes_per_step),
      "at most 1.3x",
    ],
    [
      "bytes per 1 KB message of a person",
      `${Math.round(found.bytes_per_message_of_person)} B`,
      "erasable: a salted blob and the line that names it",
      times(found.bytes_per_message_of_person / found.content_bytes_per_step),
      "",
    ],
    ["load 10,000 facts with transcript", ms(found.load_10k_ms), "", "", "under 40 ms"],
    [
      `open ${found.open_1m_facts.toLocaleString("en")} facts, last 50 messages, append`,
      ms(found.open_1m_ms),
      `${Math.round(found.open_1m_rss_mb)} MB resident`,
      "",
      "under 1 s, under 300 MB",
    ],
    [
      "… two steps on it",
      `${ms(found.million_run_cpu_ms)} of CPU`,
      `${found.million_run_heap_mb.toFixed(1)} MB of heap`,
      "",
      "at most 150 ms, at most 100 MB",
    ],
    [
      "… writing it",
      `${ms(found.million_write_cpu_ms)} of CPU`,
      "a tenth as many facts",
      times(found.million_write_ratio),
      "at most 12x",
    ],
  ];
  if (found.langgraph_skipped !== undefined)
    rows.push(["LangGraph.js", "skipped", found.langgraph_skipped, "", ""]);
  else {
    const peer = `LangGraph.js ${found.langgraph_version}`;
    rows.push(
      [
        "durable step of 1 KB at 1,000 steps",
        ms(found.durable_append_ms),
        `${ms(found.langgraph_step_ms)} ${peer}`,
        times(found.durable_append_ms / found.langgraph_step_ms),
        "",
      ],
      [
        "bytes per step at 1,000 steps",
        `${Math.round(found.bytes_per_step_1k)} B`,
        `${Math.round(found.langgraph_bytes_per_step_1k)} B ${peer}`,
        times(found.bytes_per_step_1k / found.langgraph_bytes_per_step_1k),
        "",
      ],
      [
        "load 1,000 messages of 1 KB",
        ms(found.load_1k_1kb_ms),
        `${ms(found.langgraph_load_1k_ms)} ${peer}`,
        times(found.load_1k_1kb_ms / found.langgraph_load_1k_ms),
        "",
      ],
      [
        "fork, saved",
        ms(found.fork_saved_ms),
        `${ms(found.langgraph_fork_ms)} ${peer}`,
        times(found.fork_saved_ms / found.langgraph_fork_ms),
        "",
      ],
    );
  }
  return `${columns(rows)}\n\nMedians. ${found.node}, ${found.cpu}\n`;
}

/** @param {number} value */
function ms(value) {
  return `${value < 10 ? value.toFixed(2) : value.toFixed(0)} ms`;
}
/** @param {number} value */
function ns(value) {
  return value < 10_000 ? `${value.toFixed(0)} ns` : `${(value / 1000).toFixed(0)} µs`;
}
/** @param {number} value */
function times(value) {
  return `${value.toFixed(value < 0.1 ? 4 : 2)}x`;
}
