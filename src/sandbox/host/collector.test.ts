import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Collector } from "../execution.js";
import type { ExecEvent } from "../sandbox.js";

const OK = { code: 0, outcome: "ok", milliseconds: 1 } as const;
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1");

async function all(collector: Collector): Promise<ExecEvent[]> {
  const events: ExecEvent[] = [];
  for await (const event of collector) events.push(event);
  return events;
}

function outputOf(events: readonly ExecEvent[], from: "stdout" | "stderr"): string {
  return events
    .map((event) => (event.type === "output" && event.from === from ? text(event.bytes) : ""))
    .join("");
}

/** Writes of a command, and where somebody begins to look on. */
const writes = fc.array(
  fc.record({
    from: fc.constantFrom("stdout" as const, "stderr" as const),
    bytes: fc.uint8Array({ maxLength: 40 }),
    wait: fc.boolean(),
    look: fc.boolean(),
  }),
  { maxLength: 40 },
);

describe("the output of a command", () => {
  it("[H1] is kept in order up to the limit, and what is more is counted", async () => {
    await fc.assert(
      fc.asyncProperty(writes, fc.nat(300), async (all, limit) => {
        const collector = new Collector(limit);
        collector.start();
        let [kept, cut] = [0, 0];
        const expected = { stdout: "", stderr: "" };
        for (const { from, bytes } of all) {
          const taken = bytes.subarray(0, limit - kept);
          collector.take(from, bytes);
          expected[from] += text(taken);
          kept += taken.length;
          cut += bytes.length - taken.length;
        }
        expect(collector.cut).toBe(cut);
        const result = collector.end(OK);
        expect({ stdout: text(result.stdout), stderr: text(result.stderr), cut: result.cut }).toEqual({
          ...expected,
          cut,
        });
        expect(await collector.result).toBe(result);
      }),
    );
  });

  it("[H2] output that is read before the news of the start is told after it", async () => {
    const collector = new Collector(100);
    const told = all(collector);
    collector.take("stdout", Buffer.from("early"));
    await Promise.resolve();
    collector.start();
    collector.end(OK);
    expect((await told).map(({ type }) => type)).toEqual(["start", "output", "exit"]);
  });

  it("[H2] anyone who looks on, from whenever, sees all of it in order, the start first and the exit last", async () => {
    await fc.assert(
      fc.asyncProperty(writes, async (told) => {
        const collector = new Collector(1000);
        const looking = [all(collector)];
        collector.start();
        collector.start();
        for (const { from, bytes, wait, look } of told) {
          collector.take(from, bytes);
          if (look) looking.push(all(collector));
          if (wait) await new Promise(setImmediate);
        }
        const result = collector.end(OK);
        collector.end({ ...OK, code: 7 });
        collector.take("stdout", Buffer.from("late"));
        looking.push(all(collector));
        for (const events of await Promise.all(looking)) {
          expect(events[0]).toEqual({ type: "start" });
          expect(events.at(-1)).toEqual({ type: "exit", result });
          expect(events.filter(({ type }) => type !== "output").length).toBe(2);
          for (const from of ["stdout", "stderr"] as const)
            expect(outputOf(events, from)).toBe(text(result[from]));
        }
      }),
    );
  });

  it("[H3] input and output are copies", async () => {
    const collector = new Collector(100);
    collector.start();
    const buffer = Buffer.from("abc");
    collector.take("stdout", buffer);
    buffer.fill("x");
    const events = collector[Symbol.asyncIterator]();
    await events.next();
    const first = await events.next();
    if (first.done === true || first.value.type !== "output") throw new Error("no output");
    expect(text(first.value.bytes)).toBe("abc");
    first.value.bytes.fill(0);
    expect(text(collector.end(OK).stdout)).toBe("abc");
  });

  it("[H4] a million single bytes, now here, now there, cost little more than themselves", () => {
    const collector = new Collector(2_000_000);
    const one = Buffer.from("x");
    const before = process.memoryUsage();
    for (let count = 0; count < 1_000_000; count++)
      collector.take(count % 2 === 0 ? "stdout" : "stderr", one);
    const after = process.memoryUsage();
    expect(after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers).toBeLessThan(
      60_000_000,
    );
    expect(collector.end(OK).stdout.length).toBe(500_000);
  });

  it("[H5] one that never began has an exit and no start; looking away early is allowed", async () => {
    const collector = new Collector(10);
    const early = collector[Symbol.asyncIterator]();
    const waiting = early.next();
    collector.end({ code: null, outcome: "unstarted", why: "no", milliseconds: 0 });
    collector.start();
    expect((await waiting).value).toMatchObject({ type: "exit" });
    expect((await all(collector)).map(({ type }) => type)).toEqual(["exit"]);
    for await (const _ of collector) break;
  });
});
