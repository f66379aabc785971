import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { openStore } from "../../store/index.js";
import { Life } from "../open-sandbox.js";
import { LongTimer, WallTimer } from "../timer.js";
import { Trees } from "../trees.js";
import { dockerSandbox } from "./docker.js";
import { FakeEngine } from "./testing/fake-engine.js";

const DAY = 24 * 60 * 60 * 1000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("times longer than a timer of Node can wait", () => {
  it.each([1, 24, 25, 60, 365])("[D29] %i days are waited for to their end, and rung once", (days) => {
    const ring = vi.fn();
    new LongTimer(days * DAY, ring);
    vi.advanceTimersByTime(days * DAY - 1);
    expect(ring).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(ring).toHaveBeenCalledOnce();
    vi.advanceTimersByTime(800 * DAY);
    expect(ring).toHaveBeenCalledOnce();
  });

  it("[D29] a past time rings at once, an endless one never, and a cleared one neither in its first part nor later", () => {
    const [now, never, first, later] = [vi.fn(), vi.fn(), vi.fn(), vi.fn()];
    new LongTimer(-5, now);
    const endless = new LongTimer(Number.POSITIVE_INFINITY, never);
    const [early, late] = [new LongTimer(60 * DAY, first), new LongTimer(60 * DAY, later)];
    early.clear();
    vi.advanceTimersByTime(30 * DAY);
    late.clear();
    vi.advanceTimersByTime(365 * DAY);
    expect([now, never, first, later].map(({ mock }) => mock.calls.length)).toEqual([1, 0, 0, 0]);
    endless.clear();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("[D29] the time of a command that was stopped meanwhile is counted without that", () => {
    const ring = vi.fn();
    const watch = new WallTimer(60 * DAY, ring);
    watch.start();
    vi.advanceTimersByTime(40 * DAY);
    watch.stop();
    vi.advanceTimersByTime(100 * DAY);
    watch.start();
    vi.advanceTimersByTime(20 * DAY - 1);
    expect(ring).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(ring).toHaveBeenCalledOnce();
  });

  it("[D29] a sandbox of any kind that is given sixty days has them", async () => {
    const over = vi.fn(async () => {});
    const lives = [new Life(over), new Life(over, () => 0)];
    for (const life of lives) life.begin(60 * DAY, []);
    vi.advanceTimersByTime(59 * DAY);
    expect(over).not.toHaveBeenCalled();
    for (const life of lives) life.renew(60 * DAY);
    vi.advanceTimersByTime(60 * DAY - 1);
    expect(over).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(over).toHaveBeenCalledTimes(2);
  });

  it("[D29] a container that is given sixty days more is removed after them", async () => {
    vi.useRealTimers();
    const fake = (await FakeEngine.start()).withContainer();
    const provider = dockerSandbox({ socket: fake.socket, image: "img", timeout: 2_000 });
    const trees = new Trees(await openStore("memory:"));
    const box = await provider.create({ ttl: DAY }, { id: "box", incarnation: 1, tree: null, trees });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    await box.renew(60 * DAY);
    vi.advanceTimersByTime(60 * DAY - 1);
    expect(box.ref.status.conditions.map(({ type }) => type)).not.toContain("Expired");
    expect((await box.status()).phase).toBe("running");
    vi.advanceTimersByTime(1);
    vi.useRealTimers();
    await expect.poll(() => box.ref.status.phase).toBe("finished");
    expect(fake.asked.filter(({ method }) => method === "DELETE")).toHaveLength(1);
    await provider.close();
    await fake.stop();
  });
});
