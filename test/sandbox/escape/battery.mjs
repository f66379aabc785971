// @ts-check
// Tries to get out of a local sandbox, in every way we know, and says what came of it:
// `node test/sandbox/escape/battery.mjs [--json] [--only <words>]`, against the built package.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { hostSandbox, localSandbox, Trees } from "openrath/sandbox";
import { Host } from "./host.mjs";
import { insideAttempts } from "./inside.mjs";
import { outsideAttempts } from "./outside.mjs";

/** @typedef {{ class: string, name: string, outcome: "held" | "escaped" | "not tried", why?: string }} Finding */

const json = process.argv.includes("--json");
const only = process.argv.includes("--only") ? process.argv[process.argv.indexOf("--only") + 1] : undefined;

const host = await new Host().open();
const blobs = new Map();
const trees = new Trees({
  putBlobs: async (list) =>
    list.map((bytes) => {
      const digest = createHash("sha256").update(bytes).digest("hex");
      blobs.set(digest, Buffer.from(bytes));
      return digest;
    }),
  blob: async (digest) => blobs.get(digest),
});
// With `--host`, what does no harm is tried without any sandbox: a battery that finds nothing there could find nothing anywhere.
const bare = process.argv.includes("--host");
const HARMLESS = ["files: reading", "sockets", "network"];
const provider = bare ? hostSandbox() : localSandbox();
let opened = 0;
const open = (spec = {}) =>
  provider.create(spec, { id: `escape-${process.pid}-${++opened}`, incarnation: 1, tree: null, trees });

/** @type {Finding[]} */
const findings = [];
/** How long each class took, for those who wonder. @type {Map<string, number>} */
const times = new Map();
let since = Date.now();
try {
  await inside();
  if (!bare) await outside();
} finally {
  await provider.close();
  await host.close();
}
conclude();

async function inside() {
  const attempts = insideAttempts(host).filter(chosen);
  let box = await open();
  const has = { python3: await answers(box, "python3 -c 1"), gcc: await answers(box, "gcc --version") };
  for (const { class: of, name, command, needs } of attempts) {
    if (
      needs !== undefined &&
      (!has[needs] || (command.includes("libc.syscall") && process.arch !== "x64"))
    ) {
      report(
        of,
        name,
        "not tried",
        has[needs] ? "the numbers of system calls are those of x64" : `${needs} is missing`,
      );
      continue;
    }
    if ((await box.status()).phase !== "running") {
      await box.destroy();
      box = await open();
    }
    const { stdout, stderr, outcome } = await box.exec(command, { wall: 15_000 }).result;
    const shown = `${Buffer.from(stdout).toString("latin1")}${Buffer.from(stderr).toString("latin1")}`;
    const escaped = Buffer.from(stdout).toString("latin1").includes("ESCAPED") || shown.includes("canary-");
    const harm = host.harm();
    report(
      of,
      name,
      escaped || harm !== undefined ? "escaped" : "held",
      harm ?? (escaped ? shown.slice(0, 200) : outcome),
    );
  }
  await box.destroy();
}

async function outside() {
  let box = await open();
  for (const attempt of outsideAttempts(host).filter(chosen)) {
    const own = attempt.alone === undefined ? undefined : await open(attempt.alone);
    let why;
    try {
      why = (await attempt.run(own ?? box, host, { trees, open })) ?? host.harm();
    } catch (error) {
      why = `it could not be tried: ${String(error)}`;
    } finally {
      await own?.destroy();
    }
    report(attempt.class, attempt.name, why === undefined ? "held" : "escaped", why);
    if (own === undefined && (await box.status()).phase !== "running") {
      await box.destroy();
      box = await open();
    }
  }
  await box.destroy();
}

function chosen(/** @type {{ class: string, name: string }} */ { class: of, name }) {
  if (bare && !HARMLESS.includes(of)) return false;
  return only === undefined || `${of}: ${name}`.includes(only);
}

async function answers(/** @type {import("openrath/sandbox").Sandbox} */ box, /** @type {string} */ command) {
  return (await box.exec(command).result).outcome === "ok";
}

function report(
  /** @type {string} */ of,
  /** @type {string} */ name,
  /** @type {Finding["outcome"]} */ outcome,
  /** @type {string | undefined} */ why,
) {
  times.set(of, (times.get(of) ?? 0) + Date.now() - since);
  since = Date.now();
  findings.push({ class: of, name, outcome, ...(why !== undefined && outcome !== "held" && { why }) });
  if (!json && outcome !== "held") console.log(`${outcome.toUpperCase()}  ${of}: ${name}\n    ${why}`);
}

function conclude() {
  const escaped = findings.filter(({ outcome }) => outcome === "escaped").length;
  const untried = findings.filter(({ outcome }) => outcome === "not tried").length;
  if (json) console.log(JSON.stringify({ user: process.getuid?.() === 0 ? "root" : "user", findings }));
  else {
    if (process.argv.includes("--times"))
      for (const [of, milliseconds] of times) console.log(`${String(milliseconds).padStart(7)} ms  ${of}`);
    const version = spawnSync("bwrap", ["--version"], { encoding: "utf8" }).stdout?.trim();
    console.log(
      `${findings.length} attempts in ${new Set(findings.map((one) => one.class)).size} classes (${version}): ${escaped} escaped, ${untried} not tried`,
    );
  }
  process.exitCode = escaped > 0 ? 1 : 0;
}
