import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import { sourcesByName } from "../../scripts/exports.mjs";
import { ensureBuilt } from "../../src/store/testing/worker.js";

const root = fileURLToPath(new URL("../../", import.meta.url));
/** Writes the address of each module that a program loads. */
const WATCH = `data:text/javascript,${encodeURIComponent(`import { register } from "node:module";
register("data:text/javascript," + encodeURIComponent('import { writeSync } from "node:fs"; export const load = (url, context, next) => { writeSync(2, url + "\\\\n"); return next(url, context); };'));`)}`;

beforeAll(ensureBuilt);

/** Runs a module in a process that imports the package by its name, as users do. */
async function output(program: string, ...options: string[]): Promise<{ stdout: string; stderr: string }> {
  return promisify(execFile)(process.execPath, [...options, "--input-type=module", "--eval", program], {
    cwd: root,
  });
}

describe("the built package", () => {
  it("[PK1] has one Session for all its entry points", async () => {
    const { stdout } = await output(`
      import { agent, openRath, scripted, Session } from "openrath";
      import { openStore } from "openrath/store";
      import { workflow } from "openrath/workflow";
      const store = await openStore("memory:");
      const rath = openRath({ store });
      const helper = agent({ name: "helper", model: scripted(["Hello."]) });
      const ended = await rath.run(workflow("greet", { helper }, (session) => helper.forward(session)), rath.start("Hi."), { name: "hi" });
      const loaded = await store.load("hi");
      console.log(JSON.stringify([ended instanceof Session, loaded instanceof Session, loaded.id === ended.id]));
    `);
    expect(JSON.parse(stdout)).toEqual([true, true, true]);
  });

  it("[PK2] loads few files, and no sandbox, for a first program", async () => {
    const { stderr } = await output('import "openrath";', "--import", WATCH);
    const here = pathToFileURL(`${root}dist/`).href;
    const files = stderr.split("\n").filter((url) => url.startsWith(here));
    expect(files).toContain(`${here}index.js`);
    expect(new Set(files).size).toBeLessThanOrEqual(6);
    expect(files.filter((url) => /sandbox|memory|evidence|sqlite/.test(url.slice(here.length)))).toEqual([]);
  });

  it("[PK3] has the names of its sources", async () => {
    const sources = Object.entries(sourcesByName());
    const { stdout } = await output(`
      const names = ${JSON.stringify(sources.map(([name]) => name))};
      console.log(JSON.stringify(await Promise.all(names.map(async (name) => [name, Object.keys(await import(name)).sort()]))));
    `);
    const expected = sources.map(async ([name, source]) => [
      name,
      Object.keys(await import(pathToFileURL(`${root}${source}`).href)).sort(),
    ]);
    expect(JSON.parse(stdout)).toEqual(await Promise.all(expected));
  });

  it("[PK4] has the example that `rath demo` runs", async () => {
    const pack = ["pack", "--dry-run", "--json", "--ignore-scripts", "--loglevel=error"];
    const { stdout } = await promisify(execFile)("npm", pack, { cwd: root });
    const [{ files }] = JSON.parse(stdout) as [{ files: { path: string }[] }];
    const example = readdirSync(`${root}examples/demo`, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll("\\", "/"));
    expect(example).toContain("examples/demo/fixtures/tally/src/split.js");
    expect(files.map(({ path }) => path)).toEqual(expect.arrayContaining(example));
  });
});
