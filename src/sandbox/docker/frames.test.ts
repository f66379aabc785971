import { array, assert as check, constantFrom, integer, property, string, tuple } from "fast-check";
import { describe, expect, it } from "vitest";
import { EngineError } from "../error.js";
import { frame } from "./testing/fake-engine.js";
import { Frames, Handshake } from "./wire.js";

describe("the stream of a command", () => {
  it("[D4] gives the same output however it is cut on the way", () => {
    check(
      property(
        array(tuple(constantFrom(1 as const, 2 as const), string())),
        array(integer({ min: 1, max: 40 }), { minLength: 1 }),
        (sent, cuts) => {
          const stream = Buffer.concat(sent.map(([kind, text]) => frame(kind, text)));
          const frames = new Frames();
          const got = { stdout: [] as Uint8Array[], stderr: [] as Uint8Array[], engine: [] as Uint8Array[] };
          for (let at = 0, turn = 0; at < stream.length; turn++) {
            const length = cuts[turn % cuts.length] as number;
            for (const { from, bytes } of frames.take(stream.subarray(at, at + length)))
              got[from].push(Buffer.from(bytes));
            at += length;
          }
          for (const [kind, from] of [[1, "stdout"] as const, [2, "stderr"] as const])
            expect(Buffer.concat(got[from]).toString("utf8")).toBe(
              Buffer.concat(
                sent.filter((one) => one[0] === kind).map(([, text]) => Buffer.from(text)),
              ).toString("utf8"),
            );
        },
      ),
    );
  });

  it("[D4] refuses what is not a frame", () => {
    expect(() => new Frames().take(Buffer.from("HTTP/1.1 200 OK\r\n"))).toThrow(EngineError);
    expect(() => new Frames().take(Buffer.from([1, 0, 1, 0, 0, 0, 0, 1]))).toThrow(EngineError);
  });

  it("[D5] the number of a command comes first on stderr; output that overtakes it is held back, not lost", async () => {
    const handshake = new Handshake();
    expect(handshake.take({ from: "stdout", bytes: Buffer.from("early") }, false)).toEqual([]);
    expect(handshake.take({ from: "stderr", bytes: Buffer.from("+1") }, false)).toEqual([]);
    expect(handshake.pid).toBeUndefined();
    const told = handshake.take({ from: "stderr", bytes: Buffer.from("2\nmore\n+99\n") }, false);
    expect(handshake.pid).toBe(12);
    expect(told.map(({ from, bytes }) => [from, Buffer.from(bytes).toString()])).toEqual([
      ["stdout", "early"],
      ["stderr", "more\n+99\n"],
    ]);
    await handshake.done;
    expect(handshake.take({ from: "stdout", bytes: Buffer.from("x") }, false)).toHaveLength(1);
    const terminal = new Handshake();
    terminal.take({ from: "stdout", bytes: Buffer.from("+7\r\n$ ") }, true);
    expect(terminal.pid).toBe(7);
  });

  it.each([
    ["-directory\n", "stderr", "there is no such directory"],
    ["-program\n", "stderr", "there is no program nope"],
    ["OCI runtime exec failed: no such thing", "stdout", "OCI runtime exec failed: no such thing"],
    ["something else\n", "stderr", "something else"],
    ["x".repeat(10_000), "stderr", "x".repeat(100)],
    ["", "stderr", "the engine did not start it and did not say why"],
  ] as const)("[D5] without it, what came instead says why: %j", (said, from, why) => {
    const handshake = new Handshake();
    handshake.take({ from, bytes: Buffer.from(said) }, false);
    expect(handshake.pid).toBeUndefined();
    expect(handshake.refusal(["nope"])).toContain(why);
    expect(handshake.refusal(["nope"]).length).toBeLessThan(5000);
  });
});
