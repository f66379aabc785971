import { describe, expect, it, onTestFinished, vi } from "vitest";
import { openRath } from "../runtime/index.js";
import { step } from "../workflow/index.js";
import { agent } from "./index.js";
import { scripted } from "./model/index.js";
import { tool } from "./tool/index.js";

describe("reconcilers", () => {
  it("[T9] of tools and of steps give back the same shape, or leave the effect in doubt", async () => {
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    onTestFinished(() => warned.mockRestore());
    for (const kind of ["step", "tool"] as const)
      for (const [found, told] of [
        [{ value: "receipt 7" }, "receipt 7"],
        [{ output: "receipt 7" }, "receipt 7"], // the form of tools in version 0.1
        [{ value: null }, null],
        [{ value: undefined }, undefined], // a lookup that found nothing
        [{ receipt: 7 }, undefined],
        [undefined, undefined],
        [null, undefined],
        ["done", undefined],
      ] as const) {
        warned.mockClear();
        const rath = openRath({ store: "memory:" });
        onTestFinished(() => rath.close());
        const attempts: number[] = [];
        const act = (_: unknown, { attempt }: { readonly attempt: number }) => {
          attempts.push(attempt);
          throw Object.assign(new Error("cut off"), { code: "ECONNRESET" });
        };
        const reconcile = async (_: unknown, { attempt }: { readonly attempt: number }) => {
          attempts.push(attempt);
          return found as never;
        };
        const pay = tool({
          name: "pay",
          description: "Pays.",
          input: { type: "object" },
          effect: "write",
          run: act,
          reconcile,
        });
        const module =
          kind === "step"
            ? step("pay", act, { effect: "write", reconcile })
            : agent({ name: "payer", model: scripted({ tool: "pay", input: {} }, "ok"), tools: [pay] });
        const session = await rath.run(module, rath.start("go"), { name: "pay" });
        expect(attempts).toEqual([1, 1]);
        const results = [...session.history()].flatMap(({ fact }) =>
          fact.type === "step-result" ? [fact.value] : fact.type === "tool-result" ? [fact.output] : [],
        );
        expect([kind, results, session.fact.type]).toEqual([
          kind,
          told === undefined ? [] : [told],
          told === undefined ? "run-suspend" : "run-end",
        ]);
        expect(await rath.pending("pay")).toMatchObject(told === undefined ? [{ doubt: true }] : []);
        if (told === undefined)
          expect(warned).toHaveBeenCalledWith(
            expect.objectContaining({ message: expect.stringContaining("{ value }") }),
            { code: "OPENRATH_RECONCILE" },
          );
      }
  });
});
