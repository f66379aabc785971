// @ts-check
// `npm run bench -- server [--json] [--facts 1000000] [--sessions 100000] [--streams 1000] [--folder DIR]`: what
// pages of a large store cost, in the library and over HTTP, each with the CPU and the memory that it takes; requests a second;
// and open streams. With a folder the store is kept there, and one that is there is not written again.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { columns } from "../measure.mjs";
import { measureHttp } from "./http.mjs";
import { measureReads } from "./reads.mjs";

const { values: options } = parseArgs({
  options: {
    json: { type: "boolean" },
    facts: { type: "string", default: "1000000" },
    sessions: { type: "string", default: "100000" },
    streams: { type: "string", default: "1000" },
    folder: { type: "string" },
  },
});
const folder = options.folder ?? mkdtempSync(join(tmpdir(), "openrath-bench-"));
mkdirSync(folder, { recursive: true });
const progress = (/** @type {string} */ text) =>
  process.stderr.write(process.stderr.isTTY ? `\r\x1b[K${text} …` : `${text} …\n`);
/** @type {{ [figure: string]: number | string | undefined }} */
const figures = { node: process.version, cpu: cpus()[0]?.model };
try {
  Object.assign(
    figures,
    await measureReads(folder, progress, Number(options.facts), Number(options.sessions)),
  );
  Object.assign(figures, await measureHttp(join(folder, "store.db"), progress, Number(options.streams)));
} finally {
  if (options.folder === undefined) rmSync(folder, { recursive: true, force: true });
}
if (process.stderr.isTTY) process.stderr.write("\r\x1b[K");
process.stdout.write(
  options.json
    ? `${JSON.stringify(figures)}\n`
    : `${columns(Object.entries(figures).map(([name, value]) => [name, typeof value === "number" ? value.toLocaleString("en", { maximumFractionDigits: 2 }) : `${value}`]))}\n`,
);
