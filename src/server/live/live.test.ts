import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { agent } from "../../agent/index.js";
import { scripted } from "../../agent/model/index.js";
import { serve } from "../../connect/front/index.js";
import { openRath } from "../../runtime/index.js";
import { Session } from "../../session/index.js";
import { campaign } from "../../session/testing/campaign.js";
import { openStore, type Store } from "../../store/index.js";
import { client } from "../contract/client.js";
import { Users } from "../identity/users.js";
import { server } from "../server.js";
import { type Events, eventsOf } from "../testing/events.js";
import { folder, payer, serving } from "../testing/serving.js";

const CUTS = campaign(200);
const STREAMS = campaign(1_000);

/** Numbers that look random, and are the same in each run. */
function dice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * sides);
  };
}

/** A server over a store in a file, which can be started again. */
async function restartable() {
  const home = folder();
  const users = new Users(join(home, "users.json"));
  const { token } = users.add({ name: "ada", roles: ["view"], under: "*" });
  const other = users.add({ name: "bea", roles: ["view"], under: "n1*" });
  const start = async () => {
    const store = await openStore(`sqlite:${join(home, "rath.db")}`);
    const rath = openRath({ store });
    const handler = server(rath, { auth: { users: users.file } });
    const { url, close } = await serve(handler);
    const stop = async (): Promise<void> => {
      handler.close();
      await close();
      await rath.close();
      await store.close();
    };
    return { store, url, stop };
  };
  let running = await start();
  onTestFinished(() => running.stop());
  return {
    tokens: [token, other.token],
    get store(): Store {
      return running.store;
    },
    get url(): string {
      return running.url;
    },
    restart: async () => {
      await running.stop();
      running = await start();
    },
  };
}

/** What a reader knows of each name, and how: each event must go on from where the last one ended. */
class Follower {
  readonly heads = new Map<string, string | null>();
  readonly faults: string[] = [];
  last: string | undefined;
  events = 0;

  async open(url: string, token: string, signal: AbortSignal): Promise<Events> {
    const headers = this.last === undefined ? {} : { "last-event-id": this.last };
    return eventsOf(await client(url, { token }).events({}, { signal, headers }));
  }

  /** Reads events until there are so many, or until a condition holds. */
  async read(events: Events, most: number, enough: () => boolean = () => false): Promise<void> {
    for (let count = 0; count < most && !enough(); ) {
      const event = await events.read().catch(() => undefined);
      if (event === undefined) return;
      if (event.id !== undefined) this.last = event.id;
      if (event.event === "reset") this.faults.push("reset");
      if (event.event !== "move") continue;
      count += 1;
      this.events += 1;
      const { name, head, before } = event.data as { name: string; head: string; before: string | null };
      const known = this.heads.get(name) ?? null;
      if (before !== known) this.faults.push(`${name}: from ${before}, and it was told ${known}`);
      this.heads.set(name, head);
    }
  }
}

it(`[SL2] ${CUTS} random cuts and restarts lose no move and tell none twice`, {
  timeout: 600_000,
}, async () => {
  const random = dice(17);
  const ground = await restartable();
  const sessions = new Map<string, Session>();
  const move = async (): Promise<void> => {
    const name = `n${random(12)}`;
    const session = sessions.get(name)?.append({ type: "note", kind: "tick" }) ?? Session.start(name);
    sessions.set(name, session);
    await ground.store.save(session, { name });
  };
  const [ada, bea] = [new Follower(), new Follower()];
  const followers = [ada, bea].map((follower, place) => ({
    follower,
    token: ground.tokens[place] as string,
  }));
  let cuts = 0;
  while (cuts < CUTS) {
    const stop = new AbortController();
    const open = await Promise.all(
      followers.map(({ follower, token }) => follower.open(ground.url, token, stop.signal)),
    );
    // Readers that never heard anything know where they begin only from the greeting.
    if (ada.last === undefined)
      await Promise.all(
        open.map(async (events, place) => {
          const { id } = await events.next("hello");
          (followers[place] as (typeof followers)[number]).follower.last = id as string;
        }),
      );
    const reading = followers.map(({ follower }, place) => follower.read(open[place] as Events, random(9)));
    for (let moves = random(20); moves >= 0; moves--) await move();
    await Promise.race([Promise.all(reading), new Promise((resolve) => setTimeout(resolve, random(40)))]);
    stop.abort();
    await Promise.all(reading);
    cuts += 2;
    if (random(10) === 0) await ground.restart();
    else if (random(25) === 0) for (let moves = 0; moves < 300; moves++) await move();
  }
  const stop = new AbortController();
  for (const { follower, token } of followers) {
    const mine = [...sessions].filter(([name]) => follower === ada || name.startsWith("n1"));
    const events = await follower.open(ground.url, token, stop.signal);
    await follower.read(events, Number.POSITIVE_INFINITY, () =>
      mine.every(([name, { id }]) => follower.heads.get(name) === id),
    );
    expect(follower.faults).toEqual([]);
    expect([...follower.heads.keys()].sort()).toEqual(mine.map(([name]) => name).sort());
  }
  stop.abort();
  expect(ada.events).toBeGreaterThan(CUTS / 4);
});

it("[SL3] a reader that is too far behind is told to read anew", async () => {
  const { store, url, token } = await serving();
  const ada = client(url, { token: token("ada", ["view"]) });
  const first = eventsOf(await ada.events());
  const { id } = await first.next("hello");
  await first.stop();
  let session = Session.start("x");
  for (let count = 0; count < 8_200; count++) {
    session = session.append({ type: "note", kind: "tick" });
    await store.save(session, { name: "busy" });
  }
  const again = eventsOf(await ada.events({}, { headers: { "last-event-id": id as string } }));
  const reset = await again.next("reset");
  await store.save(session.append({ type: "note", kind: "last" }), { name: "busy" });
  expect(await again.next("move")).toMatchObject({ data: { name: "busy", before: session.id } });
  await again.stop();
  const next = eventsOf(await ada.events({}, { headers: { "last-event-id": reset.id as string } }));
  expect(await next.next("move")).toMatchObject({ data: { before: session.id } });
  await next.stop();
});

it("[SL4] the answers of running models are told while they are written", async () => {
  let open = (): void => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  // The answer does not end before somebody has read of it.
  const model = scripted("One two three four five.") as unknown as {
    doStream(options: unknown): Promise<{ stream: ReadableStream<{ readonly type: string }> }>;
  };
  const slow = new TransformStream<{ readonly type: string }>({
    transform: async (piece, controller) => {
      if (piece.type === "text-end") await gate;
      controller.enqueue(piece);
    },
  });
  const doStream = async (options: unknown) => ({
    stream: (await model.doStream(options)).stream.pipeThrough(slow),
  });
  const talker = agent({ name: "talker", model: { ...model, doStream } as never });
  const { url, token } = await serving({ modules: { talker } });
  const ada = client(url, { token: token("ada", ["run"], "a/*") });
  const eve = client(url, { token: token("eve", ["view"], "b/*") });
  const [mine, others] = [eventsOf(await ada.events()), eventsOf(await eve.events())];
  await Promise.all([mine.next("hello"), others.next("hello")]);
  await ada.run({ module: "talker", name: "a/1", text: "Count." });
  expect(await mine.next("delta")).toMatchObject({
    data: { name: "a/1", text: expect.stringContaining("One") },
  });
  open();
  await Promise.all([mine.stop(), others.stop()]);
});

it(`[SL5] ${STREAMS} open streams are told every move, however fast names move`, {
  timeout: 600_000,
}, async () => {
  const { store, url, token } = await serving({
    limits: {
      streams: STREAMS + 10,
      streamsPerPerson: STREAMS + 10,
      requests: { burst: 10_000, perSecond: 10_000 },
    },
  });
  const who = token("ada", ["view"]);
  const stop = new AbortController();
  const readers = await Promise.all(
    Array.from({ length: STREAMS }, async () => {
      const follower = new Follower();
      const events = await follower.open(url, who, stop.signal);
      await events.next("hello");
      return { follower, events };
    }),
  );
  // A reader that takes nothing costs the others nothing.
  const slow = await client(url, { token: who }).events({}, { signal: stop.signal });
  const sessions = Array.from({ length: 10 }, (_, place) => Session.start(`n${place}`));
  const last = new Map<string, string>();
  const reading = readers.map(({ follower, events }) =>
    follower.read(
      events,
      Number.POSITIVE_INFINITY,
      () => last.size === 10 && [...last].every(([name, head]) => follower.heads.get(name) === head),
    ),
  );
  const begun = performance.now();
  for (let count = 0; count < 2_000; count++) {
    const place = count % 10;
    const session = (sessions[place] as Session).append({ type: "note", kind: "tick" });
    sessions[place] = session;
    // Before it is saved: a reader that hears of the last move looks whether it was the last.
    if (count >= 1_990) last.set(`n${place}`, session.id);
    await store.save(session, { name: `n${place}` });
    if (process.env.OPENRATH_RATE === "1000" && count % 20 === 0)
      await new Promise((resolve) => setTimeout(resolve, begun + count - performance.now()));
  }
  const written = performance.now() - begun;
  await Promise.all(reading);
  if (process.env.OPENRATH_RATE !== undefined) {
    const { rss, heapUsed } = process.memoryUsage();
    const numbers = { streams: STREAMS, written, told: performance.now() - begun, rss, heapUsed };
    process.stdout.write(`${JSON.stringify(numbers)}\n`);
  }
  for (const { follower } of readers) expect(follower.faults).toEqual([]);
  stop.abort();
  await slow.body?.cancel().catch(() => {});
});

function gate(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

/** A model whose answers end, or break off, when they are let; each part is a piece of text. */
function spoken(
  ...answers: readonly {
    readonly parts: readonly string[];
    readonly end: "tool" | "stop" | "break" | "fail";
  }[]
) {
  const gates = answers.map(() => gate());
  let turn = 0;
  const doStream = async () => {
    const at = turn++;
    const { parts, end } = answers[at] as (typeof answers)[number];
    const pieces = async function* () {
      yield { type: "stream-start", warnings: [] };
      yield { type: "text-start", id: "1" };
      for (const delta of parts) yield { type: "text-delta", id: "1", delta };
      await gates[at]?.promise;
      if (end === "break" || end === "fail")
        throw Object.assign(new Error("overloaded"), { isRetryable: end === "break", statusCode: 529 });
      yield { type: "text-end", id: "1" };
      if (end === "tool")
        yield { type: "tool-call", toolCallId: "c", toolName: "pay", input: '{"amount":7}' };
      const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
      yield { type: "finish", finishReason: end === "tool" ? "tool-calls" : "stop", usage };
    };
    return { stream: ReadableStream.from(pieces()) };
  };
  const model = { specificationVersion: "v2", provider: "p", modelId: "m", supportedUrls: {}, doStream };
  return { model: { ...model, doGenerate: doStream } as never, let: (at: number) => gates[at]?.resolve() };
}

it("[SL4] after an approval the next answer is told to the same reader, and a late reader is told all so far", async () => {
  const { model, let: end } = spoken(
    { parts: ["I ", "ask."], end: "tool" },
    { parts: ["Paid."], end: "stop" },
  );
  const ground = await serving({ modules: { payer: payer(model) } });
  const { url, token, rath } = ground;
  const ada = client(url, { token: token("ada", ["run"]) });
  const bea = client(url, { token: token("bea", ["approve"]) });
  const begun = ada.run({ module: "payer", name: "p", text: "Pay.", wait: true });
  const early = eventsOf(await bea.events());
  for (let told = ""; told !== "I ask."; ) told = (await early.next("delta")).data.text as string;
  const late = eventsOf(await bea.events());
  expect(await late.next("delta")).toMatchObject({ data: { name: "p", from: 0, text: "I ask." } });
  end(0);
  await begun;
  const [one] = await rath.pending("p");
  await bea.approve({ name: "p", request: one?.id as string, digest: one?.digest as string });
  for (const events of [early, late])
    expect(await events.next("delta")).toMatchObject({ data: { name: "p", text: "Paid." } });
  end(1);
  await Promise.all([early.stop(), late.stop()]);
});

it("[SL4] an answer that broke off is not told before the next one, and one that failed is forgotten", async () => {
  const { model, let: end } = spoken(
    { parts: ["bad"], end: "break" },
    { parts: ["good"], end: "stop" },
    { parts: ["lost"], end: "fail" },
  );
  const talker = agent({ name: "talker", model });
  const { url, token } = await serving({ modules: { talker } });
  const ada = client(url, { token: token("ada", ["run"]) });
  const events = eventsOf(await ada.events());
  const said = async () => (await events.next("delta")).data;
  const first = ada.run({ module: "talker", name: "one", text: "hi", wait: true });
  expect(await said()).toMatchObject({ from: 0, text: "bad" });
  end(0);
  expect(await said()).toMatchObject({ from: 0, text: "good" });
  end(1);
  await first;
  const second = ada.run({ module: "talker", name: "two", text: "hi", wait: true });
  expect(await said()).toMatchObject({ from: 0, text: "lost" });
  end(2);
  expect(await second).toMatchObject({ state: "failed" });
  // A reader that comes now is told of nothing that is over.
  const late = eventsOf(await ada.events());
  await late.next("hello");
  await ada.fork({ name: "one", as: "three" });
  expect((await late.read())?.event).toBe("move");
  await Promise.all([events.stop(), late.stop()]);
});
