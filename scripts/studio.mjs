// @ts-check
// Builds the page that `rath studio` opens, in studio/dist, and copies it into dist/studio. It has packages of its own,
// which `npm start` does not need: they are installed when the page is first built.
import { createHash } from "node:crypto";
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { ensurePeer } from "../bench/peer.mjs";
import { isMain, root, run, say } from "./run.mjs";

const folder = join(root, "studio");
const built = join(folder, "dist");
const stamp = join(folder, "node_modules", ".openrath-studio");

/** What a browser may have to load at most, in bytes after gzip: what the first view needs, and everything. */
const LIMITS = { entry: 180_000, all: 350_000 };

/** Copies the page into a dist when it is built already; says whether it was. */
export function copyStudio(/** @type {string} */ dist) {
  if (!isFresh()) return false;
  const target = join(dist, "studio");
  rmSync(target, { recursive: true, force: true });
  cpSync(built, target, { recursive: true });
  return true;
}

/** Installs and builds what is missing. */
export async function ensureStudio() {
  if (isFresh()) return true;
  const installed = await ensurePeer(pathToFileURL(`${folder}/`), "the tools that build the studio");
  if (!installed.ok) {
    say(`the studio cannot be built: ${installed.reason}`);
    return false;
  }
  say("building the studio ...");
  const wanted = fingerprint();
  const vite = join(folder, "node_modules", "vite", "bin", "vite.js");
  const build = (/** @type {string[]} */ ...args) =>
    run(process.execPath, [vite, "build", folder, "--logLevel", "warn", ...args], { output: "stderr" }) === 0;
  if (!build() || !build("--mode", "copy") || !isSmall()) return false;
  writeFileSync(stamp, wanted);
  return true;
}

/** Sizes of the scripts after gzip: those that the page loads first, and all of them. */
export function sizes() {
  const page = readFileSync(join(built, "index.html"), "utf8");
  const assets = join(built, "assets");
  let [entry, all] = [0, 0];
  for (const name of readdirSync(assets).filter((file) => file.endsWith(".js"))) {
    const size = gzipSync(readFileSync(join(assets, name))).length;
    all += size;
    if (page.includes(name)) entry += size;
  }
  return { entry, all };
}

function isSmall() {
  const { entry, all } = sizes();
  say(`the scripts of the studio have ${entry} bytes at first and ${all} in all (gzip)`);
  return entry <= LIMITS.entry && all <= LIMITS.all;
}

function isFresh() {
  return (
    existsSync(join(built, "index.html")) &&
    existsSync(stamp) &&
    readFileSync(stamp, "utf8") === fingerprint()
  );
}

/** Content, not dates, as for the package itself. */
function fingerprint() {
  const hash = createHash("sha256");
  const settings = ["package-lock.json", "vite.config.ts", "index.html"];
  const sources = ["src", "public"].flatMap((part) =>
    readdirSync(join(folder, part), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
      .sort(),
  );
  for (const path of [...settings, ...sources]) {
    hash
      .update(`${path}\0`)
      .update(readFileSync(join(folder, path)))
      .update("\0");
  }
  return hash.digest("hex");
}

if (isMain(import.meta.url))
  process.exitCode = (await ensureStudio()) && copyStudio(join(root, "dist")) ? 0 : 1;
