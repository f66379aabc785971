// @ts-check
// `npm run bench -- sandbox [--json] [--files 100,5000,50000]`: commands in fresh and in live sandboxes beside a plain
// spawn, and snapshots, differences, roll-backs and forks of workspaces beside git with an index of its own and `cp -a`,
// all in one run.
import { rmSync } from "node:fs";
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { columns } from "../measure.mjs";
import { measureCommands } from "./command.mjs";
import { measureForks } from "./fork.mjs";
import { scratch } from "./scratch.mjs";
import { measureWorkspaces } from "./workspace.mjs";

const { values: options } = parseArgs({
  options: { json: { type: "boolean" }, files: { type: "string", default: "100,5000,50000" } },
});
const sizes = options.files.split(",").map(Number);
const progress = (/** @type {string} */ text) =>
  process.stderr.write(process.stderr.isTTY ? `\r\x1b[K${text} …` : `${text} …\n`);

/** @type {{ name: string, ours: number, theirs?: { [who: string]: number }, goal?: string, unit?: string }[]} */
const rows = [];
try {
  rows.push(...(await measureCommands(progress)));
  for (const size of sizes) rows.push(...(await measureWorkspaces(size, progress)));
  rows.push(...(await measureForks(progress)));
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
if (process.stderr.isTTY) process.stderr.write("\r\x1b[K");
const figures = { rows, node: process.version, cpu: cpus()[0]?.model };
process.stdout.write(options.json ? `${JSON.stringify(figures)}\n` : table());

function table() {
  const shown = rows.map(({ name, ours, theirs = {}, goal = "", unit = "ms" }) => [
    name,
    `${number(ours)} ${unit}`,
    Object.entries(theirs)
      .map(([who, value]) => `${who} ${number(value)} (${(ours / value).toFixed(2)}x)`)
      .join(", "),
    goal,
  ]);
  return `${columns([["", "openrath", "beside it (ours / theirs)", "goal"], ...shown])}\n\nNode ${process.version}, ${cpus()[0]?.model}; medians.\n`;
}

function number(/** @type {number} */ value) {
  return value >= 100 ? value.toFixed(0) : value >= 1 ? value.toFixed(1) : value.toFixed(3);
}
