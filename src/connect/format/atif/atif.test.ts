import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Json, Session } from "../../../session/index.js";
import { campaign } from "../../../session/testing/campaign.js";
import { openStore } from "../../../store/index.js";
import { ImportError, type Imported } from "../exchange.js";

import type { Fields } from "../fields.js";
import { lacking, recordings, sourceOf } from "../trajectory/testing/corpus.js";
import { mutated, nonsense, survives } from "../trajectory/testing/garbage.js";
import { expectNothingLost } from "../trajectory/testing/leaves.js";
import type { Loose } from "../trajectory/testing/loose.js";
import { ERASABLE, sample } from "../trajectory/testing/sample.js";
import { wordsOf } from "../trajectory/turn.js";
import { atof } from "./atof.js";
import { atif } from "./read.js";
import { breachesOf } from "./rules.js";
import { atifExport } from "./write.js";

const trajectories = recordings("atif", /_atif\.json$/);
const streams = recordings("atif", /_atof\.jsonl$/);
const parsed = (content: string | Uint8Array): Fields =>
  JSON.parse(Buffer.from(content).toString("utf8")) as Fields;

async function written(session: Session): Promise<string> {
  const store = await openStore("memory:");
  try {
    return (await atifExport.write({ session, store })) as string;
  } finally {
    await store.close();
  }
}

async function readOne(content: string, name = "file.json"): Promise<Imported> {
  const [only] = await atif.read(sourceOf(name, content));
  return only as Imported;
}

const valid = {
  schema_version: "ATIF-v1.7",
  agent: { name: "a", version: "1" },
  steps: [
    { step_id: 1, source: "user", message: "hi" },
    {
      step_id: 2,
      source: "agent",
      message: "",
      tool_calls: [{ tool_call_id: "c", function_name: "f", arguments: {} }],
      observation: { results: [{ source_call_id: "c", content: "ok" }] },
      metrics: { prompt_tokens: 3, completion_tokens: 4, cost_usd: 0.5 },
    },
  ],
} as const;

describe("the rules of ATIF", () => {
  const broken: readonly (readonly [where: string, change: (copy: Loose) => void])[] = [
    ["flavour", (copy) => (copy.flavour = 1)],
    ["schema_version", (copy) => (copy.schema_version = "ATIF-v9")],
    ["schema_version", (copy) => delete copy.schema_version],
    ["session_id", (copy) => (copy.schema_version = "ATIF-v1.6")],
    ["agent.version", (copy) => delete copy.agent.version],
    ["agent.name", (copy) => (copy.agent.name = 1)],
    ["steps", (copy) => (copy.steps = [])],
    ["steps[1].step_id", (copy) => (copy.steps[1].step_id = 3)],
    ["steps[0].source", (copy) => (copy.steps[0].source = "tool")],
    ["steps[0].message", (copy) => delete copy.steps[0].message],
    ["steps[0].message", (copy) => (copy.steps[0].message = null)],
    ["steps[0].message[0].source", (copy) => (copy.steps[0].message = [{ type: "image" }])],
    [
      "steps[0].message[0].source.media_type",
      (copy) => (copy.steps[0].message = [{ type: "image", source: { media_type: "image/bmp", path: "x" } }]),
    ],
    ["steps[0].timestamp", (copy) => (copy.steps[0].timestamp = "yesterday")],
    ["steps[0].model_name", (copy) => (copy.steps[0].model_name = "m")],
    ["steps[0].metrics", (copy) => (copy.steps[0].metrics = {})],
    ["steps[0].reasoning_content", (copy) => (copy.steps[0].reasoning_content = "hm")],
    ["steps[1].metrics", (copy) => (copy.steps[1].llm_call_count = 0)],
    ["steps[1].metrics.reward", (copy) => (copy.steps[1].metrics.reward = 1)],
    ["steps[1].llm_call_count", (copy) => (copy.steps[1].llm_call_count = -1)],
    [
      "steps[1].tool_calls[1].tool_call_id",
      (copy) => copy.steps[1].tool_calls.push(copy.steps[1].tool_calls[0]),
    ],
    ["steps[1].tool_calls[0].arguments", (copy) => (copy.steps[1].tool_calls[0].arguments = "{}")],
    [
      "steps[1].observation.results[0].source_call_id",
      (copy) => (copy.steps[1].observation.results[0].source_call_id = "d"),
    ],
    [
      "steps[1].observation.results[0].subagent_trajectory_ref[0]",
      (copy) => (copy.steps[1].observation.results[0].subagent_trajectory_ref = [{ session_id: "s" }]),
    ],
    [
      "subagent_trajectories[0].trajectory_id",
      (copy) => (copy.subagent_trajectories = [structuredClone(valid)]),
    ],
    [
      "subagent_trajectories[1].trajectory_id",
      (copy) =>
        (copy.subagent_trajectories = [
          { ...valid, trajectory_id: "t" },
          { ...valid, trajectory_id: "t" },
        ]),
    ],
    [
      "subagent_trajectories[0].steps[0].step_id",
      (copy) =>
        (copy.subagent_trajectories = [
          { ...valid, trajectory_id: "t", steps: [{ step_id: 2, source: "user", message: "" }] },
        ]),
    ],
    ["final_metrics.total_steps", (copy) => (copy.final_metrics = { total_steps: -1 })],
    ["extra", (copy) => (copy.extra = [])],
  ];

  it("[I6] a sub-agent whose trajectory is not in the file is reported, and the rest is read", async () => {
    const plain = structuredClone(valid) as Loose;
    const copy = structuredClone(valid) as Loose;
    copy.steps[1].observation.results[0].subagent_trajectory_ref = [
      { trajectory_id: "t", trajectory_path: "sub/t.json" },
      { trajectory_id: "gone", session_id: "s" },
    ];
    expect(breachesOf(copy)).toEqual([]);
    const [one] = await atif.read(sourceOf("run.json", JSON.stringify(copy)));
    expect(one?.warnings).toEqual([
      "The trajectory of the sub-agent t is not in the file: it is in sub/t.json.",
      "The trajectory of the sub-agent gone is not in the file.",
    ]);
    const [other] = await atif.read(sourceOf("run.json", JSON.stringify(plain)));
    expect(other?.warnings).toBeUndefined();
    expect(one?.session.transcript).toEqual(other?.session.transcript);
    expectNothingLost([copy as Json], [one as Imported]);
  });

  it("[R1] a valid document breaks none", () => {
    expect(breachesOf(valid as unknown as Json)).toEqual([]);
    const path = { trajectory_path: "elsewhere.json" };
    const copy = structuredClone(valid) as Loose;
    copy.steps[1].observation.results[0].subagent_trajectory_ref = [path];
    expect(breachesOf(copy)).toEqual([]);
  });

  it.each(broken)("[R1] says where one is broken: %s", async (where, change) => {
    const copy = structuredClone(valid);
    change(copy);
    expect(breachesOf(copy as unknown as Json).map((breach) => breach.where)).toContain(where);
    await expect(readOne(JSON.stringify(copy))).rejects.toMatchObject({
      code: "import-refused",
      data: { format: "atif" },
    });
  });
});

describe("a session as ATIF", () => {
  it("[W1] tells the adopted line with everything that happened on it", async () => {
    const { session, store } = await sample();
    const document = parsed((await atifExport.write({ session, store, name: "sample" })) as string) as Loose;
    expect(document.steps.map((step: Fields) => [step.source, step.message])).toEqual([
      ["user", "Fix issue 41."],
      ["agent", "I look at the file first."],
      ["agent", ""],
      ["agent", ""],
      ["agent", "A bold change."],
      ["system", "took in what ran beside"],
      ["system", "The conversation so far was summed up."],
      ["agent", "It is fixed."],
      ["user", "Thanks."],
    ]);
    const [, look, run, failed] = document.steps;
    expect(look).toMatchObject({
      model_name: "acme/big-1",
      reasoning_content: "Let me think.",
      tool_calls: [{ tool_call_id: "c1", function_name: "read", arguments: { path: "a.js" } }],
      observation: { results: [{ source_call_id: "c1", content: ERASABLE }] },
      metrics: { prompt_tokens: 100, completion_tokens: 10, cached_tokens: 50, cost_usd: 0.25 },
      llm_call_count: 1,
    });
    expect(run.observation.results[0]).toMatchObject({
      content: "exit 1",
      extra: { openrath: { error: { code: "exit" } } },
    });
    expect(run.extra.openrath.also.map(({ fact }: Loose) => fact.type)).toEqual([
      "approval-ask",
      "approval-give",
      "command-run",
    ]);
    expect(failed.extra.openrath.error.name).toBe("Overloaded");
    expect(document.agent).toMatchObject({ name: "coder", model_name: "acme/big-1" });
    expect(document.agent.tool_definitions[0].function.name).toBe("read");
    expect(document.extra.openrath).toMatchObject({ id: session.id, name: "sample", branch: "bold" });
    expect(document.final_metrics).toMatchObject({
      total_prompt_tokens: 400,
      total_steps: 9,
      total_cost_usd: 1.25,
    });
    const known = JSON.stringify(document);
    for (const { id } of session.history()) expect(known).toContain(id);
    await store.close();
  });

  it("[W5] leaves the total cost out where a call has no price, also one of an embedded trajectory", async () => {
    const store = await openStore("memory:");
    const replied = (on: Session, cost?: number): Session => {
      const asked = on.append({ type: "model-call", model: "m" });
      return asked.append({
        type: "model-reply",
        of: asked.id,
        content: "Yes.",
        finish: "stop",
        usage: { input: 5, output: 3 },
        ...(cost !== undefined && { cost }),
      });
    };
    const metricsOf = async (session: Session): Promise<Loose> =>
      (parsed((await atifExport.write({ session, store })) as string) as Loose).final_metrics;
    const priced = replied(Session.start("Is it?"), 0.5);
    expect(await metricsOf(replied(priced, 0.25))).toMatchObject({ total_cost_usd: 0.75 });
    expect(await metricsOf(replied(priced))).not.toHaveProperty("total_cost_usd");
    expect(await metricsOf(replied(priced))).toMatchObject({ total_prompt_tokens: 10 });
    const beside = replied(priced.fork("beside"));
    expect(await metricsOf(replied(priced, 0.25).merge(beside))).not.toHaveProperty("total_cost_usd");
    await store.close();
  });

  it("[W2] embeds branches with what was said before them", async () => {
    const { session, store } = await sample();
    const document = parsed((await atifExport.write({ session, store })) as string) as Loose;
    expect(document.subagent_trajectories).toHaveLength(1);
    const [small] = document.subagent_trajectories;
    expect(small.steps.map((step: Loose) => [step.message, step.is_copied_context ?? false])).toEqual([
      ["Fix issue 41.", true],
      ["I look at the file first.", true],
      ["", true],
      ["", true],
      ["A small change.", false],
    ]);
    expect(
      small.steps.every((step: Loose) => step.is_copied_context !== true || step.metrics === undefined),
    ).toBe(true);
    expect(document.steps[5].observation.results[0].subagent_trajectory_ref).toEqual([
      { trajectory_id: small.trajectory_id },
    ]);
    expect(small.extra.openrath.branch).toBe("small");
    await store.close();
  });

  it("[W3] tells compressions by the convention", async () => {
    const { session, store } = await sample();
    const document = parsed((await atifExport.write({ session, store })) as string) as Loose;
    expect(document.steps[6]).toMatchObject({
      observation: { results: [{ content: "We looked at a.js." }] },
      extra: {
        context_management: { type: "compaction", boundary: "replace", tokens_before: 900, tokens_after: 20 },
      },
    });
    await store.close();
  });

  it("[W4] has nothing that was erased", async () => {
    const { session, store, ids } = await sample();
    const [blob] = [...session.history()]
      .filter(({ id }) => id === ids.long)
      .flatMap((one) => [...one.blobs()]);
    await store.erase("sample", { digests: [blob?.ref.digest as string], by: "user:ada", why: "asked for" });
    for (const subject of [session, await store.load("sample")]) {
      const text = (await atifExport.write({ session: subject, store })) as string;
      expect(text).not.toContain("All work and no play");
      expect(parsed(text)).toMatchObject({
        steps: [{}, { observation: { results: [{ content: "[erased]" }] } }, {}, {}, {}, {}, {}, {}, {}],
      });
    }
    await store.close();
  });
});

describe.skipIf(lacking !== undefined)(
  `the supplied trajectories${lacking === undefined ? "" : ` (${lacking})`}`,
  () => {
    it("[I1] are all read, and nothing is lost", async () => {
      expect(trajectories).toHaveLength(6);
      for (const source of trajectories) {
        expect(atif.fits(source)).toBe(true);
        const imported = await atif.read(source);
        expectNothingLost([parsed(source.bytes)], imported);
        const [, second] = [...(imported[0] as Imported).session.history()];
        expect(second?.fact).toMatchObject({ type: "record-import", format: "atif", digest: source.digest });
      }
    });

    it("[I2] read as conversations", async () => {
      const [, calculator] = trajectories;
      const { session, notes } = await readOne(Buffer.from(calculator?.bytes ?? []).toString("utf8"));
      expect(session.transcript).toEqual([
        { role: "user", content: "What is 3 + 4?" },
        {
          role: "assistant",
          author: "calculator_agent",
          content: [{ type: "tool-call", call: "call_abc", name: "calculator__add", input: { a: 3, b: 4 } }],
        },
        { role: "tool", author: "calculator_agent", call: "call_abc", name: "calculator__add", output: "7" },
        { role: "assistant", author: "calculator_agent", content: "3 + 4 = 7" },
      ]);
      expect(session.pending).toEqual([]);
      expect(notes).toContain("steps: extra.ancestry.function_id (2 times)");
    });

    it("[I4] give the same ids each time", async () => {
      for (const source of trajectories) {
        const [one, other] = [await atif.read(source), await atif.read(source)];
        expect(one[0]?.session.id).toBe(other[0]?.session.id);
      }
    });

    it("[T1] are written as they were", async () => {
      for (const source of trajectories) {
        const { session } = (await atif.read(source))[0] as Imported;
        expect(parsed(await written(session))).toEqual(parsed(source.bytes));
      }
    });

    it("[E1] are the conversations of the event streams", async () => {
      expect(streams).toHaveLength(6);
      for (const [place, source] of streams.entries()) {
        expect(atof.fits(source)).toBe(true);
        const imported = await atof.read(source);
        const { session } = imported[0] as Imported;
        expectNothingLost(
          Buffer.from(source.bytes).toString("utf8").trim().split("\n").map(parsed),
          imported,
        );
        expect(session.pending).toEqual([]);
        const trajectory = (await atif.read(trajectories[place] as never))[0] as Imported;
        const said = ({ transcript }: Session): Json[] =>
          transcript.flatMap((message) =>
            message.role === "user" || message.role === "assistant"
              ? [[message.role, wordsOf(message.content)]]
              : [],
          );
        // The first is opaque: its scopes are steps, and no model is in it.
        if (place > 0) expect(said(session)).toEqual(said(trajectory.session));
        const tools = ({ transcript }: Session): Json[] =>
          transcript.flatMap((message) => (message.role === "tool" ? [[message.name, message.call]] : []));
        expect(tools(session)).toEqual(tools(trajectory.session));
      }
    });

    it("[G1] whatever is done to one, it is read or refused", async () => {
      await fc.assert(
        fc.asyncProperty(mutated(trajectories, false), async (source) => void (await survives(atif, source))),
        { numRuns: Number(process.env.FUZZ_RUNS ?? campaign(100)) },
      );
      await fc.assert(
        fc.asyncProperty(mutated(streams, true), async (source) => void (await survives(atof, source))),
        { numRuns: Number(process.env.FUZZ_RUNS ?? campaign(100)) },
      );
    });
  },
);

describe("ATIF as a session", () => {
  it("[I2] knows usage, cost, effort, words without a model and observations without a call", async () => {
    const { session } = await readOne(
      JSON.stringify({
        ...valid,
        steps: [
          { step_id: 1, source: "system", message: "Be brief." },
          {
            step_id: 2,
            source: "user",
            message: [
              { type: "text", text: "see" },
              { type: "image", source: { media_type: "image/png", path: "a.png" } },
            ],
          },
          {
            step_id: 3,
            timestamp: "2026-01-01T00:00:00Z",
            source: "agent",
            message: "ls",
            reasoning_content: "hm",
            reasoning_effort: "high",
            model_name: "m",
            observation: { results: [{ content: "a b" }] },
            metrics: { prompt_tokens: 3, completion_tokens: 4, cached_tokens: 2, cost_usd: 0.5 },
          },
          { step_id: 4, source: "agent", message: "routed", llm_call_count: 0 },
        ],
      }),
    );
    expect(session.usage).toMatchObject({ input: 3, output: 4, cached: 2 });
    expect(
      session.transcript.map((message) => [
        message.role,
        "content" in message ? wordsOf(message.content) : "",
      ]),
    ).toEqual([
      ["system", "Be brief."],
      ["user", "see"],
      ["assistant", "ls"],
      ["user", "a b"],
      ["assistant", "routed"],
    ]);
    const facts = [...session.history()].map(({ fact }) => fact);
    expect(facts.filter(({ type }) => type === "model-call")).toMatchObject([
      { model: "m", parameters: { effort: "high" }, at: "2026-01-01T00:00:00Z" },
    ]);
    expect(facts.filter(({ type }) => type === "model-reply")).toMatchObject([{ cost: 0.5 }]);
    expect(facts.find((fact) => fact.type === "message-say" && fact.content === "a b")).toMatchObject({
      by: "tool",
    });
  });

  it("[I3] embedded trajectories are lines that were taken in", async () => {
    const inner = { ...valid, trajectory_id: "inner", agent: { name: "b", version: "2" } };
    const document = structuredClone({
      ...valid,
      subagent_trajectories: [{ ...inner, trajectory_id: "loose" }, inner],
    }) as Loose;
    document.steps[1].observation.results[0].subagent_trajectory_ref = [{ trajectory_id: "inner" }];
    const text = JSON.stringify(document);
    const imported = await readOne(text);
    const { session } = imported;
    expectNothingLost([document], [imported]);
    expect(session.lineage.filter(({ kind }) => kind === "merge")).toHaveLength(2);
    expect(session.transcript).toHaveLength(3);
    expect(session.usage.input).toBe(9);
    expect(parsed(await written(session))).toEqual(document);
  });

  it("[I5] sums up what was said before the context was replaced", async () => {
    const summed = {
      step_id: 3,
      source: "system",
      message: "compacted",
      observation: { results: [{ content: "They said hi." }] },
      extra: {
        context_management: { type: "compaction", boundary: "replace", tokens_before: 9, tokens_after: 1 },
      },
    };
    const { session } = await readOne(
      JSON.stringify({
        ...valid,
        steps: [...valid.steps, summed, { step_id: 4, source: "user", message: "on" }],
      }),
    );
    expect(
      session.transcript.map((message) => ("content" in message ? wordsOf(message.content) : "")),
    ).toEqual([expect.stringContaining("They said hi."), "on"]);
  });

  it("[T1] words after an import follow it", async () => {
    const { session } = await readOne(JSON.stringify(valid));
    const document = parsed(
      await written(session.say("And now?", { at: "2026-01-02T00:00:00.000Z" })),
    ) as Loose;
    expect(document.steps).toHaveLength(3);
    expect(document.steps.slice(0, 2)).toEqual(valid.steps);
    expect(document.steps[2]).toMatchObject({
      step_id: 3,
      source: "user",
      message: "And now?",
      timestamp: "2026-01-02T00:00:00.000Z",
    });
    expect(document.final_metrics).toMatchObject({ total_prompt_tokens: 3, total_steps: 3 });
  });

  it("[T2] export, import and export gives the same bytes", async () => {
    const { session, store } = await sample();
    const first = (await atifExport.write({ session, store, name: "sample" })) as string;
    const imported = await readOne(first);
    expectNothingLost([parsed(first)], [imported]);
    expect(await written(imported.session)).toBe(first);
    expect(imported.session.usage).toMatchObject({ input: 500, output: 50 });
    await store.close();
  });

  it.each(nonsense)("[G1] refuses %s", async (_, content) => {
    expect(await survives(atif, sourceOf("x.json", content))).toBe(false);
    expect(await survives(atof, sourceOf("x.jsonl", content))).toBe(false);
  });

  it("[G1] says where a truncated file ends", async () => {
    await expect(readOne(JSON.stringify(valid).slice(0, -5))).rejects.toThrow(ImportError);
    const start = {
      kind: "scope",
      scope_category: "start",
      atof_version: "0.1",
      category: "llm",
      uuid: "u",
      name: "m",
      data: null,
    };
    const twice = `${JSON.stringify(start)}\n${JSON.stringify(start)}`;
    await expect(atof.read(sourceOf("x", twice))).rejects.toMatchObject({ data: { where: "line 2.uuid" } });
    const ended = JSON.stringify({ ...start, scope_category: "end" });
    await expect(atof.read(sourceOf("x", ended))).rejects.toMatchObject({ data: { where: "line 1.uuid" } });
  });
});
