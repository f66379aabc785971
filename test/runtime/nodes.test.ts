import { spawn } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import fc from "fast-check";
import { Session } from "openrath";
import { openStore } from "openrath/store";
import ts from "typescript";
import { expect, it } from "vitest";
import { SEED } from "../../src/store/testing/crash.js";
import { compile, compiled, withSources } from "../../src/util/testing/compile.js";
import { drive } from "./drive.js";
import { numbersFrom } from "./numbers.js";
import { type Program, programs } from "./program.js";
import { World } from "./world.js";

const here = fileURLToPath(new URL(".", import.meta.url));
/** Other Nodes to replay on: paths, separated like those of PATH. */
const NODES = (process.env.OPENRATH_NODES ?? "").split(delimiter).filter((path) => path !== "");
const PROGRAMS = Number(process.env.OPENRATH_PROGRAMS ?? 100);
if (NODES.length === 0)
  process.stdout.write("no replays on other Nodes: OPENRATH_NODES says where none of them is\n");

type Record = { readonly program: Program; readonly id: string; readonly lines: readonly string[] };

it.skipIf(NODES.length === 0)(
  `[R15] ${PROGRAMS} random programs recorded on this Node replay to the same ids on other versions of it (seed ${SEED})`,
  async () => {
    const records: Record[] = [];
    const random = numbersFrom(SEED);
    for (const program of fc.sample(programs({ depth: 4, timed: true, slowest: 3 }), {
      numRuns: PROGRAMS,
      seed: SEED,
    }))
      records.push(await recorded(program, random));
    const folder = programFolder();
    for (const node of NODES) {
      const [{ version }, ...answers] = await answersOf(node, folder, records);
      expect(version).not.toBe(process.version);
      expect(answers).toEqual(records.map(({ id }) => ({ id, caught: [] })));
      process.stdout.write(`${records.length} programs of ${process.version} replayed on ${version}\n`);
    }
  },
  0,
);

async function recorded(program: Program, random: () => number): Promise<Record> {
  const store = await openStore("memory:");
  const base = Session.start("go", program.salted ? { inline: 0 } : {});
  const { session } = await drive(program, new World(), store, base, { name: "run", random });
  const lines: string[] = [];
  for await (const line of store.export(session.id)) lines.push(line);
  await store.close();
  return { program, id: session.id, lines };
}

/** What replays programs, as JavaScript: other Nodes may read no TypeScript. */
function programFolder(): string {
  const folder = join(compiled, "campaign");
  mkdirSync(folder, { recursive: true });
  for (const name of ["drive", "frail-store", "interpret", "program", "world"]) {
    const { outputText } = ts.transpileModule(readFileSync(join(here, `${name}.ts`), "utf8"), {
      compilerOptions: {
        module: ts.ModuleKind.ESNext,
        target: ts.ScriptTarget.ES2022,
        verbatimModuleSyntax: true,
      },
    });
    const own = outputText
      .replaceAll('"openrath"', '"@/index.js"')
      .replaceAll(/"openrath\/([a-z/-]+)"/g, '"@/entry/$1.js"')
      .replaceAll('"../../src/', '"@/');
    writeFileSync(join(folder, `${name}.js`), withSources(own));
  }
  compile("entry/store.ts");
  copyFileSync(join(here, "replayer.mjs"), join(folder, "replayer.mjs"));
  return folder;
}

type Answer = { readonly version?: string; readonly id?: string };

async function answersOf(
  node: string,
  folder: string,
  records: readonly Record[],
): Promise<readonly [Answer, ...Answer[]]> {
  const dist = pathToFileURL(join(folder, "..")).href;
  const child = spawn(node, [join(folder, "replayer.mjs"), dist], { stdio: ["pipe", "pipe", "inherit"] });
  let text = "";
  child.stdout.on("data", (data) => {
    text += data;
  });
  const ended = new Promise((done) => child.once("close", done));
  child.stdin.end(records.map((record) => `${JSON.stringify(record)}\n`).join(""));
  await ended;
  const answers = text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Answer);
  return answers as [Answer, ...Answer[]];
}
