import { describe, expect, it } from "vitest";
import { sandboxTools } from "../../agent/tool/index.js";
import { openRath } from "../../runtime/index.js";
import { storeOf } from "../../runtime/testing/rath.js";
import { signal, stateOf, withState, workflow } from "../../workflow/index.js";
import { all, failed, ran, saidIn } from "../../workflow/testing/ran.js";
import { chat, maxMessages, mentions, nestedChat } from "./index.js";
import { says, workIn } from "./testing/work.js";

const searcher = says("searcher", ["I found A.", "And B."]);
const skeptic = says("skeptic", ["Is there more?", "Fine."]);
const inner = chat("inner", [searcher, skeptic], { until: mentions("Fine.") });
const writer = says("writer", ["What is known?", "Then it is A and B. DONE"]);
const editor = says("editor", ["A and B are known."]);

describe("a nested chat", () => {
  it("[N1] works on a fork, and comes back as one message that names the branch", async () => {
    const research = nestedChat({ name: "research", chat: inner, summary: editor });
    const session = await ran(chat("outer", [writer, research], { until: mentions("DONE") }), "Find out.");
    expect(workIn(session)).toEqual([
      "main | writer | What is known?",
      "research | searcher | I found A.",
      "research | skeptic | Is there more?",
      "research | searcher | And B.",
      "research | skeptic | Fine.",
      "research | editor | A and B are known.",
      "main | writer | Then it is A and B. DONE",
    ]);
    expect(session.transcript).toHaveLength(4);
    const [summary] = all(session, "message-say").filter(({ by }) => by === "agent:research");
    expect(summary).toMatchObject({
      role: "assistant",
      content: [
        { type: "text", text: "A and B are known." },
        { type: "source", source: { branch: "research" } },
      ],
    });
    // What it names is where the inner branch ended, a parent of the outcome on the record.
    const [, reference] = (summary?.content ?? []) as [unknown, { source: { session: string } }];
    const end = [...session.history()].find(({ id }) => id === reference.source.session);
    expect(end?.branch).toBe("research");
    const outcome = [...session.history()].find(({ fact }) => fact.type === "step-result");
    expect(outcome?.parentIds[1]).toBe(end?.id);
    expect(session.lineage.map(({ kind, branch }) => `${kind} ${branch}`)).toEqual([
      "start main",
      "fork research",
    ]);
  });

  it("[N2] without anybody to sum up gives what was said last, and is told its task", async () => {
    const research = nestedChat({
      name: "research",
      chat: inner,
      task: (session) => `Look into this: ${saidIn(session)[0]}`,
    });
    const session = await ran(research, "Find out.");
    expect(session.recent(1)[0]?.role).toBe("assistant");
    expect(all(session, "step-result")).toMatchObject([{ value: "Fine.", by: "agent:research" }]);
    const told = [...session.history()].find(
      ({ fact }) => fact.type === "message-say" && fact.by === "runtime",
    );
    expect([told?.branch, told?.fact]).toMatchObject(["research", { content: "Look into this: Find out." }]);
    expect(JSON.stringify(session.transcript)).not.toContain("Look into this");
  });

  it("[N3] may be nested again, each on a branch of its branch", async () => {
    const deep = nestedChat({ name: "deep", chat: says("diver", ["It is deep."]) });
    const middle = nestedChat({
      name: "middle",
      chat: chat("talk", [deep, skeptic], { until: maxMessages(2) }),
    });
    const session = await ran(middle);
    expect(workIn(session)).toEqual(["deep | diver | It is deep.", "middle | skeptic | Is there more?"]);
    expect(session.transcript).toHaveLength(2);
  });

  it("[N4] that fails says so with the evidence of its branch", async () => {
    const down = says("down", [new Error("no such model")], { retry: { attempts: 1 } });
    const broken = nestedChat({ name: "broken", chat: chat("inner", [searcher, down]) });
    const { error, session } = await failed(broken);
    expect(error).toMatchObject({
      code: "step-failed",
      data: { step: "broken", failure: { code: "model-failed" } },
    });
    expect(workIn(session)).toEqual(["broken | searcher | I found A."]);
    const mute = nestedChat({ name: "mute", chat: workflow("silence", async (given) => given) });
    expect(all(await ran(mute), "step-result")).toMatchObject([{ value: "silence ended without a word." }]);
  });

  it("[N5] brings the files of its branch along", async () => {
    const coder = says("coder", [{ tool: "write", input: { path: "a.txt", text: "A\n" } }, "Written."], {
      tools: sandboxTools(),
    });
    const rath = openRath({ store: "memory:" });
    const nested = nestedChat({ name: "work", chat: coder });
    const session = await rath.run(nested, rath.start("Write.").to("virtual"), { name: "files" });
    expect(await (await rath.filesAt(session)).text("a.txt")).toBe("A\n");
    expect((await rath.replay("files", nested, { mode: "verify" })).id).toBe(session.id);
    await rath.close();
  });

  it("[N6] goes on after a kill inside of it", async () => {
    const store = await storeOf();
    const person = workflow("person", async (session) => {
      const { session: heard, value } = await signal("person").call(session);
      return heard.say(String(value), { by: "user:ada" });
    });
    const make = () =>
      nestedChat({
        name: "research",
        chat: chat("inner", [searcher, person], { until: mentions("enough") }),
      });
    const first = openRath({ store });
    expect((await first.run(make(), first.start("go"), { name: "talk" })).fact.type).toBe("run-suspend");
    await first.signal("talk", "person", "enough", "user:ada");
    const second = openRath({ store });
    const session = await second.resume("talk", make());
    expect(workIn(session)).toEqual(["research | searcher | I found A."]);
    expect(all(session, "step-result")).toMatchObject([{ value: "enough" }]);
    expect((await second.replay("talk", make(), { mode: "verify" })).id).toBe(session.id);
  });

  it("[N7] is a module like others, and refused when it makes no sense", async () => {
    const research = nestedChat({
      name: "research",
      description: "Finds out.",
      chat: inner,
      summary: editor,
    });
    expect(research).toMatchObject({ kind: "nested-chat", description: "Finds out." });
    expect(Object.isFrozen(research)).toBe(true);
    expect(Object.keys(stateOf(research))).toContain("chat.maxTurns");
    const shorter = await ran(withState(research, { "chat.maxTurns": 1 }));
    expect(workIn(shorter)).toHaveLength(2);
    for (const options of [
      {},
      undefined,
      { name: "a" },
      { name: "a", chat: {} },
      { name: "a", chat: inner, task: "t" },
      { name: "a", chat: inner, summary: "last" },
      { name: "a", chat: inner, sumary: editor },
    ])
      expect(() => nestedChat(options as never)).toThrow(expect.objectContaining({ code: "module-refused" }));
    const { error } = await failed(nestedChat({ name: "a", chat: inner, task: (async () => "x") as never }));
    expect(error).toMatchObject({ code: "rule-refused" });
  });
});
