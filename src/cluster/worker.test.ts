import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { expect, it } from "vitest";
import { openRath, type Rath, statusOf } from "../runtime/index.js";
import type { Session } from "../session/index.js";
import { signal, sleep, step, workflow } from "../workflow/index.js";
import type { Engine, EngineHost, Wake } from "./engine.js";
import {
  board,
  cancel,
  drain,
  fanOut,
  gather,
  move,
  pause,
  release,
  unpause,
  versions,
  worker,
} from "./index.js";
import { atEnd, place, until, work } from "./testing/bench.js";

const LONG = { timeout: 60_000 };
const told: string[] = [];
const say = (word: string) =>
  step(
    "say",
    () => {
      told.push(word);
      return word;
    },
    { effect: "write" },
  );
const greet = workflow("greet", {}, async (session) => say("hi").forward(session));
const waits = workflow("waits", {}, async (session) => signal("go").forward(session));

const wordsOf = (session: Session) =>
  String(session.recent(9).flatMap((one) => (one.role === "user" ? [one.content] : []))[0]);
const stateIn = async (rath: Rath, name: string) => statusOf(await rath.load(name));
const ended = (rath: Rath, name: string) =>
  until(async () => {
    const state = await stateIn(rath, name);
    return ["finished", "failed", "cancelled"].includes(state) && state;
  });
const suspended = (rath: Rath, name: string) => until(async () => (await stateIn(rath, name)) === "waiting");

it("[CL1] a submitted session is run once, and leaves nothing in the queue", LONG, async () => {
  const { store, rath } = await place();
  const [one, other] = [await work(store, [greet]), await work(store, [greet])];
  const before = told.length;
  const names = await Promise.all(
    Array.from({ length: 20 }, async (_, n) => (await rath.submit(greet, rath.start(`${n}`))).name),
  );
  for (const name of names) expect(await ended(rath, name)).toBe("finished");
  expect(told.length - before).toBe(20);
  const workers = [one.id, other.id].map((id) => `.queue/worker/${id}`).sort();
  await until(async () => (await store.names({ under: ".queue/" })).length === 2);
  expect((await store.names({ under: ".queue/" })).map(({ name }) => name)).toEqual(workers);
  await rath.replay(names[0] as string, greet, { mode: "verify" });
});

it("[CL2] an answer, a signal or a time wakes a session that no worker holds", LONG, async () => {
  const { store, rath } = await place();
  const timed = workflow("timed", {}, async (session) => sleep(1_500).forward(session));
  const one = await work(store, [waits, timed]);
  await rath.submit(waits, rath.start("a"), { name: "a" });
  await rath.submit(timed, rath.start("b"), { name: "b" });
  await suspended(rath, "a");
  await until(async () => one.running.length === 0);
  await rath.signal("a", "go", "now", "user:ada");
  expect(await ended(rath, "a")).toBe("finished");
  expect(await ended(rath, "b")).toBe("finished");
  const [asked, fired] = ["timer-set", "timer-fire"].map(
    async (type) => (await store.facts("b", { type })).items[0]?.fact.at ?? "",
  );
  expect(Date.parse((await fired) ?? "") - Date.parse((await asked) ?? "")).toBeGreaterThanOrEqual(1_500);
});

it("[CL3] sessions that came while no worker was there are taken when one comes", LONG, async () => {
  const { store, rath } = await place();
  const first = await work(store, [waits]);
  await rath.submit(waits, rath.start("a"), { name: "a" });
  await suspended(rath, "a");
  await until(async () => first.running.length === 0);
  await first.drain();
  await rath.signal("a", "go", 1, "user:ada");
  await rath.submit(greet, rath.start("b"), { name: "b" });
  await rath.submit(greet, rath.start("c"), { name: "c", notBefore: Date.now() + 300 });
  await new Promise((done) => setTimeout(done, 400));
  await work(store, [waits, greet]);
  for (const name of ["a", "b", "c"]) expect(await ended(rath, name)).toBe("finished");
});

it("[CL7] a worker takes only its modules, its queues and what it offers", LONG, async () => {
  const { store, rath } = await place();
  const other = workflow("greet", { part: waits }, async (session) => say("hi").forward(session));
  await work(store, [greet], { queues: ["a", "b"], offers: { labels: ["gpu"], memory: 100 } });
  const submit = async (name: string, options: object, module = greet) =>
    rath.submit(module, rath.start(name), { name, ...options });
  await submit("version", { queue: "a" }, other);
  await submit("queue", { queue: "c" });
  await submit("label", { queue: "a", needs: { labels: ["tpu"] } });
  await submit("memory", { queue: "a", needs: { memory: 200 } });
  await submit("sandbox", { queue: "a", needs: { sandboxes: ["docker"] } });
  await submit("fits", { queue: "b", needs: { labels: ["gpu"], memory: 100, sandboxes: ["virtual"] } });
  expect(await ended(rath, "fits")).toBe("finished");
  await until(async () => (await board(store)).counts.running === 0);
  expect((await board(store)).counts.due).toBe(5);
  expect(new Set((await board(store)).sessions.map(({ name }) => name))).toEqual(
    new Set(["version", "queue", "label", "memory", "sandbox"]),
  );
});

it(
  "[CL8] a worker that drains gives back what runs; nothing is in doubt and nothing is repeated",
  LONG,
  async () => {
    const { store, rath } = await place();
    let begun = 0;
    const slow = workflow("slow", {}, async (session) => {
      let at = session;
      for (let n = 0; n < 6; n++)
        at = await step(
          `s${n}`,
          async () => {
            begun += 1;
            await new Promise((done) => setTimeout(done, 150));
            return n;
          },
          { effect: "write" },
        ).forward(at);
      return at;
    });
    const first = await work(store, [slow]);
    await rath.submit(slow, rath.start("a"), { name: "a" });
    await until(async () => begun > 1);
    await drain(store, first.id);
    await first.over;
    expect(await stateIn(rath, "a")).toBe("open");
    expect(begun).toBeLessThan(6);
    await work(store, [slow]);
    expect(await ended(rath, "a")).toBe("finished");
    expect(begun).toBe(6);
  },
);

it("[CL9] priorities come first, and many sessions of one tenant delay no other", LONG, async () => {
  const { store, rath } = await place();
  const order: string[] = [];
  const note = workflow("note", {}, async (session) =>
    step("note", () => void order.push(wordsOf(session)), { effect: "pure" }).forward(session),
  );
  const submit = (text: string, options: object) =>
    rath.submit(note, rath.start(text), { name: text, ...options });
  for (let n = 0; n < 6; n++) await submit(`many-${n}`, { by: "user:many" });
  await submit("urgent", { by: "user:many", priority: 5 });
  await submit("few", { by: "user:few" });
  await submit("elsewhere", { by: "user:few", queue: "other" });
  await work(store, [note], { concurrency: 1 });
  for (const name of ["many-5", "few", "elsewhere"]) await ended(rath, name);
  expect(order).toHaveLength(9);
  expect(order.indexOf("urgent")).toBeLessThan(order.indexOf("many-0"));
  expect(order.indexOf("few")).toBeLessThan(4);
  expect(order.indexOf("elsewhere")).toBeLessThan(4);
});

it("[CL10] a paused session goes no further; a cancelled one ends as cancelled", LONG, async () => {
  const { store, rath } = await place();
  await rath.submit(greet, rath.start("a"), { name: "a" });
  await pause(store, "a");
  await work(store, [greet, waits]);
  await rath.submit(greet, rath.start("b"), { name: "b" });
  await ended(rath, "b");
  expect((await board(store)).counts).toMatchObject({ paused: 1, due: 0 });
  await unpause(store, "a");
  expect(await ended(rath, "a")).toBe("finished");
  for (const name of ["w", "w/1", "w/2"]) await rath.submit(waits, rath.start("x"), { name });
  for (const name of ["w", "w/1", "w/2"]) await suspended(rath, name);
  expect(await cancel(store, "w", true)).toEqual(["w", "w/1", "w/2"]);
  for (const name of ["w", "w/1", "w/2"]) expect(await ended(rath, name)).toBe("cancelled");
  await expect(cancel(store, "w")).rejects.toMatchObject({ code: "run-refused" });
});

it("[CL11] health and metrics", LONG, async () => {
  const { store, rath } = await place();
  const reader = new PeriodicExportingMetricReader({
    exporter: new InMemoryMetricExporter(AggregationTemporality.DELTA),
    exportIntervalMillis: 3_600_000,
  });
  const provider = new MeterProvider({ readers: [reader] });
  atEnd(() => provider.shutdown());
  const observed = async () => {
    const { resourceMetrics } = await reader.collect();
    return resourceMetrics.scopeMetrics.flatMap(({ metrics }) =>
      metrics.flatMap(({ descriptor, dataPoints }) =>
        dataPoints.map(({ value, attributes }) => [descriptor.name, attributes, value]),
      ),
    );
  };
  const {
    url = "",
    id,
    drain: leave,
  } = await (async () => {
    const one = await work(store, [greet], { port: 0, meter: provider.getMeter("openrath") });
    return { url: one.url, id: one.id, drain: () => one.drain() };
  })();
  await rath.submit(greet, rath.start("a"), { name: "a" });
  await ended(rath, "a");
  const health = await fetch(`${url}/health`);
  expect([health.status, ((await health.json()) as { worker: string }).worker]).toEqual([200, id]);
  await until(async () =>
    (await (await fetch(`${url}/metrics`)).text()).includes(
      `rath_worker_rested_total{worker="${id}",how="ended"} 1`,
    ),
  );
  expect((await fetch(`${url}/else`)).status).toBe(404);
  expect(await observed()).toContainEqual(["rath.worker.rested", { worker: id, how: "ended" }, 1]);
  await leave();
  expect(await observed()).toEqual([]);
  await expect(fetch(`${url}/health`)).rejects.toThrow();
});

it("[CL12] the board says what is where, and which versions are needed", LONG, async () => {
  const { store, rath } = await place();
  const one = await work(store, [waits]);
  await rath.submit(waits, rath.start("a"), { name: "a", by: "user:ada" });
  await rath.submit(greet, rath.start("b"), { name: "b" });
  await suspended(rath, "a");
  const { workers, sessions, counts } = await until(async () => {
    const now = await board(store);
    return now.counts.waiting === 1 && now.counts.running === 0 && now;
  });
  expect(workers).toMatchObject([{ id: one.id, running: 0, engine: "local" }]);
  expect(counts).toMatchObject({ due: 1, waiting: 1 });
  expect(sessions).toMatchObject([
    { name: "b", place: "due", module: "greet" },
    { name: "a", place: "waiting", tenant: "user:ada" },
  ]);
  const found = await versions(store);
  expect(found).toMatchObject([
    { module: "greet", sessions: 1, workers: [] },
    { module: "waits", sessions: 1, workers: [one.id] },
  ]);
});

it("[CL13] a run whose program goes another way is set aside", LONG, async () => {
  const { store, rath } = await place();
  let words = "one";
  const fickle = workflow("fickle", {}, async (session) =>
    signal("go").forward(await step(words, () => 1, { effect: "pure" }).forward(session)),
  );
  await work(store, [fickle, greet]);
  await rath.submit(fickle, rath.start("a"), { name: "a" });
  await suspended(rath, "a");
  words = "two";
  await rath.signal("a", "go", 1, "user:ada");
  await until(async () => (await board(store)).counts.stuck === 1);
  await rath.submit(greet, rath.start("b"), { name: "b" });
  expect(await ended(rath, "b")).toBe("finished");
  words = "one";
  await unpause(store, "a");
  expect(await ended(rath, "a")).toBe("finished");
});

it(
  "[CL16] a session that is moved goes on at the worker that was named, and elsewhere when that one is gone",
  LONG,
  async () => {
    const { store, rath } = await place();
    const begun: string[] = [];
    let open = 0;
    const slow = workflow("slow", {}, async (session) => {
      let at = session;
      for (const n of [0, 1])
        at = await step(
          `s${n}`,
          async () => {
            begun.push(`${wordsOf(session)} ${n}`);
            await until(async () => open > n);
          },
          { effect: "write" },
        ).forward(at);
      return signal("go").forward(at);
    });
    const [one, other] = [await work(store, [slow]), await work(store, [slow])];
    await rath.submit(slow, rath.start("a"), { name: "a" });
    await until(async () => begun.length > 0);
    const [here, there] = one.running.includes("a") ? [one, other] : [other, one];
    await move(store, "a", there.id);
    open = 1;
    await until(async () => there.running.includes("a") && !here.running.includes("a"));
    open = 2;
    await suspended(rath, "a");
    expect(begun).toEqual(["a 0", "a 1"]);
    // It is at no worker: the next one that takes it hands it over.
    await until(async () => (await board(store)).counts.waiting === 1);
    await move(store, "a", here.id);
    await rath.signal("a", "go", 1, "user:ada");
    expect(await ended(rath, "a")).toBe("finished");
    await rath.submit(slow, rath.start("b"), { name: "b", notBefore: Date.now() + 600 });
    await move(store, "b", there.id);
    await there.drain();
    await until(async () => (await board(store)).counts.waiting === 1);
    await rath.signal("b", "go", 1, "user:ada");
    expect(await ended(rath, "b")).toBe("finished");
    await until(async () => (await store.names({ under: ".queue/" })).length === 1);
    await expect(move(store, "b", here.id)).rejects.toMatchObject({ code: "run-refused" });
    await rath.submit(greet, rath.start("c"), { name: "c" });
    for (const worker of [here.id, "nobody"])
      await expect(move(store, "c", worker)).rejects.toMatchObject({ code: "run-refused" });
  },
);

it("[CL17] a gate holds sessions until its validation has passed", LONG, async () => {
  const { store, rath } = await place();
  const names = ["a", "b", "c", "d"];
  for (const name of names)
    await rath.submit(greet, rath.start(name), { name, gate: "tests", ...(name === "d" && { queue: "q" }) });
  await rath.submit(greet, rath.start("other"), { name: "other", gate: "review" });
  await work(store, [greet]);
  expect((await board(store)).counts).toMatchObject({ held: 5, due: 0 });
  const report = (passed: boolean) =>
    ({ type: "validation-report", name: "tests", passed, by: "runtime" }) as const;
  const failed = rath.start("check").append(report(true)).append(report(false));
  for (const on of [failed, rath.start("nothing")])
    await expect(release(store, "tests", on)).rejects.toMatchObject({ code: "run-refused" });
  await cancel(store, "b");
  await pause(store, "c");
  await unpause(store, "c");
  await pause(store, "a");
  expect((await board(store)).counts.held).toBe(4);
  const passed = failed.append(report(true));
  expect(await release(store, "tests", passed, "user:ada")).toBe(3);
  for (const name of ["c", "d"]) expect(await ended(rath, name)).toBe("finished");
  expect(await ended(rath, "b")).toBe("cancelled");
  expect((await board(store)).counts).toMatchObject({ held: 1, paused: 1, due: 0 });
  await unpause(store, "a");
  expect(await ended(rath, "a")).toBe("finished");
  const [gate] = await store.names({ under: ".queue/gate/" });
  expect((await rath.load(gate?.id ?? "")).fact).toMatchObject({
    kind: "gate-open",
    gate: "tests",
    validation: passed.id,
    by: "user:ada",
  });
  await rath.submit(greet, rath.start("later"), { name: "later", gate: "tests" });
  expect(await ended(rath, "later")).toBe("finished");
  await expect(rath.submit(greet, rath.start("x"), { gate: "" })).rejects.toMatchObject({
    code: "run-refused",
  });
});

it("[CL18] a fan-out is submitted once, and gathered when all of it is over", LONG, async () => {
  const { store, rath } = await place();
  const base = await rath.save(rath.start("Review."), "base");
  const tasks = Array.from({ length: 100 }, (_, n) => `file ${n}`);
  const picky = workflow("picky", {}, async (session) => {
    if (/file 7\b/.test(JSON.stringify(session.recent(1)))) throw new Error("no");
    return say("ok").forward(session);
  });
  const names = await fanOut(rath, picky, base, tasks, { name: "review" });
  const gathering = gather(store, names);
  const gaveUp = gather(store, names, { signal: AbortSignal.timeout(20) });
  await expect(gaveUp).rejects.toMatchObject({ name: "TimeoutError" });
  await work(store, [picky]);
  await work(store, [picky]);
  const gathered = await gathering;
  expect(await fanOut(rath, picky, base, tasks, { name: "review" })).toEqual(names);
  await until(async () => (await board(store)).counts.running === 0);
  expect((await board(store)).counts.due).toBe(0);
  expect(gathered.parents).toHaveLength(100);
  expect(gathered.fact).toMatchObject({ type: "branch-merge", adopt: "none" });
  expect(gathered.parents.filter((one) => statusOf(one) === "failed")).toHaveLength(1);
  const [, second] = names;
  expect(gathered.parents[1]?.id).toBe(await store.head(second as string));
  expect([...gathered.history()].filter(({ fact }) => fact.type === "session-start")).toHaveLength(1);
  expect((await rath.save(gathered, "gathered")).id).toBe(gathered.id);
  await expect(fanOut(rath, picky, base, [], { name: "x" })).rejects.toMatchObject({ code: "run-refused" });
});

it("[CL14] options that cannot be meant are refused", async () => {
  const wrong = [
    {},
    { modules: {} },
    { modules: { greet: 1 } },
    { modules: { greet }, concurrency: 0 },
    { modules: { greet }, queues: [] },
    { modules: { greet }, port: 70_000 },
    { modules: { greet }, grace: -1 },
    { modules: { greet }, engine: {} },
    { modules: { greet }, meter: {} },
    { modules: { greet }, concurency: 2 },
  ];
  for (const options of wrong)
    await expect(worker({ store: "memory:", ...options } as never)).rejects.toMatchObject({
      code: "run-refused",
    });
});

it("[CL15] a session is submitted once, by several at once too", async () => {
  const { store, rath, url } = await place();
  const there = openRath({ store: url });
  atEnd(() => there.close());
  const session = await rath.save(rath.start("x"), "base");
  const twice = await Promise.all([
    rath.submit(greet, session, { name: "a" }),
    there.submit(greet, await there.load("base"), { name: "a" }),
    rath.submit(greet, session, { name: "a" }),
  ]);
  expect(new Set(twice.map(({ id }) => id)).size).toBe(1);
  expect(twice.filter(({ repeated }) => !repeated)).toHaveLength(1);
  expect((await board(store)).counts.due).toBe(1);
  await expect(rath.submit(greet, rath.start("y"), { name: "a" })).rejects.toMatchObject({
    code: "name-conflict",
  });
  await work(store, [greet]);
  await ended(rath, "a");
  expect(await rath.submit(greet, session, { name: "a" })).toMatchObject({ repeated: true });
  for (const options of [
    { priority: 0.5 },
    { queue: "" },
    { notBefore: "x" },
    { needs: { labels: [1] } },
    { prio: 1 },
  ])
    await expect(rath.submit(greet, session, options as never)).rejects.toMatchObject({
      code: "run-refused",
    });
});

it(
  "[CL19] a forged, stale or repeated wake takes nothing, and a worker without room says so",
  LONG,
  async () => {
    const { store, rath } = await place();
    let host: EngineHost | undefined;
    const woken: Wake[] = [];
    const engine: Engine = {
      name: "test",
      connect: async (given) => {
        host = given;
        return {
          wake: async (wake) => void woken.push(wake),
          close: async () => {},
        };
      },
    };
    const one = await work(store, [greet, waits], { engine, concurrency: 1 });
    const { take, rested } = host as unknown as EngineHost;
    await rath.submit(greet, rath.start("a"), { name: "a" });
    const wake = await until(async () => woken[0]);
    const { id } = await rath.submit(greet, rath.start("b"), { name: "b" });
    const other = { ...wake, session: "b", run: id };
    // Nothing is taken until the engine says so, and what it says must be true.
    expect(one.running).toEqual([]);
    const forged = [
      { ...wake, session: other.session },
      { ...wake, run: other.run },
      { ...wake, module: "waits" },
      { ...wake, version: other.run },
      { ...wake, run: "0".repeat(64) as Wake["run"] },
    ];
    for (const one of forged) expect(await take(one)).toBe("gone");
    const answers = await Promise.all([take(wake), take(wake), take(other)]);
    expect(answers).toEqual([
      "taken",
      expect.stringMatching(/gone|busy/),
      expect.stringMatching(/busy|taken/),
    ]);
    await rested(wake);
    expect(await stateIn(rath, wake.session)).toBe("finished");
    expect(await take(wake)).toBe("gone");
    // It is woken again as long as it is due.
    await until(
      async () => woken.filter(({ run }) => run === other.run).length > 1 || answers[2] === "taken",
    );
    if (answers[2] !== "taken") expect(await take(other)).toBe("taken");
    expect(await ended(rath, other.session)).toBe("finished");
    for (const one of woken) expect(Object.keys(one).sort()).toEqual(["module", "run", "session", "version"]);
  },
);
