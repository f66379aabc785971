import { describe, expect, it } from "vitest";
import {
  configFact,
  type ModelConfig,
  messagesFor,
  type Prompt,
  renderedPrompt,
  renderPrompt,
  WithheldPromptError,
} from "../agent/model/index.js";
import { type FactInput, Session } from "../session/index.js";
import { openStore } from "../store/index.js";

const config: ModelConfig = { agent: "a", instructions: "Help." };
const id = "a".repeat(64);

function read(shown: string, space = "notes"): FactInput {
  return { type: "memory-read", space, query: "q", hits: [{ memory: id, score: 1, text: shown }], shown };
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
  it("[R11] is there when the prompt of a call is rendered again, from lines and from a part of them", async () => {
    const store = await openStore("memory:");
    let session = Session.start("first").append(read("an old note"));
    for (let turn = 0; turn < 50; turn++)
      session = called(session.say(`${turn}`).append(read(`note ${turn}`)));
    await store.save(session, { name: "s" });
    for (const horizon of [100_000, 20]) {
      const { text } = renderedPrompt(await store.load("s", { horizon }));
      expect(text).toContain("note 49");
      expect(text).not.toContain("note 48");
      expect(text).not.toContain("an old note");
    }
  });

  it("[R11] erased, it is named as what is missing", async () => {
    const store = await openStore("memory:");
    const session = called(Session.start("go", { inline: 0 }).append(read("a secret note")));
    await store.save(session, { name: "s" });
    const [, told] = [...session.history()];
    const { blobs } = JSON.parse(told?.line ?? "") as { blobs: { [field: string]: { digest: string } } };
    const digests = Object.values(blobs).map(({ digest }) => digest);
    await store.erase("s", { digests, why: "asked", by: "user:ada" });
    const loaded = await store.load(session.id);
    expect(() => renderedPrompt(loaded)).toThrow(WithheldPromptError);
  });
});
