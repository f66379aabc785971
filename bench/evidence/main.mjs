// @ts-check
// `npm run bench -- evidence [--json] [--facts 1000000]`: what the command costs to start, what it costs to look at the end of
// a long history, and what checking, signing and proving cost, each beside the least that the machine needs for it.
import { execFileSync } from "node:child_process";
import { hash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Session } from "openrath";
import {
  CheckpointLog,
  checkInclusion,
  dossierHtml,
  dossierOf,
  SigningKey,
  takeCheckpoint,
  verifyStore,
  writeProof,
} from "openrath/evidence";
import { openStore } from "openrath/store";
import { columns, median, time, timeAsync } from "../measure.mjs";

const { values: options } = parseArgs({
  options: { json: { type: "boolean" }, facts: { type: "string", default: "1000000" } },
});
const facts = Number(options.facts);
const folder = mkdtempSync(join(tmpdir(), "openrath-bench-"));
const program = fileURLToPath(new URL("../../dist/cli/rath.js", import.meta.url));
const url = `sqlite:${join(folder, "rath.db")}`;
/** @type {{ [figure: string]: number | string | undefined }} */
const figures = { facts, node: process.version, cpu: cpus()[0]?.model };
const progress = (/** @type {string} */ text) =>
  process.stderr.write(process.stderr.isTTY ? `\r\x1b[K${text} …` : `${text} …\n`);

try {
  progress(`writing ${facts} facts`);
  await fill();
  progress("starting the command");
  starts();
  progress("checking");
  await checks();
  progress("a dossier");
  await dossiers();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
if (process.stderr.isTTY) process.stderr.write("\r\x1b[K");
process.stdout.write(options.json ? `${JSON.stringify(figures)}\n` : `${table()}\n`);

/** A long history with a branch now and then. */
async function fill() {
  const store = await openStore(url);
  let session = Session.start("a long history");
  for (let index = 0; index < facts; ) {
    session = session.append({ type: "note", kind: "tick", index });
    index += 1;
    if (index % 1000 === 500) {
      const side = session.fork(`side-${index}`).append({ type: "note", kind: "side", index });
      session = session.append({ type: "note", kind: "main", index }).merge(side, { adopt: "ours" });
    }
    if (index % 20_000 === 0) {
      await store.save(session, { name: "long" });
      session = await store.load("long", { horizon: 5000 });
    }
  }
  await store.save(session, { name: "long" });
  await store.close();
}

function starts() {
  const run = (/** @type {readonly string[]} */ args) =>
    median(
      Array.from({ length: 11 }, () =>
        time(() =>
          execFileSync(process.execPath, [...args], {
            env: { ...process.env, RATH_HOME: folder },
            stdio: "ignore",
          }),
        ),
      ),
    );
  figures.node_ms = run(["-e", "0"]);
  figures.help_ms = run([program, "help"]);
  figures.list_ms = run([program, "list"]);
  figures.log_ms = run([program, "log", "long", "-n", "20"]);
  figures.show_ms = run([program, "show", "long"]);
}

async function checks() {
  const store = await openStore(url);
  const log = new CheckpointLog(join(folder, "log"));
  const key = SigningKey.make("bench");
  figures.checkpoint_ms = await timeAsync(() => takeCheckpoint(store, log, key));
  let session = await store.load("long", { horizon: 5000 });
  for (let index = 0; index < 1000; index++) session = session.append({ type: "note", kind: "more", index });
  await store.save(session, { name: "long" });
  figures.checkpoint_more_ms = await timeAsync(() => takeCheckpoint(store, log, key));
  const proved = log.prove(session.id);
  if (proved === undefined) throw new Error("the newest fact is not in the log");
  figures.proof_bytes = Buffer.byteLength(writeProof(proved.proof));
  figures.proof_check_ms = median(
    Array.from({ length: 21 }, () => time(() => checkInclusion(proved.proof, session.id, [key]))),
  );
  // The least: every line once through SHA-256.
  /** @type {string[]} */
  const lines = [];
  for await (const batch of store.lines("long")) for (const { line } of batch) lines.push(line);
  figures.hash_ms = median(Array.from({ length: 3 }, () => time(() => hashAll(lines))));
  figures.bytes = lines.reduce((sum, line) => sum + line.length, 0);
  let intact = true;
  figures.verify_ms = await timeAsync(async () => {
    ({ intact } = await verifyStore(store));
  });
  if (!intact) throw new Error("the store does not verify");
  await store.close();
}

/** @param {readonly string[]} lines */
function hashAll(lines) {
  for (const line of lines) hash("sha256", line);
}

async function dossiers() {
  const store = await openStore("memory:");
  let session = Session.start("ten thousand messages");
  for (let index = 0; index < 10_000; index++)
    session = session.say(`message ${index}`, { role: index % 2 === 0 ? "assistant" : "user" });
  await store.save(session, { name: "talk" });
  let page = "";
  figures.dossier_ms = await timeAsync(async () => {
    page = dossierHtml(await dossierOf(store, "talk"));
  });
  figures.dossier_bytes = Buffer.byteLength(page);
  await store.close();
}

function table() {
  const number = (/** @type {string} */ figure, digits = 0) => {
    const value = figures[figure];
    return typeof value === "number" ? value.toLocaleString("en", { maximumFractionDigits: digits }) : "-";
  };
  const ratio = (/** @type {string} */ one, /** @type {string} */ other) =>
    `${(Number(figures[one]) / Number(figures[other])).toFixed(1)}x`;
  return columns([
    [`${number("facts")} facts, Node ${figures.node}`, "here", "beside it", "goal"],
    [
      "rath help, ms",
      number("help_ms"),
      `node -e 0: ${number("node_ms")} (${ratio("help_ms", "node_ms")})`,
      "150",
    ],
    ["rath list, ms", number("list_ms"), "", ""],
    ["rath log -n 20, ms", number("log_ms"), "", ""],
    ["rath show, ms", number("show_ms"), "", ""],
    [
      "verify the store, ms",
      number("verify_ms"),
      `SHA-256 of its lines alone: ${number("hash_ms")} (${ratio("verify_ms", "hash_ms")})`,
      "",
    ],
    ["first checkpoint, ms", number("checkpoint_ms"), ratio("checkpoint_ms", "hash_ms"), ""],
    ["checkpoint of 1,000 more, ms", number("checkpoint_more_ms"), "", ""],
    ["inclusion proof, bytes", number("proof_bytes"), "", "1,024"],
    ["checking it, ms", number("proof_check_ms", 2), "", ""],
    ["dossier of 10,000 messages, ms", number("dossier_ms"), `${number("dossier_bytes")} bytes`, ""],
  ]);
}
