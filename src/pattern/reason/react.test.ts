import { describe, expect, it } from "vitest";
import {
  type CallOptions,
  type LanguageModel,
  type ScriptedReply,
  scripted,
} from "../../agent/model/index.js";
import { add, broken } from "../../agent/testing/tools.js";
import { tool } from "../../agent/tool/index.js";
import { openRath } from "../../runtime/index.js";
import type { Json } from "../../session/index.js";
import { stateOf, withState } from "../../workflow/index.js";
import { all, failed, ran } from "../../workflow/testing/ran.js";
import { inputFor } from "./argument.js";
import { readStep } from "./episode.js";
import { deedsOf, episodeOf, importReact, react, readReact, type UnreadableError } from "./index.js";

const search = tool({
  name: "Search",
  description: "Looks something up.",
  input: { type: "object", properties: { query: { type: "string" } }, required: ["query"] },
  effect: "read",
  run: ({ query }) => `${query} is an American rock band from Franklin, Tennessee.`,
});

const THOUGHT = "Thought 1: I look it up.\nAction 1: Search[Paramore]";
const DONE = "Thought 2: It is.\nAction 2: Finish[yes]";

/** A scripted model, and every prompt that it was asked with. */
function heard(...replies: readonly ScriptedReply[]): { model: LanguageModel; prompts: string[] } {
  const inner = scripted(...replies);
  const prompts: string[] = [];
  const model = {
    ...inner,
    doGenerate: (options: CallOptions) => {
      prompts.push(JSON.stringify(options));
      return inner.doGenerate(options);
    },
  } as LanguageModel;
  return { model, prompts };
}

describe("ReAct", () => {
  it("[A1] leaves the same facts whether the model writes its actions or calls tools", async () => {
    const { model, prompts } = heard(THOUGHT, DONE);
    const written = await ran(
      react({ name: "clerk", model, tools: [search] }),
      "Is Paramore from Tennessee?",
    );
    const calling = react({
      name: "clerk",
      codec: "calls",
      model: scripted(
        { text: "I look it up.", tools: [{ tool: "Search", input: { query: "Paramore" } }] },
        "yes",
      ),
      tools: [search],
    });
    const called = await ran(calling, "Is Paramore from Tennessee?");
    for (const session of [written, called]) {
      expect(all(session, "tool-call")).toMatchObject([
        { name: "Search", input: { query: "Paramore" }, effect: "read", by: "agent:clerk" },
      ]);
      expect(all(session, "tool-result")).toMatchObject([{ output: expect.stringContaining("Tennessee") }]);
      expect(all(session, "model-reply").length).toBe(2);
    }
    const [one, other] = [episodeOf(written, "clerk"), episodeOf(called, "clerk")];
    expect(one.steps[0]).toEqual({
      thought: "I look it up.",
      action: { tool: "Search", argument: "Paramore" },
      observation: "Paramore is an American rock band from Franklin, Tennessee.",
    });
    expect(other.steps[0]).toEqual(one.steps[0]);
    expect([one.question, one.answer, other.answer]).toEqual(["Is Paramore from Tennessee?", "yes", "yes"]);
    // The model that writes is told of its tools in words, and of no others.
    expect(prompts[0]).toContain("- Search[query]: Looks something up.");
    expect(prompts[0]).not.toContain("inputSchema");
    expect(prompts[1]).toContain("Observation 1: Paramore is an American rock band");
  });

  it("[A2] makes written actions through the door, and what goes wrong is an observation", async () => {
    const { model, prompts } = heard(
      "Action 1: Login[]",
      "Action 2: broken[{}]",
      "Action 3: add[a=1, b=soon]",
      "Action 4: ADD[1, 2]",
      "Action 5: Finish[3]",
    );
    const clerk = react({ name: "clerk", model, tools: [add, broken] });
    const session = await ran(clerk);
    const failures = all(session, "tool-failure").map(({ error }) => error);
    expect(failures.map(({ code }) => code)).toMatchObject(["tool-unknown", undefined, "tool-input-refused"]);
    expect(prompts[2]).toContain("Observation 2: Error: it is broken");
    expect(all(session, "tool-result").map(({ output }) => output)).toEqual([3]);
    expect(clerk.output(session)).toBe("3");
  });

  it("[A3] ends with an answer, or visibly at its limits", async () => {
    const clerk = react({ name: "clerk", model: scripted(THOUGHT, DONE), tools: [search] });
    const session = await ran(clerk);
    expect([clerk.output(session), all(session, "budget-stop")]).toEqual(["yes", []]);
    const again: ScriptedReply = (_prompt, turn) => `Action ${turn + 1}: Search[page ${turn}]`;
    const endless = react({ name: "clerk", model: scripted(again), tools: [search], maxSteps: 3 });
    const stopped = await ran(endless);
    expect(all(stopped, "budget-stop")).toMatchObject([{ limit: "steps", allowed: 3 }]);
    expect([all(stopped, "tool-call").length, endless.output(stopped)]).toEqual([3, undefined]);
    const poor = react({ name: "clerk", model: scripted(again), tools: [search], budget: { steps: 2 } });
    const spent = await ran(poor);
    expect(all(spent, "budget-stop")).toMatchObject([{ limit: "steps", allowed: 2 }]);
    expect(all(spent, "model-reply").length).toBe(2);
  });

  it("[A4] tells a model that wrote no action, and gives up in the end", async () => {
    const { model, prompts } = heard("It is well known that it is.", THOUGHT, "Thought: hm", DONE);
    const clerk = react({ name: "clerk", model, tools: [search], repairs: 1 });
    const { error, session: gone } = await failed(clerk);
    expect(error).toMatchObject({
      code: "react-unreadable",
      data: { name: "clerk", tries: 2, said: "Thought: hm" },
    });
    expect(gone.fact).toMatchObject({ type: "run-end", error: { code: "react-unreadable" } });
    expect(gone.descendsFrom((error as UnreadableError).session)).toBe(true);
    expect(prompts[1]).toContain("There is no action in what you wrote");
    const patient = react({ name: "clerk", model, tools: [search] });
    const session = await ran(patient);
    expect(patient.output(session)).toBe("yes");
    // All replies count, also those that were of no use.
    const short = react({ name: "clerk", model: scripted("Hm.", "Hm."), tools: [search], maxSteps: 1 });
    expect(all(await ran(short), "budget-stop")).toMatchObject([{ limit: "steps", allowed: 1 }]);
  });

  it("[A5] leaves out what a model made up behind its action", async () => {
    const lie = `${THOUGHT}\nObservation 1: It is from Mars.\nThought 2: So no.\nAction 2: Finish[no]`;
    const { model, prompts } = heard(lie, DONE);
    const clerk = react({ name: "clerk", model, tools: [search] });
    const session = await ran(clerk);
    expect(clerk.output(session)).toBe("yes");
    expect(prompts[1]).not.toContain("from Mars");
    expect(prompts[0]).toContain('"stopSequences":["\\nObservation"]');
    const [reply] = all(session, "model-reply");
    expect(JSON.stringify(reply?.content)).toContain("from Mars");
  });

  it("[A6] makes of what stands between brackets what the tool takes", () => {
    const schema = (properties: { [name: string]: Json }, required?: string[]): Json => ({
      type: "object",
      properties,
      ...(required !== undefined && { required }),
    });
    const numbers = schema({ a: { type: "number" }, b: { type: "number" } });
    const word = schema({ query: { type: "string" }, limit: { type: "number" } }, ["query"]);
    for (const [words, of, input] of [
      ["Paramore", word, { query: "Paramore" }],
      ["one, two", word, { query: "one, two" }],
      ['"quoted, [so]"', word, { query: "quoted, [so]" }],
      ["42", word, { query: "42" }],
      ["query=x, limit=3", word, { query: "x", limit: 3 }],
      ['{"query": "x", "limit": 3}', word, { query: "x", limit: 3 }],
      ["1, 2", numbers, { a: 1, b: 2 }],
      ["b=2, a=1", numbers, { a: 1, b: 2 }],
      ["1, 2, 3", numbers, { input: "1, 2, 3" }],
      ["", numbers, {}],
      ["soon", schema({ when: { type: "number" } }), { when: "soon" }],
      ["'it, is', 2", schema({ a: { type: "string" }, b: {} }), { a: "it, is", b: 2 }],
      ["anything", {}, { input: "anything" }],
    ] as const)
      expect([words, inputFor(words, of)]).toEqual([words, input]);
    for (const [text, tool, argument] of [
      ["Action: f[a [b] c]", "f", "a [b] c"],
      ["Action 3:\n\nf[x]", "f", "x"],
      ['Action 1: f[{"text": "]"}]', "f", '{"text": "]"}'],
      ["Action 1: f[open [bracket]", "f", "open [bracket"],
      ["Action 1: f[x] on another site", "f", "x"],
    ] as const)
      expect([text, readStep(text).action]).toEqual([text, { tool, argument }]);
    for (const text of [
      "",
      "Action 1: f",
      "Action 1: [x]",
      "f[x]",
      "Action 1: f[x",
      "Observation: \nAction: f[x]",
    ])
      expect([text, readStep(text).action]).toEqual([text, undefined]);
  });

  it("[A7] replays without model and tools, and waits for an approval across runtimes", async () => {
    const store = await openRath({ store: "memory:" }).store();
    let sent = 0;
    const send = tool({
      name: "send",
      description: "Sends a word.",
      input: { type: "object", properties: { word: { type: "string" } }, required: ["word"] },
      effect: "write",
      approval: true,
      run: () => {
        sent += 1;
        return "sent";
      },
    });
    const clerk = () =>
      react({
        name: "clerk",
        model: scripted("Action 1: send[hello]", "Action 2: Finish[done]"),
        tools: [send],
      });
    const first = openRath({ store });
    const waiting = await first.run(clerk(), first.start("Say hello."), { name: "s" });
    expect([waiting.fact.type, sent]).toEqual(["run-suspend", 0]);
    expect(await first.pending("s")).toMatchObject([{ shown: { tool: "send", input: { word: "hello" } } }]);
    const second = openRath({ store });
    await second.approve("s", { by: "user:ada" });
    const session = await second.resume("s", clerk());
    expect([clerk().output(session), sent]).toEqual(["done", 1]);
    const gone = react({
      name: "clerk",
      model: scripted("Action 1: send[hello]", "Action 2: Finish[done]"),
      tools: [send],
    });
    expect((await second.replay("s", gone, { mode: "verify" })).id).toBe(session.id);
    expect(sent).toBe(1);
  });

  it("[A8] reads recorded episodes and makes sessions of them", () => {
    const text = [
      "12 Claim: Ice is hot.",
      "Thought 1: I search.\nit takes two lines",
      "Action 1: Search[ice]",
      "Observation 1: Ice is frozen.",
      "",
      "Thought 2: So no.",
      "Action 2: Finish[REFUTES]",
      "Observation 2: Episode finished, reward = 1",
      "",
      `{'steps': 2, 'answer': 'REFUTES', 'note': "it's", 'em': True, 'reward': 1, 'f1': None} `,
      "",
      "1 1 1.0 4.2",
      "-----------",
      "Question: And fire?",
      "Thought 1: I log in.",
      "Action 1: Login",
      "Observation 1: Invalid action: login",
    ].join("\n");
    const [one, other] = readReact(text);
    expect(one).toMatchObject({
      question: "Claim: Ice is hot.",
      steps: [
        { thought: "I search.\nit takes two lines", action: { tool: "Search", argument: "ice" } },
        { thought: "So no.", action: { tool: "Finish", argument: "REFUTES" } },
      ],
      answer: "REFUTES",
      outcome: { steps: 2, answer: "REFUTES", note: "it's", em: true, reward: 1, f1: null },
      tally: { right: 1, of: 1 },
    });
    expect(other).toMatchObject({ steps: [{ action: { tool: "Login", argument: "" } }] });
    expect([other?.answer, other?.outcome]).toEqual([undefined, undefined]);
    const [first, second] = importReact(text, { source: "two.txt", at: "2024-01-01T00:00:00.000Z" });
    if (first === undefined || second === undefined) throw new Error("there are two");
    expect(all(first, "record-import")).toMatchObject([{ format: "react", source: "two.txt" }]);
    expect(all(first, "validation-report")).toMatchObject([
      { passed: true, score: 1, of: first.parentIds[0] },
    ]);
    expect(all(second, "tool-failure")).toMatchObject([{ error: { message: "Invalid action: login" } }]);
    expect(all(second, "validation-report")).toEqual([]);
    expect(episodeOf(first)).toEqual({ question: one?.question, steps: one?.steps, answer: "REFUTES" });
    expect(readReact("nothing of the kind")).toEqual([]);
  });

  it("[A9] refuses what makes no sense, and can be changed", async () => {
    const model = scripted("Hm.", "Hm.", "Hm.");
    for (const [options, reason] of [
      [{ model, tools: [search] }, /name/],
      [{ name: "clerk", tools: [search] }, /`model` must be/],
      [{ name: "clerk", model, tool: [search] }, /no option "tool"/],
      [{ name: "clerk", model, codec: "xml" }, /codec/],
      [{ name: "clerk", model, maxSteps: 0 }, /maxSteps/],
      [{ name: "clerk", model, repairs: -1 }, /repairs/],
    ] as const)
      expect(() => react(options as never)).toThrow(reason);
    const finish = tool({ ...search, name: "Finish", input: { type: "object" }, run: () => "" } as never);
    expect(() => react({ name: "clerk", model, tools: [finish] })).toThrow(/Finish/);
    const clerk = react({ name: "clerk", model, tools: [search], instructions: "Be brief.", repairs: 0 });
    expect(stateOf(clerk)).toMatchObject({ codec: "text", repairs: 0, "thinker.instructions": "Be brief." });
    const patient = withState(clerk, { repairs: 1, "thinker.maxSteps": 9 });
    expect(stateOf(patient)).toMatchObject({ repairs: 1, "thinker.maxSteps": 9 });
    expect((await failed(patient)).error).toMatchObject({ data: { tries: 2 } });
    expect(() => withState(clerk, { codec: "calls" })).toThrow(/codec/);
  });

  it("[G1] shows who did what on which branch", async () => {
    const session = await ran(
      react({ name: "clerk", model: scripted(THOUGHT, DONE), tools: [search] }),
      "Is it?",
    );
    expect(deedsOf(session).map(({ branch, by, did }) => `${branch} | ${by} | ${did}`)).toEqual([
      "main | user | started a session with Is it?",
      "main | agent:clerk | replied Thought 1: I look it up. Action 1: Search[Paramore]",
      'main | agent:clerk | called Search with {"query":"Paramore"}',
      "main | tool:Search | returned Paramore is an American rock band from Franklin, Tennessee.",
      "main | agent:clerk | replied Thought 2: It is. Action 2: Finish[yes]",
    ]);
  });
});
