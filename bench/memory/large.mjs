// @ts-check
// What a recall, a write and an answer cost when there is much of everything.
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Session } from "openrath";
import { closeIndexes, influence, memory, why } from "openrath/memory";
import { openStore } from "openrath/store";
import { median, time, timeAsync } from "../measure.mjs";
import { Bm25 } from "./bm25.mjs";
import { withServerMemory } from "./server-memory.mjs";

const SUBJECTS =
  "server client database cache queue gateway scheduler parser renderer index worker mailer".split(" ");
const VERBS = "restarts fails waits writes reads drops retries logs caches signs verifies exports".split(" ");
const WHEN =
  "at night,after a deploy,under load,in staging,in production,on Fridays,when the disk is full,without a key".split(
    ",",
  );
const WHO = "Ada Bob Chen Dora Emre Fatou Goran Hana Ines Jun Kofi Lena".split(" ");

/** A note that differs from all others and shares its words with many. @param {number} place */
function noteOf(place) {
  let state = place * 2654435761 + 1;
  const pick = (/** @type {readonly string[]} */ words) => {
    state = (Math.imul(state ^ (state >>> 13), 0x5bd1e995) + place) >>> 0;
    return words[state % words.length];
  };
  return `The ${pick(SUBJECTS)} ${place} of ${pick(WHO)} ${pick(VERBS)} ${pick(WHEN)}; ticket T-${place} says port ${place % 60_000} and the ${pick(SUBJECTS)} ${pick(VERBS)} ${pick(WHEN)}.`;
}

/** @param {{ progress: (text: string) => void, memories: number, facts: number }} options */
export async function measureLarge({ progress, memories, facts }) {
  const folder = mkdtempSync(join(tmpdir(), "openrath-bench-"));
  try {
    return {
      memories,
      facts,
      ...(await recalls(folder, progress, memories)),
      ...(await writes(folder, progress)),
      ...(await answers(folder, progress, facts)),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {string} folder @param {(text: string) => void} progress @param {number} memories */
async function recalls(folder, progress, memories) {
  progress(`${memories} memories`);
  const store = await openStore(`sqlite:${join(folder, "large.db")}`);
  let session = Session.start();
  const evidence = Session.start("evidence");
  await store.save(evidence, { name: "evidence" });
  session = session.append({
    type: "memory-space",
    space: "large",
    scope: ["project:bench"],
    by: "user:bench",
  });
  for (let place = 0; place < memories; place++) {
    session = session.append({
      type: "memory-write",
      space: "large",
      text: noteOf(place),
      scope: ["project:bench"],
      source: "human-correction",
      because: [evidence.id],
      origins: ["user"],
      by: "user:bench",
    });
    if (place % 5_000 === 4_999) await store.save(session, { name: "memory/large" });
  }
  await store.save(session, { name: "memory/large" });
  const space = memory({ name: "large", scope: "project:bench" }).open(store);
  progress("making its index");
  const build = await timeAsync(() => space.prepare());
  const vectors = await timeAsync(() => space.find("warm"));
  const questions = Array.from({ length: 60 }, (_, place) =>
    place % 2 === 0
      ? `what happens to the ${SUBJECTS[place % SUBJECTS.length]} of ${WHO[place % WHO.length]} ${WHEN[place % WHEN.length]}?`
      : `ticket T-${place * 997}`,
  );
  /** @type {{ [mode: string]: number[] }} */
  const times = { fused: [], words: [], meaning: [] };
  progress("recalls");
  for (const question of questions)
    for (const mode of /** @type {const} */ (["fused", "words", "meaning"]))
      times[mode]?.push(await timeAsync(() => space.find(question, { mode })));
  await closeIndexes(store);
  const reopened = await timeAsync(() => space.find("warm"));
  const bm25 = new Bm25(
    Array.from({ length: memories }, (_, place) => ({ id: `${place}`, text: noteOf(place) })),
  );
  const plain = questions.map((question) => time(() => bm25.find(question, 5)));
  const peer = await withServerMemory(async (server) => {
    progress("MCP server-memory");
    const few = Math.min(memories, 10_000);
    await server.keep(Array.from({ length: few }, (_, place) => ({ id: `n${place}`, text: noteOf(place) })));
    const asked = [];
    for (const question of questions.slice(0, 20)) asked.push(await timeAsync(() => server.find(question)));
    return { server_memory_large_ms: median(asked), server_memory_large_notes: few };
  });
  await store.close();
  return {
    index_build_ms: build,
    index_vectors_ms: vectors,
    index_reopen_ms: reopened,
    recall_ms: median(times.fused ?? []),
    recall_words_ms: median(times.words ?? []),
    recall_meaning_ms: median(times.meaning ?? []),
    bm25_large_ms: median(plain),
    ...peer,
  };
}

/** One memory with its evidence, on disk, beside as many bytes appended to a file and synced. @param {string} folder @param {(text: string) => void} progress */
async function writes(folder, progress) {
  progress("writes");
  const store = await openStore(`sqlite:${join(folder, "writes.db")}`);
  const evidence = Session.start("evidence");
  await store.save(evidence, { name: "evidence" });
  const space = memory({ name: "writes", scope: "project:bench" }).open(store);
  const file = openSync(join(folder, "raw.log"), "a");
  const ours = [];
  const raw = [];
  for (let place = 0; place < 1_500; place++) {
    const text = noteOf(place);
    raw.push(
      time(() => {
        writeSync(file, text.repeat(5));
        fdatasyncSync(file);
      }),
    );
    ours.push(
      await timeAsync(() =>
        space.write({ text, because: [evidence.id], source: "human-correction", by: "user:bench" }),
      ),
    );
  }
  closeSync(file);
  await store.close();
  return { write_ms: median(ours.slice(500)), write_fdatasync_ms: median(raw.slice(500)) };
}

/** Sessions of a thousand facts each, of which every fifth read the memory. @param {string} folder @param {(text: string) => void} progress @param {number} facts */
async function answers(folder, progress, facts) {
  const store = await openStore(`sqlite:${join(folder, "answers.db")}`);
  const evidence = Session.start("evidence");
  await store.save(evidence, { name: "evidence" });
  const space = memory({ name: "answers", scope: "project:bench" }).open(store);
  const { memory: id, head } = await space.write({
    text: "The gateway trusts every certificate.",
    because: [evidence.id],
    source: "human-correction",
    by: "user:bench",
  });
  const length = 1_000;
  for (let place = 0; place * length < facts; place++) {
    if (place % 50 === 0) progress(`${place * length} facts`);
    let session = Session.start(`session ${place}`);
    for (let step = 1; step < length; step += 4) {
      if (step === 401 && place % 5 === 0)
        session = session.append({
          type: "memory-read",
          space: "answers",
          head,
          query: "certificates",
          hits: [{ memory: id, score: 0.9, text: "The gateway trusts every certificate." }],
          shown: "…",
        });
      const call = session.append({ type: "tool-call", name: "look", input: { step } });
      const result = call.append({ type: "tool-result", of: call.id, output: `seen at ${step}` });
      const asked = result.append({ type: "model-call", model: "m" });
      session = asked.append({
        type: "model-reply",
        of: asked.id,
        content: `It is ${step}.`,
        finish: "stop",
        usage: { input: 1, output: 1 },
      });
    }
    await store.save(session, { name: `session/${place}` });
  }
  progress("making the index of who read what");
  const build = await timeAsync(() => influence(store, id));
  const times = [];
  const reasons = [];
  /** @type {Awaited<ReturnType<typeof influence>> | undefined} */
  let found;
  for (let round = 0; round < 15; round++) {
    times.push(
      await timeAsync(async () => {
        found = await influence(store, id);
      }),
    );
    reasons.push(await timeAsync(() => why(store, id)));
  }
  await store.close();
  return {
    influence_build_ms: build,
    influence_ms: median(times),
    influence_sessions: found?.sessions.length ?? 0,
    influence_facts: found?.totals.facts ?? 0,
    why_ms: median(reasons),
  };
}
