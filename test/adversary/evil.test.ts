import { agent, openRath, policy, type Rath, type Session, scripted, tool } from "openrath";
import { afterEach, describe, expect, it } from "vitest";
import { EVILS, type Evil, lateErrors } from "./evil.js";

/** Far more than any of this may take: whatever is not over by then hangs. */
const DEADLINE = 240_000;

const open: Rath[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((rath) => rath.close()));
});

function opened(): Rath {
  const rath = openRath({
    store: "memory:",
    secrets: { KEY: "sk-canary-of-the-evil-tools" },
    policy: policy("house", [
      { name: "secrets", verdict: "deny", path: "secrets/**", tool: "nobody" },
      { name: "money", verdict: "ask", irreversible: true, untrusted: true, tool: "pay" },
    ]),
  });
  open.push(rath);
  return rath;
}

const add = tool({
  name: "add",
  description: "Adds.",
  input: {
    type: "object",
    properties: { a: { type: "number" }, b: { type: "number" } },
    required: ["a", "b"],
  },
  effect: "read",
  run: async ({ a, b }) => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    return (a as number) + (b as number);
  },
});

/** Somebody else's session in the same runtime, which has work to do all the while. */
const neighbour = agent({
  name: "neighbour",
  model: scripted((_prompt, turn) =>
    turn < 5 ? { tool: "add", input: { a: turn, b: turn } } : `The last sum was ${2 * (turn - 1)}.`,
  ),
  tools: [add],
});

function villain(evil: Evil) {
  return agent({
    name: "villain",
    model: scripted({ tool: "evil", input: { a: 1, b: "two" } }, "I go on."),
    tools: [evil.make()],
  });
}

async function inTime<Value>(what: string, work: Promise<Value>): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const bell = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} hangs`)), DEADLINE);
  });
  return Promise.race([work, bell]).finally(() => clearTimeout(timer));
}

const factsOf = (session: Session) => [...session.history()].map(({ fact }) => fact);

describe("an evil tool", () => {
  it.each(EVILS)(
    "[V5] [V6] that $name has a typed outcome, harms no neighbour, and is replayed",
    async (evil) => {
      const rath = opened();
      const before = lateErrors.length;
      const [session, other] = await inTime(
        evil.name,
        Promise.all([
          rath.run(villain(evil), rath.start("go"), { name: "villain" }),
          rath.run(neighbour, rath.start("add"), { name: "neighbour" }),
        ]),
      );
      expect(session.fact).toMatchObject({ type: "run-end" });
      expect(session.fact).not.toHaveProperty("error");
      const outcomes = factsOf(session).filter(
        ({ type }) => type === "tool-result" || type === "tool-failure",
      );
      expect(outcomes.length).toBe(1);
      const [outcome] = outcomes;
      if (outcome?.type === "tool-failure") {
        expect(typeof outcome.error.name).toBe("string");
        expect(typeof outcome.error.message).toBe("string");
        if (evil.outcome !== "failure" && evil.outcome !== "any")
          expect(outcome.error.code).toBe(evil.outcome);
      } else expect(["result", "any"]).toContain(evil.outcome);
      const types = new Set(factsOf(session).map(({ type }) => type));
      for (const forged of ["approval-give", "workspace-change"]) expect(types).not.toContain(forged);
      const lines = [...session.history()].map(({ line }) => line).join("\n");
      expect(lines).not.toContain("sk-canary");
      expect(lines.length).toBeLessThan(3_000_000);
      expect(factsOf(session).find(({ type }) => type === "tool-call")).toMatchObject({
        input: { a: 1, b: "two" },
      });
      expect(({} as { admin?: unknown }).admin).toBe(undefined);
      // The neighbour said what it says when it is alone, and its record holds.
      expect(JSON.stringify(other.recent(1))).toContain("The last sum was 8.");
      expect((await rath.replay("neighbour", neighbour, { mode: "verify" })).id).toBe(other.id);
      if (evil.name.includes("after it is over")) await expect.poll(() => lateErrors.length).toBe(before + 1);
      const again = await inTime("the replay", rath.replay("villain", villain(evil), { mode: "verify" }));
      expect(again.id).toBe(session.id);
      const kept = await (await rath.store()).load("villain");
      expect(kept.id).toBe(session.id);
    },
  );

  it("[V5] that hangs in a write leaves it in doubt, and a person says what became of it", async () => {
    const rath = opened();
    const hang = tool({
      name: "evil",
      description: "Hangs.",
      input: { type: "object" },
      effect: "write",
      timeout: 100,
      run: () => new Promise<never>(() => {}),
    });
    const module = agent({ name: "villain", model: scripted({ tool: "evil" }, "I go on."), tools: [hang] });
    const waiting = await inTime("the write", rath.run(module, rath.start("go"), { name: "w" }));
    expect(waiting.fact.type).toBe("run-suspend");
    await rath.settle("w", { by: "user:ada", decision: "failed", why: "it never came" });
    const ended = await inTime("the rest", rath.resume("w", module));
    expect(ended.fact.type).toBe("run-end");
    expect((await rath.replay("w", module, { mode: "verify" })).id).toBe(ended.id);
  });
});
