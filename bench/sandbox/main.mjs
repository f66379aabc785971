// @ts-check
// `npm run bench -- sandbox [--json] [--sizes 100,5k,50k]`: commands in fresh and in live sandboxes beside a plain spawn,
// snapshots, differences, roll-backs and forks of workspaces beside git and `cp -a`, and a hundred forks at once, in one run.
import { rmSync } from "node:fs";
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { columns } from "../measure.mjs";
import { commandRows, measureCommands } from "./command.mjs";
import { forkRows, measureForks } from "./fork.mjs";
import { scratch } from "./scratch.mjs";
import { measureSnapshots, snapshotRows } from "./snapshot.mjs";

const { values: options } = parseArgs({
  options: { json: { type: "boolean" }, sizes: { type: "string", default: "100,5k,50k" } },
});
const progress = (/** @type {string} */ text) =>
  process.stderr.write(process.stderr.isTTY ? `\r\x1b[K${text} …` : `${text} …\n`);

/** @type {{ [figure: string]: number | string | undefined }} */
let figures;
try {
  figures = {
    ...(await measureCommands(progress)),
    ...(await measureForks(progress)),
    ...(await measureSnapshots({ progress, sizes: options.sizes.split(",") })),
    node: process.version,
    cpu: cpus()[0]?.model,
  };
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
if (process.stderr.isTTY) process.stderr.write("\r\x1b[K");
if (options.json) process.stdout.write(`${JSON.stringify(figures)}\n`);
else {
  const known = /** @type {{ [figure: string]: number | string }} */ (figures);
  const head = ["", "here", "beside it", "ratio", "cp -a", "goal"];
  const rows = [...commandRows(known), ...forkRows(known), ...snapshotRows(known)];
  process.stdout.write(
    `${columns([head, ...rows])}\n\n${figures.git_version}, Node ${figures.node}, ${figures.cpu}; medians.\n`,
  );
}
