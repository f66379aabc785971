import { setTimeout as pause } from "node:timers/promises";
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";
import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { openRath } from "../runtime/index.js";
import { approve, parallel, sequence } from "../workflow/index.js";
import { all, failed, ran, saidIn } from "../workflow/testing/ran.js";
import { agent, OutputError, outputOf } from "./index.js";
import { scripted } from "./model/index.js";
import { add } from "./testing/tools.js";
import type { StandardJson } from "./tool/index.js";

const schema = z.object({ city: z.string(), people: z.number().int() });

describe("structured output", () => {
  it("[O1] is checked, recorded and read back", async () => {
    const asked: unknown[] = [];
    const base = scripted({ tool: "add", input: { a: 1, b: 1 } }, '{"city":"Ulm","people":126000}');
    const model = {
      ...base,
      doGenerate: (options: Parameters<typeof base.doGenerate>[0]) => {
        asked.push((options as { responseFormat?: unknown }).responseFormat);
        return base.doGenerate(options);
      },
    };
    const finder = agent({ name: "finder", model, output: schema, tools: [add] });
    const session = await ran(finder);
    const found = finder.output(session);
    expectTypeOf(found).toEqualTypeOf<{ city: string; people: number } | undefined>();
    expect(found).toEqual({ city: "Ulm", people: 126000 });
    expect(outputOf(session)).toEqual(found);
    expect(all(session, "validation-report")).toMatchObject([
      { name: "output", passed: true, detail: found, by: "agent:finder" },
    ]);
    expect(asked[0]).toMatchObject({ type: "json", schema: { required: ["city", "people"] } });
    expect(all(session, "agent-configure")[0]?.output).toMatchObject({ type: "object" });
  });

  it("[O1] belongs to its agent, and comes in any schema", async () => {
    const one = agent({
      name: "one",
      model: scripted('```json\n{"x": 1}\n```'),
      output: z.object({ x: z.number() }),
    });
    const two = agent({
      name: "two",
      model: scripted('{"y": "z"}'),
      output: toStandardJsonSchema(v.object({ y: v.string() })),
    });
    const three = agent({
      name: "three",
      model: scripted('{"n": 3}'),
      output: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
    });
    const plain = agent({ name: "plain", model: scripted("words") });
    const session = await ran(sequence([one, two, three, plain]));
    expect(one.output(session)).toEqual({ x: 1 });
    expect(two.output(session)).toEqual({ y: "z" });
    expect(three.output(session)).toEqual({ n: 3 });
    expect(plain.output(session)).toBeUndefined();
    expect(outputOf(session)).toEqual({ n: 3 });
  });

  it("[O1] is that of the branch that was adopted", async () => {
    const typed = (name: string, delay: number) =>
      agent({
        name,
        model: scripted({ text: `{"by":"${name}"}`, delay }),
        output: z.object({ by: z.string() }),
      });
    const parts = { one: typed("one", 15), two: typed("two", 1) };
    const before = typed("before", 0);
    const adopted = await ran(sequence([before, parallel("p", parts, { adopt: "one" })]));
    expect(outputOf(adopted)).toEqual({ by: "one" });
    expect(parts.two.output(adopted)).toBeUndefined();
    expect(before.output(adopted)).toEqual({ by: "before" });
    const both = await ran(sequence([before, parallel("p", parts)]));
    expect([parts.one.output(both), parts.two.output(both)]).toEqual([{ by: "one" }, { by: "two" }]);
    expect(outputOf(both)).toEqual({ by: "two" });
  });

  it("[O1] is the text that its provider says is the output", async () => {
    const base = scripted("Here you are.");
    const model = {
      ...base,
      doGenerate: async (options: Parameters<typeof base.doGenerate>[0]) => ({
        ...(await base.doGenerate(options)),
        structuredOutputText: '{"city":"Ulm","people":126000}',
      }),
    };
    const finder = agent({ name: "finder", model, output: schema });
    expect(finder.output(await ran(finder))).toEqual({ city: "Ulm", people: 126000 });
  });

  it("[O1] may take its time to be checked, also when a run is resumed", async () => {
    const { jsonSchema } = schema["~standard"];
    const slow: StandardJson<{ city: string }, { city: string }> = {
      "~standard": {
        version: 1,
        vendor: "somebody",
        jsonSchema,
        validate: async (value) => {
          await pause(20);
          return { value: value as { city: string } };
        },
      },
    };
    const finder = agent({ name: "finder", model: scripted('{"city":"Ulm"}'), output: slow });
    const asks = sequence("asks", [finder, approve("right?", "Ulm")]);
    const rath = openRath({ store: "memory:" });
    await rath.run(asks, rath.start("go"), { name: "city" });
    await rath.approve("city", { by: "user:ada" });
    const session = await rath.resume("city", asks);
    expect(session.fact.type).toBe("run-end");
    expect(finder.output(session)).toEqual({ city: "Ulm" });
    expect((await rath.replay("city", asks, { mode: "verify" })).id).toBe(session.id);
    await rath.close();
  });

  it("[O2] is asked for again when it does not fit", async () => {
    const told: string[] = [];
    const finder = agent({
      name: "finder",
      model: scripted(
        "Ulm has many people.",
        (prompt) => {
          told.push(JSON.stringify(prompt.at(-1)));
          return '{"city":"Ulm","people":"many"}';
        },
        (prompt) => {
          told.push(JSON.stringify(prompt.at(-1)));
          return '{"city":"Ulm","people":126000}';
        },
      ),
      output: schema,
    });
    const session = await ran(finder);
    expect(told[0]).toContain("not JSON");
    expect(told[1]).toMatch(/does not fit the schema.*people/);
    // It was asked for an answer: of a tool or a call it knows nothing.
    expect(told.join()).not.toMatch(/tool|call/i);
    expect(finder.output(session)?.people).toBe(126000);
    expect(all(session, "validation-report").map(({ passed }) => passed)).toEqual([false, false, true]);
    expect(all(session, "message-say").map(({ by }) => by)).toEqual(["runtime", "runtime"]);
  });

  it("[O3] that never fits is an error with every try", async () => {
    const { error, session } = await failed(
      agent({ name: "finder", model: scripted(() => "no"), output: schema, repairs: 1 }),
    );
    expect(error).toBeInstanceOf(OutputError);
    expect((error as OutputError).data).toMatchObject({ agent: "finder", tries: 2 });
    expect((error as OutputError).session.fact.type).toBe("validation-report");
    expect(saidIn(session).filter((words) => words === "no")).toHaveLength(2);
  });

  it("[O3] is not asked for again when its schema is broken", async () => {
    const { jsonSchema } = z.object({ at: z.string() })["~standard"];
    const throwing: StandardJson<{ at: string }, { at: string }> = {
      "~standard": {
        version: 1,
        vendor: "somebody",
        jsonSchema,
        validate: async () => Promise.reject(new Error("no database")),
      },
    };
    const mapping = z.object({ at: z.string().transform((text) => new Map([[text, 1]])) });
    for (const [output, problem] of [
      [throwing, "no database"],
      [mapping, "no record can hold"],
    ] as const) {
      const odd = agent({ name: "odd", model: scripted(() => '{"at":"2030-01-01"}'), output, repairs: 5 });
      const { error, session } = await failed(odd);
      expect(error).toBeInstanceOf(OutputError);
      expect(error).toMatchObject({ data: { tries: 1, problem: expect.stringContaining(problem) } });
      expect((error as OutputError).hint).toContain("repair the schema");
      expect(all(session, "model-reply")).toHaveLength(1);
      expect(all(session, "validation-report")).toMatchObject([{ passed: false }]);
    }
  });
});
