import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { openRath, type Rath, statusOf } from "../runtime/index.js";
import type { NameMove, Store } from "../store/index.js";
import { FencedError, StoreError } from "../store/index.js";
import { signal, sleep, step, workflow } from "../workflow/index.js";
import { board, cancel, drain, move, pause, release, unpause, worker } from "./index.js";
import { atEnd, hooked, place, until, work } from "./testing/bench.js";

const LONG = { timeout: 60_000 };
const greet = workflow("greet", {}, async (session) =>
  step("say", () => "hi", { effect: "write" }).forward(session),
);
const waits = workflow("waits", {}, async (session) => signal("go").forward(session));
const state = async (rath: Rath, name: string) => statusOf(await rath.load(name));
const ended = (rath: Rath, name: string) =>
  until(async () => ["finished", "failed", "cancelled"].includes(await state(rath, name)));
const away = () => new StoreError("unreachable", "Cannot reach it.", "try again");
const isMove = (name: unknown) => String(name).startsWith(".queue/move/");
/** What is left in the queue, but for workers. */
const left = async (store: Store) =>
  (await store.names({ under: ".queue/" }))
    .map(({ name }) => name.split("/")[1])
    .filter((part) => part !== "worker");
const waiting = (store: Store) =>
  until(async () => {
    const { counts } = await board(store);
    return counts.waiting === 1 && counts.running === 0;
  });
const passed = (rath: Rath) =>
  rath.start("check").append({ type: "validation-report", name: "tests", passed: true, by: "runtime" });

/** The same store, whose watches can be broken as by a server that stays away for long. */
function breakable(store: Store): { readonly store: Store; breaks(): void } {
  let breaks = (): void => {};
  const watch: Store["watch"] = (options) => {
    const broken = new Promise<never>((_, failed) => {
      breaks = () => failed(away());
    });
    broken.catch(() => {});
    const moves = store.watch(options);
    const real = moves[Symbol.asyncIterator]();
    const next = (): Promise<IteratorResult<NameMove>> => Promise.race([real.next(), broken]);
    return Object.assign(moves, { [Symbol.asyncIterator]: () => ({ next }) });
  };
  const proxy = new Proxy(
    hooked(store, () => {}),
    {
      get: (target, name: keyof Store) => (name === "watch" ? watch : target[name]),
    },
  );
  return { store: proxy, breaks: () => breaks() };
}

it(
  "[CL30] a worker that lost sight of the moves of its store hears of answers and commands again",
  LONG,
  async () => {
    const { store, rath } = await place();
    const seen = breakable(store);
    const one = await work(seen.store, [waits]);
    for (const round of ["a", "b"]) {
      await rath.submit(waits, rath.start(round), { name: round });
      await waiting(store);
      seen.breaks();
      await rath.signal(round, "go", 1, "user:ada");
      await ended(rath, round);
    }
    seen.breaks();
    await drain(store, one.id);
    await one.over;
  },
);

it("[CL30] an answer that could not be looked up is looked up again", LONG, async () => {
  const { store, rath } = await place();
  let fails = 0;
  const broken = hooked(store, (method, first) => {
    if (method === "head" && String(first).startsWith(".queue/wait/") && fails++ === 0) throw away();
  });
  await work(broken, [waits]);
  await rath.submit(waits, rath.start("a"), { name: "a" });
  await waiting(store);
  await rath.signal("a", "go", 1, "user:ada");
  await ended(rath, "a");
});

it("[CL30] a session that could not be filed is filed later", LONG, async () => {
  const { store, rath } = await place();
  let fails = 0;
  const broken = hooked(store, async (method, first) => {
    if (method === "head" && first === "a" && (await state(rath, "a")) === "waiting" && fails++ === 0)
      throw away();
  });
  await work(broken, [waits]);
  await rath.submit(waits, rath.start("a"), { name: "a" });
  await until(async () => fails > 0);
  await rath.signal("a", "go", 1, "user:ada");
  await ended(rath, "a");
});

it("[CL31] an answer wakes a session whose worker dies while it puts it down", LONG, async () => {
  const { store, rath } = await place();
  let isDead = false;
  let answering: Promise<void> | undefined;
  const answer = async (): Promise<void> => {
    // The other one hears of the answer before there is anything that waits for it.
    await work(store, [waits]);
    await rath.signal("a", "go", 1, "user:ada");
    await new Promise((done) => setTimeout(done, 200));
  };
  const dying = hooked(store, async (method, first) => {
    if (isDead) await new Promise(() => {});
    const isSaved = method === "save" && (await store.head("a")) !== undefined;
    if (isSaved && (await state(rath, "a")) === "waiting") {
      answering ??= answer();
      await answering;
    }
    // It looks for answers, and is gone.
    if (answering !== undefined && String((first as { under?: string }).under).startsWith("answer/"))
      isDead = true;
    if (isDead) await new Promise(() => {});
  });
  await worker({ store: dying, modules: { waits } });
  await rath.submit(waits, rath.start("a"), { name: "a" });
  await until(async () => isDead);
  await ended(rath, "a");
});

it("[CL1] a session that waited, was cancelled or slept leaves nothing in the queue", LONG, async () => {
  const { store, rath } = await place();
  const timed = workflow("timed", {}, async (session) => sleep(300).forward(session));
  const patient = workflow("patient", {}, async (session) => sleep(3_600_000).forward(session));
  const one = await work(store, [timed, patient, waits]);
  for (const module of [timed, patient, waits])
    await rath.submit(module, rath.start("x"), { name: module.name });
  await rath.submit(waits, rath.start("x"), { name: "later", notBefore: Date.now() + 3_600_000 });
  await ended(rath, "timed");
  await until(async () => (await board(store)).counts.waiting === 2);
  for (const name of ["patient", "waits", "later"]) await cancel(store, name);
  for (const name of ["patient", "waits", "later"]) await ended(rath, name);
  await until(async () => (await left(store)).length === 0);
  await drain(store, one.id);
  await one.over;
  expect(await store.names({ under: ".queue/" })).toEqual([]);
});

it("[CL10] letting a session go on begins nothing before its time", LONG, async () => {
  const { store, rath } = await place();
  await rath.submit(greet, rath.start("a"), { name: "a", notBefore: Date.now() + 3_600_000 });
  await pause(store, "a");
  await unpause(store, "a");
  expect((await board(store)).counts).toMatchObject({ due: 0, later: 1, paused: 0 });
});

it("[CL17] a gate that opens meanwhile holds nobody who is let go on", LONG, async () => {
  const { store, rath } = await place();
  await rath.submit(greet, rath.start("a"), { name: "a", gate: "tests" });
  await pause(store, "a");
  let opening: Promise<unknown> | undefined;
  const slow = hooked(store, async (method) => {
    if (method !== "save") return;
    opening ??= release(store, "tests", passed(rath));
    await opening;
  });
  await unpause(slow, "a");
  expect((await board(store)).counts).toMatchObject({ due: 1, held: 0, paused: 0 });
});

it("[CL17] a program that dies while a gate opens submits again, and is not held", LONG, async () => {
  const { store, rath } = await place();
  let gates = 0;
  const session = rath.start("a");
  const dying = hooked(store, async (method, first) => {
    if (String(first).startsWith(".queue/gate/") && ++gates === 2) throw away();
    if (method === "save" && gates === 1) await release(store, "tests", passed(rath));
  });
  const there = openRath({ store: dying });
  atEnd(() => there.close());
  const submitted = there.submit(greet, session, { name: "a", gate: "tests" });
  await expect(submitted).rejects.toMatchObject({ code: "store-unreachable" });
  expect((await board(store)).counts).toMatchObject({ held: 1 });
  expect(await rath.submit(greet, session, { name: "a", gate: "tests" })).toMatchObject({ repeated: true });
  expect((await board(store)).counts).toMatchObject({ due: 1, held: 0 });
});

it("[CL7] a session is not moved to a worker that cannot run it", LONG, async () => {
  const { store, rath } = await place();
  const one = await work(store, [greet], { offers: { memory: 100 }, queues: ["x"] });
  await rath.submit(greet, rath.start("a"), { name: "a", queue: "x", needs: { labels: ["gpu"] } });
  await rath.submit(greet, rath.start("b"), { name: "b", queue: "x", needs: { memory: 200 } });
  await rath.submit(greet, rath.start("c"), { name: "c", queue: "y" });
  for (const name of ["a", "b", "c"])
    await expect(move(store, name, one.id)).rejects.toMatchObject({ code: "run-refused" });
});

it("[CL14] a worker that cannot have its port has left", LONG, async () => {
  const { store } = await place();
  const server = createServer().listen(0, "127.0.0.1");
  atEnd(() => server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await expect(worker({ store, modules: { greet }, port })).rejects.toMatchObject({ code: "run-refused" });
  expect((await board(store)).workers).toEqual([]);
});

it("[CL32] a worker that is drained while it takes a session gives it back", LONG, async () => {
  const { store, rath } = await place();
  let draining: Promise<void> | undefined;
  const slow = hooked(store, (_, first) => {
    if (isMove(first)) draining ??= one.drain();
  });
  const one = await worker({ store: slow, modules: { greet } });
  await rath.submit(greet, rath.start("a"), { name: "a" });
  await until(async () => draining !== undefined);
  await draining;
  expect(await state(rath, "a")).toBe("open");
  expect(await left(store)).toEqual(["due"]);
});

it("[CL32] a worker that is drained while it comes back under another name leaves", LONG, async () => {
  const { store } = await place();
  let old = "";
  let draining: Promise<void> | undefined;
  const lost = hooked(store, async (method, first) => {
    if (old === "" || !String(first).startsWith(".queue/worker/")) return;
    if (method === "renew" && first === `.queue/worker/${old}`) throw new FencedError(old, 1, undefined);
    if (method !== "lease") return;
    await Promise.resolve();
    draining ??= one.drain();
  });
  const one = await worker({ store: lost, modules: { greet } });
  old = one.id;
  await until(async () => draining !== undefined);
  await draining;
  expect(one.id).not.toBe(old);
  expect((await board(store)).workers.map(({ id }) => id)).not.toContain(one.id);
});

it("[CL32] a session that is paused while it is taken begins no effect", LONG, async () => {
  const { store, rath } = await place();
  let begun = 0;
  const counts = workflow("counts", {}, async (session) =>
    step("s", () => void begun++, { effect: "write" }).forward(session),
  );
  let pausing: Promise<void> | undefined;
  const slow = hooked(store, async (_, first) => {
    if (!isMove(first)) return;
    // The worker hears of it before it has the session.
    pausing ??= pause(store, "a").then(() => new Promise((done) => setTimeout(done, 100)));
    await pausing;
  });
  await work(slow, [counts]);
  await rath.submit(counts, rath.start("a"), { name: "a" });
  await until(async () => pausing !== undefined && (await left(store)).join() === "paused");
  await unpause(store, "a");
  await until(async () => begun === 1);
  expect(begun).toBe(1);
});

it("[CL33] a session that somebody went on with after its end is over", LONG, async () => {
  const { store, rath } = await place();
  await rath.submit(waits, rath.start("a"), { name: "a", notBefore: Date.now() + 300 });
  await rath.run(waits, await rath.load("a"), { name: "a" });
  await rath.signal("a", "go", 1, "user:ada");
  await rath.resume("a", waits);
  await rath.save((await rath.load("a")).say("And now?"), "a");
  await expect(pause(store, "a")).rejects.toMatchObject({ code: "run-refused" });
  const { url } = await work(store, [waits], { port: 0 });
  // It is taken when its time comes, and nothing is done with it.
  await until(async () => /how="ended"} 1/.test(await (await fetch(`${url}/metrics`)).text()));
  expect(await left(store)).toEqual([]);
});
