import type { ChildProcess } from "node:child_process";
import { afterEach, expect, it } from "vitest";
import { digestOf, Session } from "../session/index.js";
import { FileShelf } from "./file.js";
import { outputOf, startChild } from "./testing/child.js";
import { folder } from "./testing/example.js";

const ROUNDS = Number(process.env.OPENRATH_CRASH_ROUNDS ?? 10);

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});
const start = (body: string, args: readonly string[]): ChildProcess => {
  const child = startChild(body, args);
  children.push(child);
  return child;
};
const firstLine = (child: ChildProcess): Promise<string> =>
  new Promise((done) => child.stdout?.once("data", (data) => done(String(data).trim())));

const HELPERS = `
import { writeSync } from "node:fs";
import { createHash } from "node:crypto";
const [path, who, rounds] = process.argv.slice(2);
const shelf = await FileShelf.open(path);
const say = (text) => writeSync(1, text + "\\n");
const facts = (sessions) => sessions.map(({ id, line }) => ({ id, line }));
`;

/** Writes without end, and says what was acknowledged. */
const WRITER = `${HELPERS}
const writer = async (name) => {
  let session = Session.start(name + " " + process.pid);
  await shelf.commit({ facts: facts([session]), blobs: [] });
  for (let step = 0; ; step++) {
    const next = session.say("x".repeat(Math.floor(Math.random() * 3000)));
    const more = next.say("y");
    const bytes = Buffer.from(name + step + process.pid);
    const digest = createHash("sha256").update(bytes).digest("hex");
    await shelf.commit({ facts: facts([next, more]), blobs: [{ digest, bytes }], move: { name, head: more.id, expect: "any", key: String(step) + process.pid, now: 0 } });
    session = more;
    say([name, more.id, digest].join(" "));
  }
};
await Promise.all([writer(who + "1"), writer(who + "2"), writer(who + "3")]);
`;

it(`[FC1] ${ROUNDS} kills at random moments: all that was acknowledged is there, and the store is sound`, async () => {
  const path = folder();
  const acknowledged: { id: string; digest: string }[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const writers = [start(WRITER, [path, "a"]), start(WRITER, [path, "b"])];
    const outputs = writers.map(outputOf);
    await Promise.all(writers.map((child) => new Promise((done) => child.stdout?.once("data", done))));
    await new Promise((done) => setTimeout(done, Math.random() * 150));
    for (const child of writers) child.kill("SIGKILL");
    const standing = new Map<string, string>();
    for (const output of await Promise.all(outputs)) {
      for (const line of output.split("\n").slice(0, -1)) {
        const [name, id, digest] = line.split(" ") as [string, string, string];
        standing.set(name, id);
        acknowledged.push({ id, digest });
      }
    }
    const shelf = await FileShelf.open(path);
    const lines = await shelf.lines(acknowledged.map(({ id }) => id));
    expect(lines.filter((line) => line === undefined)).toEqual([]);
    for (const { digest } of acknowledged) expect(shelf.blob(digest)).toBeDefined();
    for (const [name, id] of standing) {
      // The last step may have been done without anyone having heard of it.
      const head = (await shelf.name(name))?.head as string;
      const past: string[] = [];
      for await (const batch of shelf.history([head])) past.push(...batch);
      expect(past.slice(-3).map(digestOf)).toContain(id);
    }
    const findings = [];
    for await (const finding of shelf.examine()) findings.push(finding);
    expect(findings).toEqual([]);
    await shelf.close();
  }
  expect(acknowledged.length).toBeGreaterThan(ROUNDS);
});

/** Moves one counter forward, each step once, whoever comes first. */
const STEPPER = `${HELPERS}
let won = 0;
for (let step = 0; step < Number(rounds); ) {
  const record = await shelf.name("main");
  const head = record?.head ?? null;
  const [line] = head === null ? [] : await shelf.lines([head]);
  step = line === undefined ? 0 : JSON.parse(line).fact.step;
  if (step >= Number(rounds)) break;
  const past = head === null ? undefined : Session.restore(line, undefined, { inline: 4096 }, step);
  const next = past === undefined ? Session.start("x", { nonce: who }).append({ type: "note", by: "agent", step: 1 }) : past.append({ type: "note", by: "agent", who, step: step + 1 });
  const sessions = past === undefined ? [...next.history()] : [next];
  const done = await shelf.commit({ facts: facts(sessions), blobs: [], move: { name: "main", head: next.id, expect: head, now: 0 } });
  if (done.outcome === "done") won += 1;
  else if (done.outcome !== "conflict") throw new Error(JSON.stringify(done));
}
say(String(won));
await shelf.close();
`;

it("[FC2] processes that write to one name: exactly one wins each step", async () => {
  const path = folder();
  const steppers = Array.from({ length: 4 }, (_, index) => start(STEPPER, [path, `p${index}`, "100"]));
  const won = (await Promise.all(steppers.map(outputOf))).map(Number);
  expect(won.reduce((sum, count) => sum + count, 0)).toBe(100);
  const shelf = await FileShelf.open(path);
  const head = (await shelf.name("main"))?.head as string;
  // The start, and one note per step.
  expect(await shelf.count(head)).toBe(101);
  await shelf.close();
});

it("[FC3] a process that was stopped while it held the lock makes others wait, then refuse; its death frees them", async () => {
  const path = folder();
  const shelf = await FileShelf.open(path, undefined, { patience: 300 });
  const session = Session.start("hi");
  const commit = { facts: [{ id: session.id, line: session.line }], blobs: [] };
  const holder = start(
    `${HELPERS}\nimport fs from "node:fs"; import { syncBuiltinESMExports } from "node:module";
fs.fdatasyncSync = () => { say("held"); process.kill(process.pid, "SIGSTOP"); }; syncBuiltinESMExports();
const session = Session.start("x"); await shelf.commit({ facts: facts([session]), blobs: [] });`,
    [path],
  );
  await firstLine(holder);
  await new Promise((done) => setTimeout(done, 50));
  await expect(shelf.commit(commit)).rejects.toMatchObject({ code: "store-locked" });
  // Reading needs no lock.
  expect(await shelf.names()).toEqual([]);
  holder.kill("SIGKILL");
  await new Promise((done) => holder.once("close", done));
  expect(await shelf.commit(commit)).toMatchObject({ outcome: "done", written: 1 });
  await shelf.close();
});
