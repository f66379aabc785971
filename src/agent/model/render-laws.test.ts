import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Message, Session } from "../../session/index.js";
import { campaign } from "../../session/testing/campaign.js";
import { programs, run } from "../../session/testing/program.js";
import { callModel, type ModelConfig, type Prompt, renderPrompt, transcriptFor } from "./index.js";
import { conversations, converse } from "./testing/history.js";
import { providers } from "./testing/providers.js";

const config: ModelConfig = {
  agent: "tester",
  instructions: "Be \ud800 brief.",
  tools: [{ name: "add", input: { type: "object", properties: {} } }],
};

describe("any conversation, for any provider", () => {
  it.each(providers())("[R1] renders to a request that $name accepts", async ({ model, sent, faults }) => {
    await fc.assert(
      fc.asyncProperty(conversations(), fc.nat(), async (steps, since) => {
        const made = converse(steps);
        const session = made.at(-1) as Session;
        await check(session, config);
        const past = [...session.history()];
        await check(session, { ...config, since: (past[since % past.length] as Session).id });
      }),
      { numRuns: campaign(400) },
    );
    async function check(session: Session, config: ModelConfig): Promise<void> {
      const prompt = renderPrompt(config, transcriptFor(config, session));
      await callModel(model, prompt, config);
      expect(faults(sent())).toEqual([]);
    }
  });

  it.each(providers())("[R1] so do the random programs of src/session, for $name", async (provider) => {
    await fc.assert(
      fc.asyncProperty(programs(40), async (program) => {
        const prompt = renderPrompt(config, (run(program).at(-1) as Session).transcript);
        await callModel(provider.model, prompt, config);
        expect(provider.faults(provider.sent())).toEqual([]);
      }),
      { numRuns: 60 },
    );
  });

  it("[R2] a prompt that goes on from another is the one rendered from the start", () => {
    fc.assert(
      fc.property(conversations(40), (steps) => {
        const prompts = new Map<Session, Prompt>();
        for (const session of converse(steps)) {
          const previous = session.atHorizon ? undefined : prompts.get(session.parents[0] as Session);
          const transcript = session.transcript;
          const next = renderPrompt(config, transcript, previous);
          const whole = renderPrompt({ ...config }, [...transcript]);
          expect(next.digest).toBe(whole.digest);
          expect(next.text).toBe(whole.text);
          expect(next.messages).toEqual(whole.messages);
          expect(next.tokens).toBe(whole.tokens);
          expect(next.replies).toBe(whole.replies);
          prompts.set(session, next);
        }
        // Growing one prompt leaves those before it as they were.
        for (const [session, prompt] of prompts)
          expect(prompt.text).toBe(renderPrompt(config, session.transcript).text);
      }),
      { numRuns: campaign(400) },
    );
  });

  it("[R2] also message by message, in lists that nobody recorded", () => {
    const message = fc.oneof(
      fc.constantFrom<Message>(
        { role: "user", content: "u" },
        { role: "assistant", content: "a" },
        { role: "assistant", content: [{ type: "tool-call", call: "c", name: "t", input: {} }] },
        { role: "assistant", content: [{ type: "tool-call", call: "c-2", name: "t", input: {} }] },
        { role: "tool", call: "c", name: "t" },
      ),
      fc.nat(9).map((output): Message => ({ role: "tool", call: "c", name: "t", output })),
    );
    fc.assert(
      fc.property(fc.array(message, { maxLength: 30, size: "max" }), (messages) => {
        let previous: Prompt | undefined;
        for (let length = 0; length <= messages.length; length++) {
          previous = renderPrompt(config, messages.slice(0, length), previous);
          expect(previous.text).toBe(renderPrompt(config, messages.slice(0, length)).text);
        }
      }),
      { numRuns: campaign(600) },
    );
  });
});
