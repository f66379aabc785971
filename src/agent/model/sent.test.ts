import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Json, Session } from "../../session/index.js";
import { campaign } from "../../session/testing/campaign.js";
import {
  configFact,
  type ModelConfig,
  renderedPrompt,
  renderPrompt,
  sentPrompt,
  transcriptFor,
} from "./index.js";
import { conversations, converse } from "./testing/history.js";

const config: ModelConfig = { agent: "theirs", instructions: "Be brief." };

/** The call that records what was sent at a session, as `recording` makes it. */
function called(session: Session, messages: readonly Json[]) {
  const configured = session.append(configFact(config));
  const own = renderPrompt(config, transcriptFor(config, configured));
  const { prompt, parameters } = sentPrompt(own, messages);
  const call = configured.append({
    type: "model-call",
    model: "m",
    config: configured.id,
    prompt: prompt.digest,
    ...(parameters !== undefined && { parameters }),
  });
  return { call, own, prompt, parameters: parameters as { readonly messages: readonly Json[] } | undefined };
}

function ownOf(session: Session): readonly Json[] {
  return renderPrompt(config, session.transcript).messages as unknown as readonly Json[];
}

/** The same with its keys the other way round: whoever sends it need not write it as we do. */
function turned(value: Json): Json {
  if (Array.isArray(value)) return value.map(turned);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, inner]) => [key, turned(inner)]),
  );
}

describe("what somebody else's loop sent", () => {
  it("[E6] needs nothing beside the record where the record says the same", () => {
    // The same words twice: each stands for its own place.
    const session = Session.start("Again?").say("No.", { role: "assistant" }).say("Again?");
    const { parameters, prompt, own, call } = called(session, ownOf(session).map(turned));
    expect(parameters).toBeUndefined();
    expect(prompt).toBe(own);
    expect(renderedPrompt(call).text).toBe(own.text);
  });

  it("[E6] names places of the record's own messages and keeps the others", () => {
    const session = Session.start("One.").say("Two.", { role: "assistant" }).say("Three.");
    const [system, one, two, three] = ownOf(session) as [Json, Json, Json, Json];
    const other = { role: "system", content: "Be kind.", providerOptions: { p: { cache: true } } };
    const sent = [system, other, one, two, other, three];
    const { call, parameters } = called(session, sent);
    expect(parameters?.messages).toEqual([[0, 1], other, [1, 2], other, [3, 1]]);
    expect(renderedPrompt(call).messages).toEqual(sent);
    expect(called(session, []).parameters).toEqual({ messages: [] });
    expect(renderedPrompt(called(session, []).call).messages).toEqual([]);
  });

  it("[E6] is rendered again whatever was left out, repeated, moved or added, in any conversation", () => {
    const choice = fc.oneof(
      { weight: 4, arbitrary: fc.nat(30) },
      fc.constantFrom<Json>(
        { role: "user", content: [{ type: "text", text: "half \ud800" }] },
        { role: "tool", content: [] },
        { role: "system", content: "" },
      ),
    );
    fc.assert(
      fc.property(conversations(12), fc.array(choice, { maxLength: 12 }), (steps, choices) => {
        const session = converse(steps).at(-1) as Session;
        const own = ownOf(session);
        const sent = choices.map((one) => (typeof one === "number" ? own[one % own.length] : one) as Json);
        const { call, prompt } = called(session, sent);
        const again = renderedPrompt(call);
        expect(again.messages).toEqual(sent);
        expect(again.text).toBe(prompt.text);
        expect(again.digest).toBe(prompt.digest);
        expect(
          again.text
            .split("\n")
            .slice(1, -1)
            .map((line) => JSON.parse(line)),
        ).toEqual(sent);
      }),
      { numRuns: campaign(400) },
    );
  });
});
