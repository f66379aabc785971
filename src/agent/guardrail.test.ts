import { describe, expect, it } from "vitest";
import { z } from "zod";
import { gate, RuleError, stateOf, step, workflow } from "../workflow/index.js";
import { all, failed, ran, saidIn } from "../workflow/testing/ran.js";
import { AgentError, type AgentOptions, agent, GuardrailError } from "./index.js";
import { renderedPrompt, scripted } from "./model/index.js";

const noSecrets = { name: "no secrets", check: (text: string) => !text.includes("password") };
const polite = {
  name: "polite",
  check: (text: string) => ({ passed: !text.includes("fool"), why: "Be polite." }),
  otherwise: "repair",
} as const;

function clerk(options: Partial<AgentOptions>, ...replies: string[]) {
  return agent({ name: "clerk", model: scripted(...replies), ...options });
}

describe("guardrails", () => {
  it("[G1] of the input are checked before the model is asked, and stop the agent with the reason", async () => {
    const careful = clerk({ guardrails: { input: [noSecrets] } }, "Hello.");
    const fine = await ran(careful, "Hi.");
    expect(all(fine, "validation-report")).toMatchObject([
      { name: "no secrets", passed: true, by: "agent:clerk" },
    ]);
    expect(fine.text).toBe("Hello.");
    const { error, session } = await failed(careful, "My password is 123.");
    expect(error).toBeInstanceOf(GuardrailError);
    expect(error).toMatchObject({
      code: "guardrail-stopped",
      data: { agent: "clerk", side: "input", guardrail: "no secrets" },
    });
    expect(all(session, "model-call")).toEqual([]);
    expect(all(session, "validation-report")).toMatchObject([{ name: "no secrets", passed: false }]);
    expect(all(session, "run-end")[0]?.error).toMatchObject({ code: "guardrail-stopped" });
  });

  it("[G2] of the output can have the answer repaired, as often as `repairs` allows", async () => {
    const rude = clerk({ guardrails: { output: [noSecrets, polite] } }, "You fool.", "Dear friend.");
    const session = await ran(rude);
    expect(session.text).toBe("Dear friend.");
    expect(all(session, "validation-report").map(({ name, passed }) => [name, passed])).toEqual([
      ["no secrets", true],
      ["polite", false],
      ["no secrets", true],
      ["polite", true],
    ]);
    expect(saidIn(session)).toContain("Your answer cannot be used: Be polite.\nAnswer again.");
    expect(renderedPrompt(session).text).toContain("Be polite.");
    const stubborn = clerk(
      { guardrails: { output: [polite] }, repairs: 1 },
      "Fool.".toLowerCase(),
      "fool!",
      "never",
    );
    const { error, session: ended } = await failed(stubborn);
    expect(error).toMatchObject({ code: "guardrail-stopped", data: { side: "output", why: "Be polite." } });
    expect(all(ended, "model-call")).toHaveLength(2);
    const stopping = await failed(
      clerk({ guardrails: { output: [noSecrets] } }, "the password is 1", "never"),
    );
    expect(all(stopping.session, "model-call")).toHaveLength(1);
  });

  it("[G2] are checked after structured output, and not for replies that call tools", async () => {
    const seen: string[] = [];
    const look = { name: "look", check: (text: string) => seen.push(text) > 0 };
    const sure = agent({
      name: "clerk",
      model: scripted("x", '{"n":1}'),
      guardrails: { output: [look] },
      output: z.object({ n: z.number() }),
    });
    await ran(sure);
    // Once when it ran, and once when it was replayed.
    expect(seen).toEqual(['{"n":1}', '{"n":1}']);
  });

  it("[G3] can be a step or an agent, which work on a branch of their own", async () => {
    let asked = 0;
    const moderate = step(
      "moderate",
      async (text: string) => {
        asked += 1;
        return { passed: !text.includes("bomb"), why: "It is dangerous." };
      },
      { effect: "read" },
    );
    const judge = agent({
      name: "judge",
      model: scripted('{"passed":false,"why":"It is off topic."}', '{"passed":true}'),
      output: z.object({ passed: z.boolean(), why: z.string().optional() }),
    });
    const guarded = clerk(
      {
        guardrails: {
          input: [{ name: "moderation", check: moderate }],
          output: [{ name: "topic", check: judge, otherwise: "repair" }],
        },
      },
      "Bees.",
      "Your order is on its way.",
    );
    const session = await ran(guarded, "Where is my order?");
    expect(asked).toBe(1);
    expect(session.text).toBe("Your order is on its way.");
    expect(all(session, "validation-report").filter(({ name }) => name !== "output")).toMatchObject([
      { name: "moderation", passed: true },
      { name: "topic", passed: false, detail: "It is off topic." },
      { name: "topic", passed: true },
    ]);
    expect(JSON.stringify(session.transcript)).not.toContain("Check this text");
    expect((await failed(guarded, "How do I build a bomb?")).error).toMatchObject({
      data: { guardrail: "moderation", why: "It is dangerous." },
    });
  });

  it("[G4] a gate opens for a guardrail that passed", async () => {
    const publish = workflow("publish", async (session) => session.say("Published.", { role: "assistant" }));
    const release = gate("release", publish, { needs: ["polite"] });
    const both = workflow(
      "both",
      { rude: clerk({ guardrails: { output: [polite] } }, "Hi."), release },
      async (s, { rude, release }) => release.forward(await rude.forward(s)),
    );
    expect((await ran(both)).text).toBe("Published.");
  });

  it("[G5] a verdict that is a promise or of another kind is refused, and so are guardrails that cannot be", async () => {
    for (const check of [
      async () => true,
      () => "yes",
      () => ({ passed: "yes" }),
      () => ({ passed: true, why: 1 }),
    ]) {
      const { error } = await failed(
        clerk({ guardrails: { input: [{ name: "g", check: check as never }] } }, "hi"),
      );
      expect(error).toBeInstanceOf(RuleError);
    }
    for (const guardrails of [
      7,
      [],
      { inputs: [] },
      { input: {} },
      { input: [{ name: "g" }] },
      { input: [{ name: "output", check: () => true }] },
      { input: [{ name: "g", check: () => true, otherwise: "repair" }] },
      { output: [{ name: "g", check: () => true, otherwise: "ignore" }] },
      { output: [{ name: "g", check: () => true, else: "stop" }] },
    ])
      expect(() => clerk({ guardrails: guardrails as never }, "hi")).toThrow(AgentError);
    expect(stateOf(clerk({ guardrails: { output: [polite] } }, "hi"))).toMatchObject({
      guardrails: { output: ["polite"] },
    });
  });
});
