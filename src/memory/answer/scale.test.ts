import { monitorEventLoopDelay } from "node:perf_hooks";
import { describe, expect, it } from "vitest";
import { digestOf, type Fact, type FactId, writeLine } from "../../session/index.js";
import { openStore, type Store } from "../../store/index.js";
import { folder } from "../../store/testing/folder.js";
import { forkBefore, influence, influenceText, why, whyText } from "./index.js";

/** `OPENRATH_LINEAGE_FACTS=1000000 npx vitest run src/memory/answer/scale.test.ts` measures, and says what it measured. */
const FACTS = Number(process.env.OPENRATH_LINEAGE_FACTS ?? 4_000);
const figures = FACTS >= 1_000_000;
const SESSION = figures ? 1_000 : 200;

type Body = { readonly type: Fact["type"]; readonly [field: string]: unknown };

/** Lines that are made as they are taken in: nobody holds a million of them. */
class Writer {
  #count = 0;
  last: FactId = "";
  line(parents: readonly FactId[], { type, ...body }: Body): string {
    const at = new Date(Date.UTC(2026, 0, 1) + this.#count++ * 10).toISOString();
    const line = writeLine(parents, { type, at, by: "agent", ...body } as unknown as Fact, { inline: 4096 });
    this.last = digestOf(line);
    return line;
  }
}

/** A session with its readings, turn after turn: words, a call, a reply, a call of a tool, its result. */
function* session(
  writer: Writer,
  length: number,
  memory: FactId | undefined,
  readAt: number,
): Generator<string> {
  yield writer.line([], {
    type: "session-start",
    by: "user",
    nonce: `${length} ${writer.last}`,
    text: "Go.",
  });
  for (let place = 1; place < length; place++) {
    const parents = [writer.last];
    if (memory !== undefined && place === readAt)
      yield writer.line(parents, {
        type: "memory-read",
        space: "notes",
        query: "?",
        hits: [{ memory, score: 1 }],
        shown: "…",
      });
    else yield writer.line(parents, turn(place, writer.last));
  }
}

function turn(place: number, last: FactId): Body {
  const content = "a few words that stand for what is said in a message of some length, ".repeat(2);
  switch (place % 5) {
    case 0:
      return { type: "message-say", by: "user", role: "user", content };
    case 1:
      return { type: "model-call", model: "m" };
    case 2:
      return { type: "model-reply", of: last, content, finish: "stop", usage: { input: 1, output: 1 } };
    case 3:
      return { type: "tool-call", name: "look", input: { place } };
    default:
      return { type: "tool-result", of: last, output: content };
  }
}

async function memoryIn(store: Store, writer: Writer): Promise<FactId> {
  const lines = [
    writer.line([], { type: "session-start", by: "user", nonce: "evidence", text: "It is blue." }),
  ];
  const because = [writer.last];
  await store.import(lines, { name: "evidence" });
  const space = [
    writer.line([], { type: "session-start", by: "user", nonce: "space" }),
    writer.line([writer.last], {
      type: "memory-write",
      space: "notes",
      text: "It is blue.",
      scope: "user:ada",
      source: "human-correction",
      because,
    }),
  ];
  const memory = writer.last;
  await store.import(space, { name: "memory/notes" });
  return memory;
}

async function timed<Value>(name: string, act: () => Promise<Value>, times = 1): Promise<Value> {
  const took: number[] = [];
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  let value: Value | undefined;
  for (let time = 0; time < times; time++) {
    const began = performance.now();
    value = await act();
    took.push(performance.now() - began);
  }
  delay.disable();
  took.sort((one, other) => one - other);
  if (figures)
    console.log(
      `${name}: ${took[took.length >> 1]?.toFixed(1)} ms${times > 1 ? ` p50 of ${times}` : ""}, others waited ${(delay.max / 1e6).toFixed(0)} ms at most, ${(delay.percentile(99) / 1e6).toFixed(0)} ms p99`,
    );
  return value as Value;
}

describe.each(["sqlite"])("many facts in a %s store", (kind) => {
  it("[A12] answers over many sessions", { timeout: 1_200_000 }, async () => {
    const store = await openStore(`${kind}:${folder()}/store`);
    const writer = new Writer();
    const memory = await memoryIn(store, writer);
    const count = FACTS / SESSION;
    for (let number = 0; number < count; number++)
      await store.import(session(writer, SESSION, number % 5 === 0 ? memory : undefined, SESSION / 2 + 1), {
        name: `s/${number}`,
      });
    let told = 0;
    const many = await timed(`${kind}: ${count} sessions of ${SESSION}: build`, () =>
      influence(store, memory, {
        progress: (done) => {
          told = done;
        },
      }),
    );
    expect(told).toBe((await store.names()).length + FACTS + 3);
    expect(many.sessions).toHaveLength(Math.ceil(count / 5));
    expect(many.totals.facts).toBe(Math.ceil(count / 5) * (SESSION / 2 - 1));
    await timed(`${kind}: influence, many sessions`, () => influence(store, memory), figures ? 11 : 1);
    await timed(`${kind}: why, many sessions`, () => why(store, memory), figures ? 11 : 1);
    await store.import(turnAfter(writer, many.sessions[0]?.id as FactId), {
      name: many.sessions[0]?.name as string,
    });
    const more = await timed(`${kind}: influence after 5 facts more`, () => influence(store, memory));
    expect(more.totals.facts).toBe(many.totals.facts + 5);
    expect(whyText(await why(store, memory))).toContain("[person]: It is blue.");
    expect(influenceText(more)).toContain("sessions");
    const { forks } = await forkBefore(store, more, {
      by: "user:ada",
      why: "It is red.",
      names: [more.sessions[0]?.name as string],
    });
    expect(forks[0]?.before).toBe(more.sessions[0]?.before);
    await store.close();
  });

  it("[A12] answers over one long session with an early reading", { timeout: 1_200_000 }, async () => {
    const store = await openStore(`${kind}:${folder()}/store`);
    const writer = new Writer();
    const memory = await memoryIn(store, writer);
    await store.import(session(writer, FACTS, memory, 11), { name: "long" });
    const long = await timed(`${kind}: one session of ${FACTS}: build`, () => influence(store, memory));
    expect(long.totals.facts).toBe(FACTS - 11);
    expect(long.decisions).toHaveLength(1_000);
    expect(long.more).toBe(true);
    await timed(`${kind}: influence, one session`, () => influence(store, memory), figures ? 11 : 1);
    await timed(`${kind}: why, one session`, () => why(store, memory), figures ? 11 : 1);
    await store.import(turnAfter(writer, long.sessions[0]?.id as FactId), { name: "long" });
    const more = await timed(`${kind}: influence after 5 facts more`, () => influence(store, memory));
    expect(more.totals.facts).toBe(long.totals.facts + 5);
    await store.close();
  });
});

function* turnAfter(writer: Writer, head: FactId): Generator<string> {
  writer.last = head;
  for (let place = 0; place < 5; place++) yield writer.line([writer.last], turn(place, writer.last));
}
