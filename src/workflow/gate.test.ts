import { describe, expect, it } from "vitest";
import { openRath } from "../runtime/index.js";
import type { Session } from "../session/index.js";
import {
  type GateOptions,
  gate,
  ModuleError,
  RejectedError,
  sequence,
  stateOf,
  withState,
  workflow,
} from "./index.js";
import { says } from "./testing/modules.js";
import { all, failed, ran, saidIn } from "./testing/ran.js";

const reports = (...results: readonly (readonly [string, boolean])[]) =>
  workflow("check", async (session) =>
    results.reduce<Session>(
      (next, [name, passed]) => next.append({ type: "validation-report", name, passed, by: "tool:test" }),
      session,
    ),
  );
const release = gate("release", says("released"), {
  needs: ["tests", "review"],
  otherwise: says("repaired"),
});
const found = (session: Session) =>
  all(session, "gate-check").map(({ passed, needs }) => [passed, needs.map(({ state }) => state)]);

describe("gates", () => {
  it("[C14] open when the newest report of each validation has passed", async () => {
    const open = await ran(sequence([reports(["tests", false], ["review", true], ["tests", true]), release]));
    expect(saidIn(open)).toEqual(["go", "released"]);
    expect(found(open)).toEqual([[true, ["passed", "passed"]]]);
    const [{ needs }] = all(open, "gate-check") as unknown as [{ needs: readonly { of?: string }[] }];
    const ids = [...open.history()]
      .filter(({ fact }) => fact.type === "validation-report")
      .map(({ id }) => id);
    expect(needs.map(({ of }) => of)).toEqual([ids[2], ids[1]]);
  });

  it("[C14] take the other route when one has failed or is missing", async () => {
    const shut = await ran(sequence([reports(["tests", true], ["tests", false]), release]));
    expect(saidIn(shut)).toEqual(["go", "repaired"]);
    expect(found(shut)).toEqual([[false, ["failed", "missing"]]]);
  });

  it("[C14] do not take a report from before a change of files, or from a rejected branch", async () => {
    const tests = gate("g", says("released"), { needs: ["tests"], otherwise: says("repaired") });
    const after = "0".repeat(64);
    const change = workflow("change", async (session) =>
      session.append({
        type: "workspace-change",
        before: null,
        after,
        paths: [{ path: "a", change: "add" }],
        by: "tool:write",
      }),
    );
    expect(found(await ran(sequence([reports(["tests", true]), change, tests])))).toEqual([
      [false, ["outdated"]],
    ]);
    const both = workflow(
      "both",
      { good: reports(["tests", true]), bad: reports(["tests", false]) },
      async (session, parts) => {
        const good = await parts.good.forward(session.fork("good"));
        return (await parts.bad.forward(session.fork("bad"))).merge(good, { adopt: "ours" });
      },
    );
    expect(found(await ran(sequence([both, tests])))).toEqual([[false, ["failed"]]]);
  });

  it("[C14] suspend without another route until a person lets the session pass, or does not", async () => {
    const rath = openRath({ store: "memory:" });
    const shut = gate("shut", says("released"), { needs: ["tests"] });
    const waiting = await rath.run(shut, rath.start("go"), { name: "n" });
    expect(waiting.fact.type).toBe("run-suspend");
    expect(await rath.pending("n")).toMatchObject([
      { type: "approval-ask", shown: { gate: "shut", missing: [{ name: "tests", state: "missing" }] } },
    ]);
    await rath.approve("n", { by: "user:ada" });
    expect(saidIn(await rath.resume("n", shut))).toEqual(["go", "released"]);
    await rath.replay("n", shut, { mode: "verify" });
    await rath.run(shut, rath.start("go"), { name: "no" });
    await rath.reject("no", { by: "user:ada", why: "not tested" });
    await expect(rath.resume("no", shut)).rejects.toMatchObject({ cause: expect.any(RejectedError) });
    await rath.close();
  });

  it("[C14] are modules like others, and refuse what makes no sense", async () => {
    expect(stateOf(release)).toEqual({ needs: ["tests", "review"] });
    const unnamed = gate(says("released"), { needs: ["tests"] });
    expect(unnamed.name).toBe(says("released").name);
    expect(saidIn(await ran(sequence([reports(["tests", true]), unnamed])))).toEqual(["go", "released"]);
    const fewer = withState(release, { needs: ["tests"] });
    expect(saidIn(await ran(sequence([reports(["tests", true]), fewer])))).toEqual(["go", "released"]);
    for (const options of [
      undefined,
      {},
      { needs: [] },
      { needs: "tests" },
      { needs: ["tests"], other: 1 },
      { needs: [""] },
    ])
      for (const make of [
        () => gate("g", says("x"), options as unknown as GateOptions),
        () => gate(says("x"), options as unknown as GateOptions),
      ])
        expect(make).toThrow(ModuleError);
    expect(() => gate("g", undefined as never, { needs: ["tests"] })).toThrow(ModuleError);
    expect(
      (
        await failed(
          gate(
            "g",
            workflow("w", async () => {
              throw new Error("inside");
            }),
            {
              needs: ["a"],
              otherwise: workflow("o", async () => {
                throw new Error("other");
              }),
            },
          ),
        )
      ).error,
    ).toBeInstanceOf(Error);
  });
});
