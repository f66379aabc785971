import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { unreadable } from "./testing/thrown.js";
import { readableError, thrownMessage, warnOf } from "./thrown.js";

describe("what was thrown", () => {
  it("[TH1] has a message, whatever it is, and can be looked at", () => {
    fc.assert(
      fc.property(unreadable(), (make) => {
        const thrown = make();
        expect(thrownMessage(thrown)).toBeTypeOf("string");
        const error = readableError(thrown);
        expect(error instanceof Error || error === thrown).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it("[TH1] is itself where it can be read, and else keeps what can be read of it", () => {
    class Odd extends Error {
      get code(): string {
        return "odd";
      }
    }
    const odd = new Odd("as it is", { cause: new Error("why") });
    expect(readableError(odd)).toBe(odd);
    for (const plain of ["text", 4, null, undefined]) expect(readableError(plain)).toBe(plain);
    const failing = Object.defineProperty(
      Object.assign(new TypeError("busy"), { code: "E_BUSY", isRetryable: true }),
      "cause",
      {
        get() {
          throw new RangeError("looked at");
        },
      },
    );
    expect(readableError(failing)).toMatchObject({
      name: "TypeError",
      message: "busy",
      code: "E_BUSY",
      isRetryable: true,
    });
  });

  it("[TH2] is warned of in a text of bounded length", async () => {
    const warned = new Promise<Error>((resolve) => process.once("warning", resolve));
    warnOf(new Error("x".repeat(1_000_000)), "test");
    const { message, stack } = await warned;
    expect([message.length, stack?.length]).toEqual([8_192, 8_192]);
  });
});
