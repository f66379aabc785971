import { describe, expect, it } from "vitest";
import { type FactInput, Session } from "../../session/index.js";
import { askedLast, configFact, type ModelConfig, messagesFor, type Prompt, renderPrompt } from "./index.js";

const config: ModelConfig = { agent: "a", instructions: "Help." };
const id = "a".repeat(64);

function read(shown: string, space = "notes"): FactInput {
  return { type: "memory-read", space, query: "q", hits: [{ memory: id, score: 1, text: shown }], shown };
}

function wordsFor(session: Session): string {
  return renderPrompt(config, messagesFor(config, session))
    .messages.map(({ role, content }) =>
      role === "system"
        ? "system"
        : `${role}: ${(content as readonly { text?: string }[]).map(({ text }) => text).join(" | ")}`,
    )
    .join("\n");
}

/** A call of a model as an agent makes it. */
function called(session: Session): Session {
  const configured = session.append(configFact(config));
  const prompt: Prompt = renderPrompt(config, messagesFor(config, configured));
  const call = configured.append({
    type: "model-call",
    model: "m",
    agent: "a",
    config: configured.id,
    prompt: prompt.digest,
  });
  const usage = { input: 1, output: 1 };
  return call.append({ type: "model-reply", of: call.id, content: "Done.", finish: "stop", usage });
}

describe("what was recalled", () => {
  it("[M1] stands before what was said last; of one space the last reading counts", () => {
    const asked = Session.start("first").say("Sure.", { role: "assistant" }).say("second");
    expect(askedLast(asked)).toBe(asked.id);
    const told = asked.append(read("old")).append(read("other", "other")).append(read("new"));
    expect(wordsFor(told)).toBe("system\nuser: first\nassistant: Sure.\nuser: other | new | second");
    expect(askedLast(told)).toBe(asked.id);
    // What is only read and not to be shown is in no prompt.
    const { shown: _, ...silent } = read("hidden") as FactInput & { shown: string };
    expect(wordsFor(asked.append(silent as FactInput))).not.toContain("hidden");
  });

  it("[M1] while the model works on it, with calls of tools after it", () => {
    let session = Session.start("go").append(read("a note"));
    const content = [{ type: "tool-call", call: "1", name: "add", input: {} }] as const;
    session = called(session);
    const call = session.append({
      type: "message-say",
      role: "assistant",
      content,
    });
    expect(wordsFor(call)).toContain("user: a note | go\nassistant: Done.");
  });

  it("[M2] is gone with the next words of a person, and not with other words", () => {
    const told = Session.start("first").append(read("a note"));
    const repaired = told
      .say("Sure.", { role: "assistant" })
      .append({ type: "message-say", role: "user", content: "that does not fit", by: "runtime" });
    expect(wordsFor(repaired)).toContain("a note");
    const next = told.say("Sure.", { role: "assistant" }).say("second");
    expect(wordsFor(next)).toBe("system\nuser: first\nassistant: Sure.\nuser: second");
    const [ours, theirs] = [
      told.fork("a").append(read("left", "l")),
      told.fork("b").append(read("right", "r")),
    ];
    expect(wordsFor(ours.merge(theirs, { adopt: "ours" }))).not.toContain("right");
    expect(wordsFor(ours.merge(theirs))).toMatch(/a note \| left \| right/);
  });
});
