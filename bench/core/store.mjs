// @ts-check
// The SQLite store: what a durable step costs beside the disk itself, how it grows, how it opens.
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Session } from "openrath";
import { openStore } from "openrath/store";
import { median, time, timeAsync, words } from "../measure.mjs";
import { measureLong } from "./million.mjs";

const KILOBYTE = 1024;

/** @param {{ progress: (text: string) => void, facts: number }} options */
export async function measureStore({ progress, facts }) {
  const folder = mkdtempSync(join(tmpdir(), "openrath-bench-"));
  try {
    return {
      ...(await durable(folder, progress)),
      ...(await grouped(folder, progress)),
      ...(await growth(folder, progress)),
      ...(await loading(folder, progress)),
      ...(await measureLong(folder, progress, facts)),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** One fact, on disk, beside the same bytes appended to a file and synced: turn by turn, on the same disk. @param {string} folder @param {(text: string) => void} progress */
async function durable(folder, progress) {
  progress("durable appends of 1 KB");
  const store = await openStore(`sqlite:${join(folder, "durable.db")}`);
  const file = openSync(join(folder, "raw.log"), "a");
  const ours = [];
  const raw = [];
  let session = Session.start("durable");
  for (let step = 0; step < 1_500; step++) {
    session = session.say(words(KILOBYTE, step));
    const bytes = Buffer.from(`${session.line}\n`);
    raw.push(
      time(() => {
        writeSync(file, bytes);
        fdatasyncSync(file);
      }),
    );
    ours.push(await timeAsync(() => store.save(session, { name: "durable" })));
  }
  closeSync(file);
  await store.close();
  return {
    durable_append_ms: median(ours),
    fdatasync_append_ms: median(raw),
    durable_vs_fdatasync: median(ours) / median(raw),
  };
}

/** @param {string} folder @param {(text: string) => void} progress */
async function grouped(folder, progress) {
  progress("32 sessions with group commit");
  const grouped_facts_per_s = await rateOf(`sqlite:${join(folder, "grouped.db")}`);
  // A database of one's own, for numbers: postgres://USER@HOST/DATABASE?schema=NEW
  const url = process.env.OPENRATH_BENCH_POSTGRES;
  return { grouped_facts_per_s, ...(url && { postgres_facts_per_s: await rateOf(url) }) };
}

/** 32 sessions at once, each waiting for its own fact to be kept. @param {string} url */
async function rateOf(url) {
  const store = await openStore(url);
  const rates = [];
  const texts = Array.from({ length: 200 }, (_, step) => words(KILOBYTE, step));
  for (let round = 0; round < 7; round++) {
    const sessions = Array.from({ length: 32 }, (_, index) => Session.start(`${round} ${index}`));
    const elapsed = await timeAsync(() =>
      Promise.all(
        sessions.map(async (start, index) => {
          let session = start;
          for (const text of texts) {
            session = session.say(text);
            await store.save(session, { name: `${round} ${index}` });
          }
        }),
      ),
    );
    rates.push((sessions.length * texts.length) / (elapsed / 1000));
  }
  await store.close();
  return median(rates);
}

/** The file after as many steps, each saved by itself as an agent would. Words of people are kept apart, to be erasable. @param {string} folder @param {(text: string) => void} progress */
async function growth(folder, progress) {
  const sizes = [];
  let lineBytes = 0;
  for (const [role, steps] of /** @type {["user" | "assistant", number][]} */ ([
    ["user", 2_000],
    ["assistant", 1_000],
    ["assistant", 10_000],
  ])) {
    progress(`bytes per step of the ${role} at ${steps.toLocaleString("en")} steps`);
    const path = join(folder, `growth-${role}-${steps}.db`);
    const store = await openStore(`sqlite:${path}`);
    let session = Session.start("growth");
    lineBytes = 0;
    for (let step = 0; step < steps; step++) {
      session = session.say(words(KILOBYTE, step), { role });
      lineBytes += session.line.length;
      await store.save(session, { name: "growth" });
    }
    await store.close();
    sizes.push(statSync(path).size / steps);
  }
  return {
    bytes_per_message_of_person: sizes[0],
    bytes_per_step_1k: sizes[1],
    bytes_per_step_10k: sizes[2],
    content_bytes_per_step: KILOBYTE,
    line_bytes_per_step: lineBytes / 10_000,
  };
}

/** A whole session and its transcript from the file. @param {string} folder @param {(text: string) => void} progress */
async function loading(folder, progress) {
  progress("loading 10,000 facts with their transcript");
  const store = await openStore(`sqlite:${join(folder, "load.db")}`);
  const results = [];
  for (const [name, facts, bytes] of /** @type {[string, number, number][]} */ ([
    ["ten", 10_000, 200],
    ["one", 1_000, KILOBYTE],
  ])) {
    let session = Session.start("load");
    for (let step = 1; step < facts; step++) session = session.say(words(bytes, step));
    await store.save(session, { name });
    const times = [];
    for (let round = 0; round < 25; round++)
      times.push(await timeAsync(async () => (await store.load(name)).transcript.length));
    results.push(median(times));
  }
  // The peer's fork is one more checkpoint at an earlier one: here, a fork that is saved.
  const session = await store.load("one");
  const forks = [];
  for (let count = 0; count < 50; count++)
    forks.push(await timeAsync(() => store.save(session.fork(`f${count}`), { name: `f${count}` })));
  await store.close();
  return { load_10k_ms: results[0], load_1k_1kb_ms: results[1], fork_saved_ms: median(forks) };
}
