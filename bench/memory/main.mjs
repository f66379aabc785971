// @ts-check
// `npm run bench -- memory [--json] [--memories 100000] [--facts 1000000]`: how often the right note is found, by words, by
// meaning and by both, beside a plain BM25 and the memory server of MCP; and what recalls, writes and answers cost when there
// is much of everything. All in one run.
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { columns } from "../measure.mjs";
import { measureLarge } from "./large.mjs";
import { measurePairs } from "./pairs.mjs";

const { values: options } = parseArgs({
  options: {
    json: { type: "boolean" },
    memories: { type: "string", default: "100000" },
    facts: { type: "string", default: "1000000" },
  },
});
const progress = (/** @type {string} */ text) =>
  process.stderr.write(process.stderr.isTTY ? `\r\x1b[K${text} …` : `${text} …\n`);

/** @type {{ [figure: string]: number | string | undefined }} */
const figures = {
  ...(await measurePairs(progress)),
  ...(await measureLarge({ progress, memories: Number(options.memories), facts: Number(options.facts) })),
  node: process.version,
  cpu: cpus()[0]?.model,
};
if (process.stderr.isTTY) process.stderr.write("\r\x1b[K");
if (options.json) process.stdout.write(`${JSON.stringify(figures)}\n`);
else process.stdout.write(`${tables()}\n`);

function tables() {
  const number = (/** @type {string} */ figure, digits = 2) => {
    const value = figures[figure];
    return typeof value === "number" ? value.toFixed(digits) : "-";
  };
  const methods = ["words", "meaning", "fused", "bm25", "server_memory"];
  const groups = ["all", "en", "de", "zh", "ja", "th", "paraphrase", "partial", "keyword", "exact_id"];
  const quality = [
    ["right note among the first", ...methods],
    ...groups.flatMap((group) =>
      (group === "all" ? [1, 5, 10] : [5]).map((depth) => [
        `${group} @${depth}`,
        ...methods.map((method) => number(`${method}_${group}_at_${depth}`)),
      ]),
    ),
    ["ms a question (median)", ...methods.map((method) => number(`${method}_ms`))],
  ];
  const cost = [
    ["", "here", "beside it", "goal"],
    [
      `recall over ${figures.memories}, ms`,
      number("recall_ms", 1),
      `BM25 in memory ${number("bm25_large_ms", 1)}; server-memory over ${figures.server_memory_large_notes} ${number("server_memory_large_ms", 1)}`,
      "20",
    ],
    [
      "  by words / by meaning, ms",
      `${number("recall_words_ms", 1)} / ${number("recall_meaning_ms", 1)}`,
      "",
      "",
    ],
    [
      "index: made / vectors / opened again, ms",
      `${number("index_build_ms", 0)} / ${number("index_vectors_ms", 0)} / ${number("index_reopen_ms", 0)}`,
      "",
      "",
    ],
    ["write, ms", number("write_ms"), `fdatasync ${number("write_fdatasync_ms")}`, "1 + the disk"],
    [
      `influence over ${figures.facts} facts, ms`,
      number("influence_ms", 0),
      `${figures.influence_sessions} sessions, ${figures.influence_facts} facts reached; index ${number("influence_build_ms", 0)}`,
      "1000",
    ],
    ["why, ms", number("why_ms", 1), "", ""],
  ];
  return `${columns(quality)}\n\n${columns(cost)}\n\n${figures.pairs} questions, ${figures.notes} notes; Node ${figures.node}, ${figures.cpu}; medians.`;
}
