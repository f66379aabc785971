// @ts-check
// A durable workflow that is killed and resumed while you watch: `npm run example -- durable`.
//
// One process works through an order; another kills it with SIGKILL, twice, and starts it again. Each effect writes a
// line into a ledger file, so that what really happened can be counted outside of the program.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openRath, step, workflow } from "openrath";
import { leaveDossier } from "./fixtures/leave-dossier.mjs";

const STEPS = ["reserve stock", "charge card", "print label", "book courier", "send mail"];

/**
 * The workflow. A body is plain TypeScript; what touches the world is a step.
 *
 * @param {string} ledger
 */
function orderFlow(ledger) {
  const steps = STEPS.map((name) =>
    step(
      name,
      async () => {
        await new Promise((resolve) => setTimeout(resolve, 150));
        appendFileSync(ledger, `${name}\n`);
        // Time in which the effect has happened and nobody has heard of it: the worst moment to die.
        await new Promise((resolve) => setTimeout(resolve, 250));
        return `${name}: done`;
      },
      { effect: "write" },
    ),
  );
  return workflow("order", async (session) => {
    let at = session;
    for (const one of steps) at = await one.forward(at);
    return at.say("The order is on its way.", { role: "assistant" });
  });
}

const [, , role, folder] = process.argv;
if (role === "work" && folder !== undefined) await work(folder);
else await watch();

/** The process that is going to be killed. @param {string} place */
async function work(place) {
  const rath = openRath({ store: `sqlite:${join(place, "rath.db")}` });
  const flow = orderFlow(join(place, "ledger.txt"));
  rath.observe((event) => {
    if (event.kind !== "fact") return;
    const { fact } = event.session;
    if (fact.type === "effect-start" || fact.type === "step-result")
      say(`recorded ${fact.type} (seq ${fact.seq})`);
  });
  const unfinished = (await rath.unfinished()).some(({ name }) => name === "order-7");
  if (unfinished) say("there is an unfinished run: going on where the record ends");
  const session = unfinished
    ? await rath.resume("order-7", flow)
    : await rath.run(flow, rath.start("Ship order 7."), { name: "order-7" });
  say(
    session.fact.type === "run-end"
      ? "finished"
      : `waits for ${(await rath.pending("order-7")).map((one) => one.what)}`,
  );
  await rath.close();
}

/** The process that kills it, settles what is in doubt, and checks. */
async function watch() {
  const place = mkdtempSync(join(tmpdir(), "openrath-durable-"));
  const ledger = join(place, "ledger.txt");
  try {
    // After so many lines of the ledger the process dies; after the last one it may live.
    for (const deaths = [2, 4]; ; ) {
      const death = deaths.shift();
      await worker(place, death === undefined ? {} : { killAt: () => lines(ledger) === death });
      const settled = await settle(place, ledger);
      if (death === undefined && !settled) break;
    }
    const rath = openRath({ store: `sqlite:${join(place, "rath.db")}` });
    const session = await rath.replay("order-7", orderFlow(ledger), { mode: "verify" });
    await leaveDossier(await rath.store(), "order-7", "durable");
    await rath.close();
    console.log(`\nledger: ${readFileSync(ledger, "utf8").trim().split("\n").join(", ")}`);
    console.log(`replayed without doing anything: session ${session.id.slice(0, 12)}, the same id`);
    assert.deepEqual(
      readFileSync(ledger, "utf8").trim().split("\n"),
      STEPS,
      "each effect happened once, in order",
    );
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

/**
 * A write that was under way when the process died is never repeated in silence: somebody who can find out says what
 * became of it. Here the ledger tells.
 *
 * @param {string} place @param {string} ledger
 */
async function settle(place, ledger) {
  const rath = openRath({ store: `sqlite:${join(place, "rath.db")}` });
  const doubts = (await rath.pending("order-7")).filter((one) => one.doubt);
  for (const { id, what } of doubts) {
    const happened = readFileSync(ledger, "utf8").includes(what);
    console.log(`   in doubt: "${what}". The ledger says it ${happened ? "happened" : "did not happen"}.`);
    await rath.settle("order-7", {
      of: id,
      by: "user:you",
      ...(happened ? { decision: "done", value: `${what}: done` } : { decision: "again" }),
      why: "looked it up in the ledger",
    });
  }
  await rath.close();
  return doubts.length > 0;
}

/**
 * Runs the worker until it ends or until it is time to kill it.
 *
 * @param {string} place
 * @param {{ killAt?: () => boolean }} options
 * @returns {Promise<void>}
 */
function worker(place, { killAt }) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [fileURLToPath(import.meta.url), "work", place], {
      stdio: "inherit",
    });
    console.log(`\n-- process ${child.pid}`);
    const timer = setInterval(() => {
      if (killAt?.() !== true) return;
      clearInterval(timer);
      console.log(`   kill -9 ${child.pid}`);
      child.kill("SIGKILL");
    }, 5);
    child.once("error", reject);
    child.once("exit", (code, signal) => {
      clearInterval(timer);
      if (code === 0 || signal === "SIGKILL") resolve();
      else reject(new Error(`the worker ended with ${code ?? signal}`));
    });
  });
}

/** @param {string} ledger */
function lines(ledger) {
  return existsSync(ledger) ? readFileSync(ledger, "utf8").trim().split("\n").length : 0;
}

/** @param {string} text */
function say(text) {
  console.log(`   ${text}`);
}
