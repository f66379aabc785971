// @ts-check
// Builds dist: one JavaScript file and one declaration file for each entry point, and beside them one for each layer, which
// the entry points share. A class therefore has one identity, whichever entry point it comes from. The page of
// `rath studio` is built too, except where only the package was asked for (--package): by `npm start`, for one.
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { sourcesByName } from "./exports.mjs";
import { isMain, root, run, say, tsc } from "./run.mjs";
import { ensureInstalled } from "./setup.mjs";
import { copyStudio, ensureStudio } from "./studio.mjs";

/**
 * Which layer the files of src belong to: the first path that a file begins with decides. A layer is one file of dist, and
 * imports only layers above it. Files without a layer, and files that are only loaded on first use, get files of their own.
 *
 * @type {readonly (readonly [path: string, layer: string | undefined])[]}
 */
const layers = [
  // Tells where the other files of the command are, so its place in dist is its place in src.
  ["cli/location.ts", "cli/location"],
  ["util/", "session"],
  // The runtime needs it before there is a sandbox, and so do sandboxes without a runtime.
  ["sandbox/gated-files.ts", "session"],
  ["session/", "session"],
  ["store/", "store"],
  // What the tools of a sandbox need before there is a sandbox.
  ["sandbox/error.ts", "sandbox-names"],
  ["sandbox/path.ts", "sandbox-names"],
  ["sandbox/spec.ts", "sandbox-names"],
  // Loads the rest of the layer on first use.
  ["sandbox/pool/", "runtime"],
  ["sandbox/", "sandbox"],
  // Loaded on first use.
  ["runtime/submit/", "submit"],
  ["runtime/", "runtime"],
  ["workflow/", "runtime"],
  ["agent/tool/sandbox/", "sandbox-tools"],
  ["agent/compress/", "compress"],
  ["agent/skill/", "skill"],
  ["agent/", "agent"],
  // The main entry point has selectors too.
  ["pattern/selector/", "agent"],
  ["pattern/", "pattern"],
  ["memory/embedding/", "embedding"],
  ["memory/", "memory"],
  ["evidence/", "evidence"],
  ["connect/mcp/", "mcp"],
  ["cluster/", "cluster"],
  // Runs in browsers, and loads nothing else.
  ["server/contract/", "client"],
  ["server/", "server"],
];

/** Files that are started or loaded by their address, besides the entry points in package.json. */
const addressed = ["cli/rath", "cli/own-copy-hooks"];

const dist = join(root, "dist");
/** The declarations file by file, before they are rolled up: `npm run api` reads them. */
export const declarations = join(root, "node_modules", ".cache", "openrath-declarations");
// Outside dist, so that it is not published.
const stamp = join(root, "node_modules", ".openrath-build");

/** Builds dist when the sources have changed since the last build; returns false when the compiler refused. */
export function ensureBuilt() {
  const isFresh =
    existsSync(dist) &&
    existsSync(declarations) &&
    existsSync(stamp) &&
    readFileSync(stamp, "utf8") === fingerprint();
  return isFresh || build();
}

/** Compiles src into dist. In a process of its own, because the bundler answers later and those who build wait. */
export function build() {
  return run(process.execPath, [fileURLToPath(import.meta.url), "--package"], { output: "stderr" }) === 0;
}

/** The previous build stays until the new one is complete. */
async function make() {
  say("building dist ...");
  const wanted = fingerprint();
  // Folders of its own per process: `npm test` and `npm run bench` may build at the same time.
  const next = join(root, `dist-${process.pid}`);
  const types = `${declarations}-${process.pid}`;
  try {
    // `npm run typecheck` checks the types, of these files and of all others: once is enough.
    const emit = ["--project", "tsconfig.build.json", "--noCheck", "--outDir", types];
    const code = run(process.execPath, [tsc, ...emit], { output: "stderr" });
    if (code !== 0) return false;
    await bundle(next);
    await bundleTypes(types, next);
    chmodSync(join(next, "cli", "rath.js"), 0o755);
    copyStudio(next);
    replace(types, declarations);
    replace(next, dist);
    writeFileSync(stamp, wanted);
    return true;
  } finally {
    rmSync(next, { recursive: true, force: true });
    rmSync(types, { recursive: true, force: true });
  }
}

/** The JavaScript: sources to entry points and layers. */
async function bundle(/** @type {string} */ target) {
  // Loaded here, because this file is loaded before anything is installed.
  const { rolldown } = await import("rolldown");
  const source = join(root, "src");
  const bundled = await rolldown({
    cwd: root,
    input: entries([...exported(), ...addressed], source, ".ts"),
    external: isPackage,
    platform: "node",
    tsconfig: false,
    preserveEntrySignatures: "allow-extension",
    // As package.json says. Without it an entry point would load everything that an index on its way names.
    treeshake: { moduleSideEffects: false },
    transform: { target: "es2022", define: { OPENRATH_VERSION: JSON.stringify(manifest().version) } },
  });
  const { output } = await bundled.write({
    dir: target,
    format: "esm",
    // Names of functions and classes are shown in errors and in records.
    keepNames: true,
    comments: { legal: true, annotation: true, jsdoc: false },
    ...names("chunk", ".js"),
    codeSplitting: { includeDependenciesRecursively: false, groups: groups(source) },
  });
  await bundled.close();
  requireOrder(output);
}

/** The declarations: those that the entry points reach, rolled up in the same way. */
async function bundleTypes(/** @type {string} */ from, /** @type {string} */ target) {
  const [{ rolldown }, { dts }] = await Promise.all([import("rolldown"), import("rolldown-plugin-dts")]);
  const bundled = await rolldown({
    cwd: from,
    input: entries(exported(), from, ".d.ts"),
    external: isPackage,
    preserveEntrySignatures: "allow-extension",
    plugins: [dts({ dtsInput: true, sourcemap: false, tsconfig: false })],
    checks: { bundlerTimings: false },
  });
  const { output } = await bundled.write({
    dir: target,
    ...names("type", ".d.ts"),
    codeSplitting: { includeDependenciesRecursively: false, groups: groups(from) },
  });
  await bundled.close();
  for (const { fileName } of output) {
    const file = join(target, fileName);
    writeFileSync(file, withoutPeers(readFileSync(file, "utf8")));
  }
}

/** A program without an optional peer compiles too: what it does not have is `any` there. */
function withoutPeers(/** @type {string} */ text) {
  const peers = Object.keys(manifest().peerDependencies);
  return text.replace(/^import [^;]* from "([^"]+)";$/gm, (line, /** @type {string} */ name) =>
    peers.some((peer) => name === peer || name.startsWith(`${peer}/`))
      ? `// @ts-ignore: ${name} is an optional peer.\n${line}`
      : line,
  );
}

function manifest() {
  return JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
}

/** Entry points as package.json names them: `entry/store` for `./dist/entry/store.js`. */
function exported() {
  return Object.values(sourcesByName()).map((path) => path.slice("src/".length, -".ts".length));
}

/**
 * @param {readonly string[]} paths
 * @param {string} folder
 * @param {string} ending
 */
function entries(paths, folder, ending) {
  return Object.fromEntries(paths.map((path) => [path, join(folder, `${path}${ending}`)]));
}

/** Packages and modules of Node stay what they are: imported by name. */
function isPackage(/** @type {string} */ id) {
  return !/^(\.|\/|[A-Za-z]:[\\/])/.test(id);
}

/**
 * Where files go: entry points where package.json says, all others into one folder.
 *
 * @param {string} folder
 * @param {string} ending
 */
function names(folder, ending) {
  return {
    entryFileNames: `[name]${ending}`,
    chunkFileNames: (/** @type {{ name: string }} */ { name }) =>
      name.includes("/") ? `${name}${ending}` : `${folder}/[name]${ending}`,
  };
}

/** One group for each layer. The upper layers choose first, so that a layer never takes in what is above it. */
function groups(/** @type {string} */ folder) {
  const all = [...new Set(layers.flatMap(([, layer]) => layer ?? []))];
  return all.map((name, at) => ({
    name,
    priority: all.length - at,
    // What is only loaded on first use stays out of it.
    tags: [/** @type {const} */ ("$initial")],
    test: (/** @type {string} */ id) =>
      // What rolldown adds itself goes to the layer that all others load.
      (id.startsWith("\0rolldown/") ? "session" : layerOf(relative(folder, id).replaceAll("\\", "/"))) ===
      name,
  }));
}

/**
 * Files that import each other in a circle run before what they need is there. Layers in their order cannot.
 *
 * @param {readonly import("rolldown").RolldownOutput["output"][number][]} output
 */
function requireOrder(output) {
  const imports = new Map(output.map((file) => [file.fileName, file.type === "chunk" ? file.imports : []]));
  const done = new Set();
  /** @type {(name: string, path: readonly string[]) => void} */
  const visit = (name, path) => {
    if (path.includes(name))
      throw new Error(`the layers of scripts/build.mjs are not in order: ${[...path, name].join(" -> ")}`);
    if (done.has(name)) return;
    for (const next of imports.get(name) ?? []) visit(next, [...path, name]);
    done.add(name);
  };
  for (const name of imports.keys()) visit(name, []);
}

function layerOf(/** @type {string} */ path) {
  return layers.find(([start]) => path.startsWith(start.replace(/\.ts$/, ".")))?.[1];
}

function replace(/** @type {string} */ made, /** @type {string} */ place) {
  rmSync(place, { recursive: true, force: true });
  mkdirSync(dirname(place), { recursive: true });
  renameSync(made, place);
}

/** Content, not dates: a copied or checked out tree has dates that say nothing about what was built. */
function fingerprint() {
  const hash = createHash("sha256");
  const settings = [
    "package.json",
    "package-lock.json",
    "tsconfig.json",
    "tsconfig.build.json",
    "scripts/build.mjs",
  ];
  for (const path of [...settings, ...shipped()]) {
    hash
      .update(`${path}\0`)
      .update(readFileSync(join(root, path)))
      .update("\0");
  }
  return hash.digest("hex");
}

function shipped() {
  return readdirSync(join(root, "src"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((path) => /\.m?ts$/.test(path) && !/\.test(-d)?\.ts$/.test(path))
    .sort();
}

if (isMain(import.meta.url)) {
  const page = ensureInstalled() && (process.argv.includes("--package") || (await ensureStudio()));
  process.exitCode = page && (await make()) ? 0 : 1;
}
