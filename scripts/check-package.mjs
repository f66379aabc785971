// @ts-check
// Checks the package as users will get it: packed into a tarball, not as it happens to lie in this folder.
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { sourcesByName } from "./exports.mjs";
import { capture, root, run, say, tsc } from "./run.mjs";

/** What the tarball may have at most: beyond it, something is shipped that should not be. */
const LIMITS = { files: 400, bytes: 2_000_000 };

const folder = mkdtempSync(join(tmpdir(), "openrath-package-"));
try {
  process.exitCode = check();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function check() {
  const { code, output } = capture("npm", [
    "pack",
    "--json",
    "--loglevel=error",
    "--pack-destination",
    folder,
  ]);
  const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz"));
  if (code !== 0 || tarball === undefined) return 1;

  const path = join(folder, tarball);
  const publint = run("publint", [path, "--strict"]);
  // The package is ESM only, so the CommonJS columns do not apply.
  const types = run("attw", [path, "--profile", "esm-only"]);
  return [isSmall(output), publint === 0, types === 0, isUsable(path)].every(Boolean) ? 0 : 1;
}

function isSmall(/** @type {string} */ report) {
  const [{ size, entryCount }] = JSON.parse(report);
  say(`the tarball has ${entryCount} files and ${(size / 1e6).toFixed(2)} MB`);
  return entryCount <= LIMITS.files && size <= LIMITS.bytes;
}

/** Installs it without any optional peer, compiles a program that uses every entry point, runs one, and runs the demonstration. */
function isUsable(/** @type {string} */ tarball) {
  const home = join(folder, "program");
  const installed = join(home, "node_modules", "openrath");
  mkdirSync(installed, { recursive: true });
  if (run("tar", ["-xzf", tarball, "-C", installed, "--strip-components=1"]) !== 0) return false;
  for (const name of new Set([...installedWith(root), "@types/node", "undici-types"])) {
    const place = join(home, "node_modules", name);
    mkdirSync(dirname(place), { recursive: true });
    // A copy where a package must not find what is installed here.
    cpSync(join(root, "node_modules", name), place, { recursive: true });
  }
  const names = Object.keys(sourcesByName());
  writeFileSync(join(home, "package.json"), '{ "type": "module", "private": true }\n');
  writeFileSync(join(home, "program.ts"), programText(names));
  writeFileSync(join(home, "program.mjs"), programText(names));
  const settings = [
    "--target",
    "es2022",
    "--module",
    "nodenext",
    "--strict",
    "--skipLibCheck",
    "false",
    "--noEmit",
  ];
  const compiled = run(process.execPath, [tsc, ...settings, "--types", "node", join(home, "program.ts")], {
    cwd: home,
  });
  const ran = run(process.execPath, [join(home, "program.mjs")], { cwd: home });
  const command = join(installed, "dist", "cli", "rath.js");
  const shown = run(process.execPath, [command, "demo", "--scripted", "--sandbox", "host", "--quiet"], {
    cwd: home,
    env: { RATH_HOME: join(home, ".rath") },
  });
  if (compiled !== 0) say("a program does not compile against the package without its optional peers");
  if (ran !== 0) say("a program does not run against the package without its optional peers");
  if (shown !== 0) say("the demonstration does not run from the package");
  return compiled === 0 && ran === 0 && shown === 0;
}

/**
 * The packages that npm installs with a package, without its peers.
 *
 * @param {string} place
 * @returns {readonly string[]}
 */
function installedWith(place) {
  const { dependencies, optionalDependencies } = JSON.parse(
    readFileSync(join(place, "package.json"), "utf8"),
  );
  return Object.keys({ ...dependencies, ...optionalDependencies }).flatMap((name) => {
    const path = join(root, "node_modules", name);
    return existsSync(path) ? [name, ...installedWith(path)] : [];
  });
}

/** Loads every entry point, and takes a session from one to another: it is the same class in both. */
function programText(/** @type {readonly string[]} */ names) {
  const imports = names.map((name, at) => `import * as entry${at} from ${JSON.stringify(name)};`);
  return `import { Session } from "openrath";
import { openStore } from "openrath/store";
${imports.join("\n")}

for (const entry of [${names.map((_, at) => `entry${at}`).join(", ")}])
  if (Object.keys(entry).length === 0) throw new Error("an entry point has no names");
const store = await openStore("memory:");
const session = Session.start("Hello.");
await store.save(session, { name: "greeting" });
const loaded = await store.load("greeting");
if (!(loaded instanceof Session) || loaded.id !== session.id) throw new Error("entry points have classes of their own");
await store.close();
`;
}
