import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { agent } from "../agent/index.js";
import { scripted } from "../agent/model/index.js";
import { openStore } from "../store/index.js";
import { Dice } from "../testkit/store/graph.js";
import { openRath } from "./index.js";
import { RateLimiter, reserve } from "./rate.js";

it("[RA1] no minute has more calls or tokens than its rate, however they come", () => {
  for (let seed = 1; seed <= 60; seed++) {
    const dice = new Dice(seed);
    const rate = { requestsPerMinute: 1 + dice.roll(200), tokensPerMinute: 1_000 + dice.roll(50_000) };
    let until = { requests: 0, tokens: 0 };
    let now = 1_000_000;
    const begun: { readonly at: number; readonly tokens: number }[] = [];
    for (let round = 0; round < 60; round++) {
      now += dice.pick([0, 1, 400, 9_000]);
      const calls = Array.from({ length: 1 + dice.roll(8) }, () => dice.roll(900));
      const reserved = reserve(rate, until, now, calls);
      until = reserved.until;
      for (const [index, wait] of reserved.waits.entries())
        begun.push({ at: now + wait, tokens: calls[index] as number });
    }
    for (const { at } of begun) {
      const within = begun.filter((one) => one.at >= at && one.at < at + 60_000);
      expect(within.length).toBeLessThanOrEqual(rate.requestsPerMinute);
      // The first of a minute may have waited for a part of its tokens.
      expect(within.reduce((sum, { tokens }) => sum + tokens, 0)).toBeLessThanOrEqual(
        rate.tokensPerMinute + 900,
      );
    }
  }
});

it("[RA1] [RA2] two processes on a store share a rate; a call that waits ends with its signal", async () => {
  const folder = mkdtempSync(join(tmpdir(), "rath-rate-"));
  const url = `sqlite:${join(folder, "rath.db")}`;
  // Two a minute: the second one waits for a minute.
  const rates = { scripted: { requestsPerMinute: 2 } };
  const [here, there] = [openRath({ store: url, rates }), openRath({ store: url, rates })];
  const store = await openStore(url);
  onTestFinished(async () => {
    await Promise.all([here.close(), there.close(), store.close()]);
    rmSync(folder, { recursive: true, force: true });
  });
  const helper = agent({ name: "helper", model: scripted("one", "two") });
  const first = await here.run(helper, here.start("go"), { name: "a" });
  const moves = store.watch()[Symbol.asyncIterator]();
  const stop = new AbortController();
  const second = there.run(helper, there.start("go"), { name: "b", signal: stop.signal });
  second.catch(() => {});
  let name = "";
  while (!name.startsWith(".rate/")) name = (await moves.next()).value?.name ?? "";
  await moves.return?.();
  stop.abort(new Error("enough"));
  await expect(second).rejects.toMatchObject({ code: "cancelled" });
  expect([...(await there.load("b")).history()].map(({ fact }) => fact.type)).not.toContain("model-reply");
  // A replay asks nobody.
  expect((await here.replay("a", helper, { mode: "verify" })).id).toBe(first.id);
});

it("[RA2] calls that come together share a commit, and tokens are corrected by what a call took", async () => {
  const store = await openStore("memory:");
  onTestFinished(() => store.close());
  const limiter = new RateLimiter(async () => store, { openai: { tokensPerMinute: 100_000 } });
  const untilNow = async () => {
    const [name] = await store.names({ under: ".rate/" });
    return ((await store.load(name?.id ?? "")).fact as unknown as { tokens: number }).tokens;
  };
  const before = await store.time();
  const done = await Promise.all([1, 2, 3].map(() => limiter.admit("openai.responses", 1_000)));
  const estimated = (await untilNow()) - before;
  expect(estimated).toBeGreaterThanOrEqual(3 * 1_000 * (60_000 / 90_000));
  for (const taken of done) taken(0);
  await limiter.admit("openai.chat", 0);
  expect((await untilNow()) - (await store.time())).toBeLessThanOrEqual(1);
  (await limiter.admit("openai.chat", 0))(Number.NaN);
  await limiter.admit("openai.chat", 0);
  await limiter.admit("other", 1e9);
  expect(await store.names({ under: ".rate/" })).toHaveLength(1);
});

it("[RA3] rates that cannot be meant are refused", () => {
  for (const rates of [
    5,
    { a: 5 },
    { a: { requestsPerMinute: 0 } },
    { a: { tokensPerMinute: "x" } },
    { a: { rpm: 5 } },
  ])
    expect(() => openRath({ store: "memory:", rates: rates as never })).toThrow(
      expect.objectContaining({ code: "run-refused" }),
    );
});
