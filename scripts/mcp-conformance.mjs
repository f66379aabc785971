// @ts-check
// `npm run conformance [-- <part of a scenario's name>]`: the official conformance suite of the Model Context Protocol
// against our client and our server, in every version of it that matters and on the Nodes that these need. The suites, and
// another Node where there is one to be had, are installed into a folder of their own. Without a filter the table is
// written to docs/mcp-conformance.md.
import { spawn, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { ensureBuilt } from "./build.mjs";
import { isMain, root, run, say } from "./run.mjs";
import { ensureInstalled } from "./setup.mjs";

const SUITE = "@modelcontextprotocol/conformance";
const programs = join(root, "test", "mcp", "conformance");
const cache = join(root, "node_modules", ".conformance");
const SCENARIO_MILLISECONDS = 120_000;

/** The newest suite that runs on Node 20, and the newest of all. */
const suites = [
  { version: "0.1.13", node: 20 },
  { version: "0.1.16", node: 22 },
  { version: "0.2.0-alpha.12", node: 22 },
];

/** What does not apply to us, and why. */
const strangers = [
  {
    of: /^tasks-required-task-error$/,
    why: "a server that cannot answer without a task: every call of ours can also be waited for",
  },
  {
    of: /^tasks-mrtr-composition$/,
    why: "a call that asks first and becomes a task afterwards: with us it is a task from the start, which asks",
  },
  { of: /^sep-2640-/, why: "the skills extension: skills are loaded from folders here, not from servers" },
  { of: /^auth\/(dpop|wif)/, why: "an extension of OAuth (proof of possession, workload identity)" },
  {
    of: /^auth\/(2025-03-26-oauth-metadata-backcompat|metadata-var[23])$/,
    versions: /^0\.1\./,
    why: "the authorization server of this version names a foreign issuer, which a client must refuse; later versions are fixed and pass",
  },
];

/** What a warning is about. */
const warnings = [
  {
    of: /^server-sse-polling$/,
    why: "in 0.1 this request declares version 2025-03-26, which has no such event; 0.2 declares 2025-11-25 and passes",
  },
];

/** Why a scenario that fails does not count. */
function strangerOf(/** @type {string} */ scenario, /** @type {string} */ version) {
  return strangers.find(({ of, versions }) => of.test(scenario) && (versions?.test(version) ?? true))?.why;
}

/** Why one does not count whatever it says: one that finds nothing to test says that it passes. */
function extensionOf(/** @type {string} */ scenario) {
  return strangers.find(({ of, versions }) => versions === undefined && of.test(scenario))?.why;
}

/** @typedef {{ scenario?: string, protocol?: string }} Scenario */
/** @typedef {{ SUCCESS: number, FAILURE: number, WARNING: number, SKIPPED: number }} Tally */
/** @typedef {Scenario & { version: string, node: string, side: string, ok: boolean, tally: Tally, why?: string, faults: string[] }} Result */

/** Where a suite's program is: installed with the development tools, or into the cache. */
function suiteAt(/** @type {string} */ version) {
  const own = join(root, "node_modules", SUITE);
  if (versionIn(own) === version) return join(own, "dist", "index.js");
  const folder = join(cache, version, "node_modules", SUITE);
  if (versionIn(folder) !== version) install(join(cache, version), `${SUITE}@${version}`);
  return versionIn(folder) === version ? join(folder, "dist", "index.js") : undefined;
}

function versionIn(/** @type {string} */ folder) {
  const file = join(folder, "package.json");
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")).version : undefined;
}

function install(/** @type {string} */ folder, /** @type {string} */ what) {
  mkdirSync(folder, { recursive: true });
  if (!existsSync(join(folder, "package.json"))) writeFileSync(join(folder, "package.json"), "{}");
  run("npm", ["install", "--prefix", folder, "--ignore-scripts", "--no-audit", "--no-fund", what], {
    output: "stderr",
  });
}

/** A Node of this major version: the one we run on, or one of the package that carries it. */
function nodeOf(/** @type {number} */ major) {
  if (Number(process.versions.node.split(".")[0]) === major) return process.execPath;
  const name = `node-${process.platform}-${process.arch}`;
  const folder = join(cache, `node${major}`);
  const program = join(folder, "node_modules", name, "bin", "node");
  if (!existsSync(program)) install(folder, `${name}@${major}`);
  return existsSync(program) ? program : undefined;
}

/**
 * The scenarios that a suite has for one side, each with the protocols in which it is run. Suites before 0.2 know one.
 *
 * @param {string} node
 * @param {string} suite
 * @param {"client" | "server"} side
 * @returns {Scenario[]}
 */
export function scenariosOf(node, suite, side) {
  const { stdout } = spawnSync(node, [suite, "list", `--${side}`], { encoding: "utf8" });
  const spans = suite.includes("0.2.") || /\[.*2026-/.test(stdout);
  return [...stdout.matchAll(/^ +- (\S+)(?: \[(.*)\])?$/gm)].flatMap(([, scenario = "", span = ""]) => {
    if (!spans) return [{ scenario }];
    const protocols = span.split(",").filter((one) => one === "2025-11-25" || one === "2026-07-28");
    if (protocols.length > 0) return protocols.map((protocol) => ({ scenario, protocol }));
    return [{ scenario, ...(span.startsWith("2025-") && { protocol: span.split(",").at(-1) ?? "" }) }];
  });
}

/**
 * Runs one scenario, or all of them together. The suite's own word counts, and none of its checks may have failed.
 *
 * @param {string} node
 * @param {string} suite
 * @param {"client" | "server"} side
 * @param {Scenario} scenario
 * @param {string} [url] of the server that is tested
 */
export async function runScenario(node, suite, side, { scenario, protocol }, url = "") {
  const folder = mkdtempSync(join(tmpdir(), "openrath-conformance-"));
  const target =
    side === "server"
      ? ["--url", url]
      : ["--command", `${node} ${join(programs, "client.mjs")}`, "--timeout", String(SCENARIO_MILLISECONDS)];
  const which = scenario === undefined ? ["--suite", "all"] : ["--scenario", scenario];
  const args = [suite, side, ...target, ...which, "-o", folder];
  if (protocol !== undefined) args.push("--spec-version", protocol);
  try {
    const code = await ended(
      spawn(node, args, { stdio: "ignore", cwd: root, timeout: 2 * SCENARIO_MILLISECONDS }),
    );
    const checks = checksIn(folder);
    const tally = { SUCCESS: 0, FAILURE: 0, WARNING: 0, SKIPPED: 0 };
    for (const { status } of checks) if (status in tally) tally[/** @type {keyof Tally} */ (status)] += 1;
    const faults = checks
      .filter(({ status }) => status === "FAILURE" || status === "WARNING")
      .map(({ id, status, errorMessage = "" }) => `${status} ${id} ${errorMessage}`);
    return { ok: code === 0 && tally.FAILURE === 0 && checks.length > 0, tally, faults };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @returns {{ id: string, status: string, errorMessage?: string }[]} */
function checksIn(/** @type {string} */ folder) {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith("checks.json"))
    .flatMap((name) => JSON.parse(readFileSync(join(folder, name), "utf8")));
}

function ended(/** @type {import("node:child_process").ChildProcess} */ child) {
  return new Promise((resolve) => {
    child.once("error", () => resolve(127));
    child.once("exit", (code) => resolve(code ?? 1));
  });
}

/** Starts our server, and says where it is. */
export async function startServer(/** @type {string} */ node) {
  const child = spawn(node, [join(programs, "server.mjs")], {
    stdio: ["ignore", "pipe", "inherit"],
    cwd: root,
  });
  const url = await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`our server ended with ${code}`)));
    child.stdout.once("data", (bytes) => resolve(String(bytes).trim()));
  });
  return { url, stop: () => child.kill("SIGKILL") };
}

/** @returns {Promise<Result[]>} */
async function campaign(/** @type {string} */ filter) {
  /** @type {Result[]} */
  const results = [];
  for (const { version, node: major } of suites) {
    const node = nodeOf(major);
    const suite = suiteAt(version);
    if (node === undefined || suite === undefined) {
      say(`${version} is not run: there is no Node ${major} for this machine, or no such suite, to be had`);
      continue;
    }
    const label = spawnSync(node, ["--version"], { encoding: "utf8" }).stdout.trim();
    for (const side of /** @type {const} */ (["client", "server"])) {
      const server = side === "server" ? await startServer(node) : undefined;
      const left = scenariosOf(node, suite, side).filter(({ scenario = "" }) => scenario.includes(filter));
      say(`${version} on ${label}, ${side}: ${left.length} scenarios`);
      const work = async () => {
        for (let next = left.shift(); next !== undefined; next = left.shift()) {
          const { scenario = "" } = next;
          const found = await runScenario(node, suite, side, next, server?.url);
          const why = found.ok ? extensionOf(scenario) : strangerOf(scenario, version);
          results.push({ ...next, version, node: label, side, ...found, ...(why !== undefined && { why }) });
          if (!found.ok && why === undefined)
            say(`failed: ${scenario} ${next.protocol ?? ""}\n  ${found.faults.join("\n  ")}`);
        }
      };
      await Promise.all(Array.from({ length: availableParallelism() }, work));
      server?.stop();
    }
  }
  return results;
}

/** What came of it, as a page. */
function pageOf(/** @type {readonly Result[]} */ results) {
  /** @type {Map<string, Result[]>} */
  const groups = new Map();
  for (const one of results) {
    const protocol = one.protocol ?? (one.version.startsWith("0.1.") ? "2025-11-25" : "extension");
    const key = `${one.version} | ${one.node} | ${one.side} | ${protocol}`;
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  const rows = [...groups].map(([key, group]) => {
    const applicable = group.filter(({ why }) => why === undefined);
    const sum = (/** @type {keyof Tally} */ status) =>
      applicable.reduce((all, { tally }) => all + tally[status], 0);
    const failed = applicable.filter(({ ok }) => !ok).length;
    const counts = [applicable.length - failed, failed, group.length - applicable.length];
    return `| ${key} | ${counts.join(" | ")} | ${sum("SUCCESS")} | ${sum("FAILURE")} | ${sum("WARNING")} | ${sum("SKIPPED")} |`;
  });
  const reasons = strangers.flatMap(({ why }) => {
    const names = new Set(results.filter((one) => one.why === why).map(({ scenario }) => `\`${scenario}\``));
    return names.size === 0 ? [] : [`- ${[...names].sort().join(", ")}: ${why}.`];
  });
  const notes = results
    .filter(({ why, faults }) => why === undefined && faults.length > 0)
    .map(({ version, side, scenario = "", faults }) => {
      const about = warnings.find(({ of }) => of.test(scenario))?.why;
      return `- ${version}, ${side}, \`${scenario}\`: ${faults.join(" ")}${about === undefined ? "" : ` (${about})`}`;
    });
  return `# MCP conformance

Results of the official conformance suite of the Model Context Protocol for our client and our server. \`npm run conformance\`
runs the suite and writes this page; the tests run a part of it (\`test/mcp/conformance.test.ts\`). The client under test is
\`test/mcp/conformance/client.mjs\`, an agent with tools from \`mcp()\`. The server under test is
\`test/mcp/conformance/server.mjs\`: tools, workflows, prompts and resources from \`mcpServer()\` with \`open: true\`.

Two adaptations are needed. Some servers of the suite for 2026 do not declare that version, so a proxy declares it
(\`http-*-headers\`, \`sep-2322-client-request-state\`). Our client refuses a null that the schema of a tool does not allow, so the
null is left out (\`http-custom-headers\`).

| suite | Node | side | protocol | scenarios passed | failed | not applicable | checks passed | failed | warnings | skipped |
|---|---|---|---|---|---|---|---|---|---|---|
${rows.join("\n")}

Checks are those of applicable scenarios. Not applicable, and why:

${reasons.join("\n")}
${notes.length === 0 ? "" : `\nWarnings and failures:\n\n${[...new Set(notes)].join("\n")}\n`}`;
}

if (isMain(import.meta.url)) {
  const [filter = ""] = process.argv.slice(2);
  if (!ensureInstalled() || !ensureBuilt()) process.exitCode = 1;
  else {
    const results = await campaign(filter);
    const page = pageOf(results);
    process.stdout.write(page);
    if (filter === "") writeFileSync(join(root, "docs", "mcp-conformance.md"), page);
    if (results.length === 0 || results.some(({ ok, why }) => !ok && why === undefined)) process.exitCode = 1;
  }
}
