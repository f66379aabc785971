// @ts-check
// The demonstration with the page of `rath studio` over it: for the pictures of docs/studio.md, and for the tests in a browser.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "./run.mjs";

const program = join(root, "dist", "cli", "rath.js");

/** The environment without a model or a store of its own. @param {string} home @returns {NodeJS.ProcessEnv} */
function surroundingsOf(home) {
  const {
    OPENAI_API_KEY: _,
    OPENAI_BASE_URL: _url,
    RATH_BASE_URL: _base,
    RATH_STORE: _store,
    ...env
  } = process.env;
  return { ...env, RATH_HOME: home, XDG_CONFIG_HOME: join(home, "config"), CI: "" };
}

/** Runs the demonstration once, with scripted models, in a folder of its own. */
export async function runDemo() {
  const folder = mkdtempSync(join(tmpdir(), "rath-studio-"));
  const child = spawn(process.execPath, [program, "demo", "--scripted", "--json"], {
    cwd: folder,
    env: surroundingsOf(folder),
  });
  const { text, problems } = textOf(child);
  const code = await new Promise((done) => child.on("close", done));
  if (code !== 0) throw new Error(`the demonstration ended with ${code}: ${problems()}`);
  const { rejection, studio } = /** @type {{ rejection: string; studio: string }} */ (JSON.parse(text()));
  return {
    folder,
    /** The file of programs for the page, and the bundle of the dossier. */
    modules: studio,
    bundle: join(folder, "demo-1", "dossier.json"),
    /** The fact that rejects the first patch. */
    rejection,
    remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }),
  };
}

/** Starts `rath studio` over the store of a folder. @param {string} folder @param {readonly string[]} words */
export async function startStudio(folder, words = []) {
  const child = spawn(process.execPath, [program, "studio", "--json", ...words], {
    cwd: folder,
    env: surroundingsOf(folder),
  });
  const { text, problems } = textOf(child);
  await new Promise((done, fail) => {
    child.stdout.on("data", () => text().includes("\n") && done(undefined));
    child.on("exit", (code) => fail(new Error(`rath studio ended with ${code}: ${problems()}`)));
  });
  const { url } = /** @type {{ url: string }} */ (JSON.parse(text()));
  return {
    /** The link that opens the page, and the server behind it. */
    link: url,
    origin: new URL(url).origin,
    /** @returns {Promise<number | null>} */
    stop: () =>
      new Promise((done) => {
        if (child.exitCode !== null || child.signalCode !== null) return done(child.exitCode);
        child.removeAllListeners("exit");
        child.on("exit", done);
        child.kill("SIGTERM");
      }),
  };
}

/** @param {import("node:child_process").ChildProcessWithoutNullStreams} child */
function textOf(child) {
  let [text, problems] = ["", ""];
  child.stdout.on("data", (piece) => {
    text += String(piece);
  });
  child.stderr.on("data", (piece) => {
    problems += String(piece);
  });
  return { text: () => text, problems: () => problems };
}
