// @ts-check
// `npm run bench -- package [--json] [--runs 15]`: what it costs to have the package and to load it, as users get it: from the
// tarball, in a folder of its own, beside a Node that does nothing. Runs alternate, and the median of each is told: `_ms` by the
// clock, `_cpu_ms` as user and system time of the process.
import { execFileSync, spawnSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { cpus, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Session } from "openrath";
import { openStore } from "openrath/store";
import { columns, median } from "../measure.mjs";

const { values: options } = parseArgs({
  options: { json: { type: "boolean" }, runs: { type: "string", default: "15" } },
});
const root = fileURLToPath(new URL("../..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "openrath-bench-"));
const place = (/** @type {string[]} */ ...parts) => join(folder, ...parts);

/** Limits that the project sets itself: figure, most, what it is above. */
const LIMITS = /** @type {const} */ ([
  ["import_ms", 40, "node_ms"],
  ["import_files", 6, undefined],
  ["cli_list_ms", 90, "node_ms"],
  ["tarball_mb", 2, undefined],
  ["tarball_files", 400, undefined],
]);
/** Tells at the end what the process took. */
const CPU = `process.on("exit", () => {
  const { user, system } = process.cpuUsage();
  require("node:fs").writeSync(2, "cpu " + (user + system) + "\\n");
});
`;

/** Tells of each module that is loaded. */
const COUNT = `import { register } from "node:module";
import { writeSync } from "node:fs";
export async function load(url, context, next) {
  writeSync(2, "load " + url + "\\n");
  return next(url, context);
}
if (!import.meta.url.endsWith("?hooks")) register(import.meta.url + "?hooks");
`;

/** @type {{ [figure: string]: number | string | undefined }} */
const figures = { node: process.version, cpu: cpus()[0]?.model };

try {
  install();
  await fill();
  Object.assign(figures, { import_files: filesOf(place("import.mjs")) }, times());
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.stdout.write(options.json ? `${JSON.stringify(figures)}\n` : `${table()}\n`);

/** Packs the package and unpacks it beside what it depends on. */
function install() {
  const [{ filename, size, entryCount }] = JSON.parse(
    execFileSync("npm", ["pack", "--json", "--loglevel=error", "--pack-destination", folder], {
      cwd: root,
      encoding: "utf8",
    }),
  );
  const home = place("node_modules", "openrath");
  mkdirSync(home, { recursive: true });
  execFileSync("tar", ["-xzf", place(filename), "-C", home, "--strip-components=1"]);
  const { dependencies, optionalDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
    mkdirSync(dirname(place("node_modules", name)), { recursive: true });
    symlinkSync(join(root, "node_modules", name), place("node_modules", name));
  }
  const shipped = readdirSync(home, { recursive: true, encoding: "utf8" }).map((path) =>
    statSync(join(home, path)),
  );
  figures.tarball_mb = size / 1e6;
  figures.tarball_files = entryCount;
  figures.installed_mb = shipped.reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0) / 1e6;
  writeFileSync(place("import.mjs"), 'import "openrath";\n');
  writeFileSync(place("nothing.cjs"), "");
  writeFileSync(place("cpu.cjs"), CPU);
  writeFileSync(place("count.mjs"), COUNT);
}

/** A store with a few sessions for `rath list`. */
async function fill() {
  const store = await openStore(`sqlite:${place("rath.db")}`);
  for (let index = 0; index < 20; index++)
    await store.save(Session.start(`Session ${index}.`), { name: `session-${index}` });
  await store.close();
}

function times() {
  const programs = {
    node: [place("nothing.cjs")],
    import: [place("import.mjs")],
    cli_list: [
      place("node_modules", "openrath", "dist", "cli", "rath.js"),
      "list",
      "--store",
      `sqlite:${place("rath.db")}`,
    ],
  };
  /** @type {{ [figure: string]: number[] }} */
  const taken = {};
  // The first of each fills the caches of the disk and is not counted.
  for (let run = -1; run < Number(options.runs); run++)
    for (const [name, args] of Object.entries(programs)) {
      const { wall, cpu } = timesOf(args);
      if (run < 0) continue;
      taken[`${name}_ms`] = [...(taken[`${name}_ms`] ?? []), wall];
      taken[`${name}_cpu_ms`] = [...(taken[`${name}_cpu_ms`] ?? []), cpu];
    }
  return Object.fromEntries(Object.entries(taken).map(([name, values]) => [name, median(values)]));
}

/** One process, to its end. */
function timesOf(/** @type {readonly string[]} */ args) {
  const start = process.hrtime.bigint();
  const { status, stderr } = spawnSync(process.execPath, ["--require", place("cpu.cjs"), ...args], {
    cwd: folder,
    encoding: "utf8",
    stdio: ["ignore", "ignore", "pipe"],
  });
  const wall = Number(process.hrtime.bigint() - start) / 1e6;
  const cpu = /cpu (\d+)/.exec(stderr)?.[1];
  if (status !== 0 || cpu === undefined) throw new Error(`${args.join(" ")} ended with ${status}: ${stderr}`);
  return { wall, cpu: Number(cpu) / 1e3 };
}

/** Files of the package that a program loads. */
function filesOf(/** @type {string} */ program) {
  const { stderr } = spawnSync(process.execPath, ["--import", place("count.mjs"), program], {
    encoding: "utf8",
  });
  return new Set(stderr.match(/^load file:.*\/node_modules\/openrath\/.*$/gm)).size;
}

function table() {
  const number = (/** @type {string} */ name) => /** @type {number} */ (figures[name]);
  const rows = LIMITS.map(([name, most, base]) => {
    const value = number(name) - (base === undefined ? 0 : number(base));
    return [
      name,
      value.toFixed(value < 10 ? 2 : 0),
      `at most ${most}`,
      base === undefined ? "" : `above ${number(base).toFixed(0)} of node`,
    ];
  });
  const others = ["import_cpu_ms", "cli_list_cpu_ms", "node_cpu_ms", "installed_mb"];
  return columns([...rows, ...others.map((name) => [name, number(name).toFixed(1), "", ""])]);
}
