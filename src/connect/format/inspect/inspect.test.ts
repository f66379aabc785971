import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Validator } from "@cfworker/json-schema";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Json, Session } from "../../../session/index.js";
import { campaign } from "../../../session/testing/campaign.js";
import { openStore } from "../../../store/index.js";
import type { Imported } from "../exchange.js";
import { lacking, recorded, recordings, sourceOf } from "../trajectory/testing/corpus.js";
import { mutated, nonsense, survives } from "../trajectory/testing/garbage.js";
import { expectNothingLost } from "../trajectory/testing/leaves.js";
import type { Loose } from "../trajectory/testing/loose.js";
import { ERASABLE, sample } from "../trajectory/testing/sample.js";
import { wordsOf } from "../trajectory/turn.js";
import { inspect } from "./read.js";
import { inspectEvalExport, inspectExport } from "./write.js";
import { isZip, readZip, writeZip } from "./zip.js";

const logs = recordings("inspect-ai", /(_.*\.json|\.eval)$/);
const json = (bytes: string | Uint8Array): Loose => JSON.parse(Buffer.from(bytes).toString("utf8"));

function validator(): Validator {
  const { components } = json(recorded("inspect-ai/inspect-openapi.json"));
  return new Validator({ ...components.schemas.EvalLog, components } as never, "2020-12", false);
}

async function written(session: Session, format = inspectExport): Promise<string | Uint8Array> {
  const store = await openStore("memory:");
  try {
    return await format.write({ session, store });
  } finally {
    await store.close();
  }
}

const log = { version: 2, status: "success", eval: { task: "t", model: "m" }, plan: {}, stats: {} };
const at = "2026-01-01T00:00:00Z";
const said = ({ transcript }: Session): Json[] =>
  transcript.map((message) =>
    message.role === "tool"
      ? ["tool", message.name, (message.error?.message ?? message.output ?? null) as Json]
      : [message.role, wordsOf(message.content)],
  );

async function readEvents(events: readonly object[], more: object = {}): Promise<Imported> {
  const content = JSON.stringify({
    ...log,
    samples: [{ id: "s", epoch: 1, input: "", target: "", messages: [], events, attachments: {}, ...more }],
  });
  const imported = await inspect.read(sourceOf("log.json", content));
  expectNothingLost([json(content)], imported);
  return imported[0] as Imported;
}

describe.skipIf(lacking !== undefined)(
  `the supplied logs${lacking === undefined ? "" : ` (${lacking})`}`,
  () => {
    it("[I1] are all read, one session for each sample and epoch, and nothing is lost", async () => {
      expect(logs.map(({ name }) => name)).toHaveLength(5);
      const counts: number[] = [];
      for (const source of logs) {
        expect(inspect.fits(source)).toBe(true);
        const imported = await inspect.read(source);
        counts.push(imported.length);
        expect(new Set(imported.map(({ name }) => name)).size).toBe(imported.length);
        const pieces = isZip(source.bytes)
          ? [...readZip(source.bytes).values()].map(json)
          : [json(source.bytes)];
        expectNothingLost(pieces, imported);
        for (const { session } of imported) expect(session.pending).toEqual([]);
      }
      expect(counts).toEqual([3, 1, 1, 1, 1]);
    });

    it("[I2] read as conversations, with or without events", async () => {
      for (const name of ["log_formats.json", "log_formats.eval", "log_read_sample.json"]) {
        const [{ session }] = (await inspect.read(logs.find((one) => one.name === name) as never)) as [
          Imported,
        ];
        expect(session.transcript.map(({ role }) => role)).toEqual(["system", "user", "assistant"]);
        expect(session.usage.input).toBe(66);
      }
      const [{ session }] = (await inspect.read(
        logs.find(({ name }) => name === "log_tool_call_error.json") as never,
      )) as [Imported];
      const errors = session.transcript.map((message) =>
        message.role === "tool" ? message.error?.code : "",
      );
      expect(errors).toEqual([
        "parsing",
        "timeout",
        "parsing",
        "unicode_decode",
        "permission",
        "file_not_found",
        "is_a_directory",
        "limit",
        "approval",
        "unknown",
        "output_limit",
      ]);
    });

    it("[I3] have their scores as validation reports", async () => {
      for (const source of logs) {
        const whole = isZip(source.bytes)
          ? [json(readZip(source.bytes).get("samples/1_epoch_1.json") as Uint8Array)]
          : json(source.bytes).samples;
        for (const [place, { session }] of (await inspect.read(source)).entries()) {
          const reports = [...session.history()].flatMap(({ fact }) =>
            fact.type === "validation-report" ? [fact] : [],
          );
          const scores = Object.entries(whole[place].scores ?? {}) as [string, { value: string }][];
          expect(reports.map(({ name, passed, detail }) => [name, passed, detail])).toEqual(
            scores.map(([name, score]) => [name, score.value === "C", score]),
          );
        }
      }
    });

    it("[I5] a log without samples is a session that says what the log says about itself", async () => {
      const log = {
        version: 2,
        status: "cancelled",
        eval: { task: "t", model: "m", created: "2026-01-01T00:00:00+00:00", dataset: {}, config: {} },
        plan: { name: "plan", steps: [] },
        stats: { started_at: "2026-01-01T00:00:00+00:00", model_usage: {} },
      };
      const all = writeZip(
        new Map([
          ["header.json", Buffer.from(JSON.stringify(log))],
          [
            "_journal/start.json",
            Buffer.from(JSON.stringify({ version: 2, eval: log.eval, plan: log.plan })),
          ],
        ]),
      );
      for (const source of [
        sourceOf("log.json", JSON.stringify(log)),
        sourceOf("log.json", JSON.stringify({ ...log, samples: [] })),
        sourceOf("log.json", JSON.stringify({ ...log, samples: null })),
        sourceOf("log.eval", all),
      ]) {
        expect(inspect.fits(source)).toBe(true);
        const imported = await inspect.read(source);
        expect(imported).toMatchObject([
          {
            name: "log",
            warnings: ["The log has no samples: the status of the evaluation is cancelled."],
          },
        ]);
        expectNothingLost([log as Json], imported);
      }
    });

    it("[I4] give the same ids each time", async () => {
      for (const source of logs) {
        const ids = async (): Promise<string[]> =>
          (await inspect.read(source)).map(({ session }) => session.id);
        expect(await ids()).toEqual(await ids());
      }
    });

    it("[T1] are written as they were", async () => {
      for (const source of logs) {
        const imported = await inspect.read(source);
        const documents = await Promise.all(
          imported.map(async ({ session }) => json(await written(session))),
        );
        if (isZip(source.bytes)) {
          const files = readZip(source.bytes);
          expect(documents[0].samples[0]).toEqual(json(files.get("samples/1_epoch_1.json") as Uint8Array));
          expect({ ...documents[0], samples: undefined }).toEqual({
            ...json(files.get("header.json") as Uint8Array),
            samples: undefined,
          });
        } else
          expect({ ...documents[0], samples: documents.flatMap(({ samples }) => samples) }).toEqual(
            json(source.bytes),
          );
      }
    });

    it("[W1] a session is a log that the schema takes", async () => {
      const { session, store } = await sample();
      const schema = validator();
      const document = json((await inspectExport.write({ session, store, name: "sample" })) as string);
      expect(schema.validate(document).errors).toEqual([]);
      // A validator that takes anything would prove nothing.
      document.samples[0].events[1].event = "nonsense";
      expect(schema.validate(document).valid).toBe(false);
      await store.close();
    });

    it("[G1] whatever is done to one, it is read or refused", async () => {
      const runs = Number(process.env.FUZZ_RUNS ?? campaign(80));
      const texts = logs.filter(({ bytes }) => !isZip(bytes));
      await fc.assert(
        fc.asyncProperty(mutated(texts, false), async (source) => void (await survives(inspect, source))),
        { numRuns: runs },
      );
      const [archive] = logs.filter(({ bytes }) => isZip(bytes));
      const bytes = Buffer.from(archive?.bytes ?? []);
      const damaged = fc.record({
        at: fc.nat(bytes.length - 1),
        to: fc.nat(255),
        cut: fc.option(fc.nat(bytes.length)),
      });
      await fc.assert(
        fc.asyncProperty(damaged, async ({ at: place, to, cut }) => {
          const copy = Buffer.from(bytes);
          copy[place] = to;
          await survives(inspect, sourceOf("log.eval", cut === null ? copy : copy.subarray(0, cut)));
        }),
        { numRuns: runs },
      );
    });
  },
);

describe("an Inspect log as a session", () => {
  const user = { id: "u", role: "user", content: "hi" };
  const call = { id: "c", function: "bash", arguments: { cmd: "ls" }, type: "function" };
  const wanted = { id: "a", role: "assistant", content: "I look.", tool_calls: [call] };
  const usage = {
    input_tokens: 5,
    output_tokens: 2,
    total_tokens: 7,
    input_tokens_cache_read: 3,
    reasoning_tokens: 1,
  };
  const model = (input: readonly object[], message: object, more: object = {}): object => ({
    event: "model",
    timestamp: at,
    working_start: 0,
    model: "m",
    input,
    tools: [],
    tool_choice: "auto",
    config: { temperature: 0.5 },
    output: { model: "m-1", choices: [{ message, stop_reason: "stop" }], usage, completion: "" },
    ...more,
  });
  const tool = {
    event: "tool",
    timestamp: at,
    working_start: 0,
    ...call,
    result: "a b",
    events: [],
    working_time: 1.5,
  };
  const answer = { id: "t", role: "tool", tool_call_id: "c", function: "bash", content: "a b" };

  it("[I2] prompts are told once, calls and results name each other", async () => {
    const spec = {
      name: "bash",
      description: "Runs.",
      parameters: { type: "object", properties: {}, required: [] },
    };
    const { session, notes } = await readEvents([
      model([user], wanted, { tools: [spec] }),
      {
        ...tool,
        event: "approval",
        message: "run?",
        call,
        approver: "human",
        decision: "approve",
        explanation: "fine",
      },
      tool,
      {
        event: "sandbox",
        timestamp: at,
        working_start: 0,
        action: "exec",
        cmd: "ls",
        result: 0,
        output: "a b",
      },
      model([user, wanted, answer], { id: "b", role: "assistant", content: "Done." }, { tools: [spec] }),
      model([user], { id: "x", role: "assistant", content: "" }, { error: "overloaded" }),
      {
        event: "error",
        timestamp: at,
        working_start: 0,
        error: { message: "boom", traceback: "", traceback_ansi: "" },
      },
    ]);
    expect(said(session)).toEqual([
      ["user", "hi"],
      ["assistant", "I look."],
      ["tool", "bash", "a b"],
      ["assistant", "Done."],
    ]);
    expect(session.usage).toMatchObject({ input: 10, output: 4, cached: 6, reasoning: 2 });
    const types = [...session.history()].map(({ fact }) => fact.type);
    expect(types.filter((type) => type === "agent-configure")).toHaveLength(1);
    for (const type of ["approval-ask", "approval-give", "command-run", "model-failure", "step-failure"])
      expect(types).toContain(type);
    expect(notes.some((note) => note.startsWith("tool event"))).toBe(true);
  });

  it("[I2] the same words without ids are said as often as they were", async () => {
    const bare = (role: string, content: string): object => ({ role, content });
    const input = [bare("user", "go on"), bare("assistant", "ok"), bare("user", "go on")];
    const { session } = await readEvents([
      model(input.slice(0, 1), bare("assistant", "ok")),
      model(input, bare("assistant", "ok")),
    ]);
    expect(said(session)).toEqual([
      ["user", "go on"],
      ["assistant", "ok"],
      ["user", "go on"],
      ["assistant", "ok"],
    ]);
  });

  it("[I2] a compaction sums up what the next prompt has no more", async () => {
    const summary = { id: "s", role: "user", content: "Summary: they said hi." };
    const { session } = await readEvents([
      model([{ id: "y", role: "system", content: "Be kind." }, user], {
        id: "a",
        role: "assistant",
        content: "hello",
      }),
      {
        event: "compaction",
        timestamp: at,
        working_start: 0,
        type: "summary",
        tokens_before: 9,
        tokens_after: 2,
      },
      model([{ id: "y", role: "system", content: "Be kind." }, summary], {
        id: "b",
        role: "assistant",
        content: "on",
      }),
    ]);
    expect(said(session)).toEqual([
      ["system", "Be kind."],
      ["user", expect.stringContaining("Summary: they said hi.")],
      ["assistant", "on"],
    ]);
  });

  it("[I2] a branch from an anchor is a line that was taken in", async () => {
    const span = { span_id: "b", timestamp: at, working_start: 0 };
    const { session } = await readEvents([
      model([user], { id: "a", role: "assistant", content: "one" }),
      { event: "anchor", timestamp: at, working_start: 0, anchor_id: "x" },
      { ...span, event: "span_begin", id: "b", name: "try", type: "branch" },
      { ...span, event: "branch", from_anchor: "x" },
      {
        ...model([user, { id: "a", role: "assistant", content: "one" }], {
          id: "c",
          role: "assistant",
          content: "aside",
        }),
        ...span,
      },
      { ...span, event: "span_end", id: "b" },
      model([user, { id: "a", role: "assistant", content: "one" }], {
        id: "d",
        role: "assistant",
        content: "two",
      }),
    ]);
    expect(said(session)).toEqual([
      ["user", "hi"],
      ["assistant", "one"],
      ["assistant", "two"],
    ]);
    expect(session.lineage.map(({ kind }) => kind)).toEqual(["start", "fork", "merge"]);
    expect(session.usage.input).toBe(15);
  });

  it("[T1] events after an import follow it", async () => {
    const { session } = await readEvents([model([user], { id: "a", role: "assistant", content: "one" })]);
    const document = json(await written(session.say("more", { at: "2026-01-02T00:00:00Z" })));
    expect(document.samples[0].events.map(({ event }: Loose) => event)).toEqual(["model", "state"]);
    expect(document.samples[0].messages).toMatchObject([{ role: "user", content: "more" }]);
  });

  it("[G1] refuses a log of another version, and with a sample twice", async () => {
    const read = (value: object): Promise<unknown> =>
      inspect.read(sourceOf("log.json", JSON.stringify(value)));
    const one = { id: 1, epoch: 1, messages: [] };
    await expect(read({ ...log, version: 1, samples: [one] })).rejects.toMatchObject({
      data: { where: "version" },
    });
    await expect(read({ ...log, samples: [one, one] })).rejects.toMatchObject({
      data: { where: "samples[1]" },
    });
    await expect(
      read({ ...log, samples: [{ ...one, messages: [{ role: "ghost" }] }] }),
    ).rejects.toMatchObject({ data: { where: "samples[0].messages" } });
  });

  it.each(nonsense)("[G1] refuses %s", async (_, content) => {
    expect(await survives(inspect, sourceOf("x.json", content))).toBe(false);
  });
});

describe("a session as an Inspect log", () => {
  it("[W2] tells everything by the event of its kind, with its fact", async () => {
    const { session, store } = await sample();
    const document = json((await inspectExport.write({ session, store, name: "sample" })) as string);
    const [only] = document.samples;
    const kinds = new Set(only.events.map(({ event }: Loose) => event));
    for (const kind of [
      "sample_init",
      "state",
      "model",
      "tool",
      "approval",
      "sandbox",
      "anchor",
      "span_begin",
      "branch",
      "span_end",
      "score",
      "compaction",
      "info",
    ])
      expect(kinds).toContain(kind);
    const models = only.events.filter(({ event }: Loose) => event === "model");
    expect(models.map(({ error }: Loose) => error)).toEqual([
      undefined,
      undefined,
      "try again",
      undefined,
      undefined,
      undefined,
    ]);
    expect(models[1].input.map(({ role }: Loose) => role)).toEqual(["system", "user", "assistant", "tool"]);
    expect(only.scores.tests).toMatchObject({ value: 1 });
    expect(only.model_usage["acme/big-1"]).toMatchObject({ input_tokens: 500, output_tokens: 50 });
    const named = JSON.stringify(only.events);
    for (const { id, fact } of session.history())
      if (!/-(reply|failure|result|give)$/.test(fact.type) || fact.type === "model-reply")
        expect(named).toContain(id);
    await store.close();
  });

  it("[W3] long texts are attached once", async () => {
    let session = Session.start("x".repeat(1000), { nonce: "n", at: "2026-01-01T00:00:00Z" });
    for (let count = 0; count < 40; count++) {
      session = session.append({ type: "model-call", model: "m", at: "2026-01-01T00:00:00Z" });
      session = session.append({
        type: "model-reply",
        of: session.id,
        content: `${count} ${"y".repeat(1000)}`,
        finish: "stop",
        usage: { input: 1, output: 1 },
        at: "2026-01-01T00:00:00Z",
      });
    }
    const text = (await written(session)) as string;
    expect(text.split("x".repeat(1000))).toHaveLength(6);
    expect(text.length).toBeLessThan(700_000);
  });

  it("[W4] has nothing that was erased", async () => {
    const { session, store, ids } = await sample();
    const [blob] = [...session.history()]
      .filter(({ id }) => id === ids.long)
      .flatMap((one) => [...one.blobs()]);
    expect((await inspectExport.write({ session, store })) as string).toContain(ERASABLE.slice(0, 50));
    await store.erase("sample", { digests: [blob?.ref.digest as string], by: "user:ada", why: "asked for" });
    for (const subject of [session, await store.load("sample")]) {
      const text = (await inspectExport.write({ session: subject, store })) as string;
      expect(text).not.toContain("All work and no play");
      expect(text).toContain("[erased]");
    }
    await store.close();
  });

  it("[T2] export, import and export gives the same bytes", async () => {
    const { session, store } = await sample();
    const first = (await inspectExport.write({ session, store, name: "sample" })) as string;
    const [imported] = (await inspect.read(sourceOf("sample.json", first))) as [Imported];
    expectNothingLost([json(first)], [imported]);
    expect(await written(imported.session)).toBe(first);
    expect(imported.session.usage).toMatchObject({ input: 500, output: 50 });
    const archive = (await inspectEvalExport.write({ session, store, name: "sample" })) as Uint8Array;
    const [again] = (await inspect.read(sourceOf("sample.eval", archive))) as [Imported];
    expect(
      Buffer.from((await written(again.session, inspectEvalExport)) as Uint8Array).equals(
        Buffer.from(archive),
      ),
    ).toBe(true);
    await store.close();
  });
});

describe("archives", () => {
  const files = new Map([
    ["a.json", Buffer.from('{"a":1}')],
    ["b/ü.txt", Buffer.from("x".repeat(10_000))],
    ["empty", Buffer.alloc(0)],
  ]);

  it("[Z1] a written archive is read, here and elsewhere", () => {
    const bytes = writeZip(files);
    expect([...readZip(bytes)].map(([name, content]) => [name, Buffer.from(content).toString()])).toEqual(
      [...files].map(([name, content]) => [name, content.toString()]),
    );
    const folder = mkdtempSync(join(tmpdir(), "rath-zip-"));
    try {
      writeFileSync(join(folder, "a.zip"), bytes);
      const program =
        "import sys,zipfile; z=zipfile.ZipFile(sys.argv[1]); print(z.testzip(), sorted(z.namelist()), len(z.read('b/ü.txt')))";
      expect(
        execFileSync("python3", ["-c", program, join(folder, "a.zip")], { encoding: "utf8" }).trim(),
      ).toBe("None ['a.json', 'b/ü.txt', 'empty'] 10000");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("[Z1] refuses what is damaged, cut off or too large", () => {
    const bytes = Buffer.from(writeZip(files));
    for (let length = 0; length < bytes.length; length++)
      expect(() => readZip(bytes.subarray(0, length))).toThrow();
    const entry = bytes.indexOf(Buffer.from([0x50, 0x4b, 1, 2]));
    const huge = Buffer.from(bytes);
    huge.writeUInt32LE(0xfffffff0, entry + 24);
    expect(() => readZip(huge)).toThrow(/longer than/);
    const method = Buffer.from(bytes);
    method.writeUInt16LE(93, entry + 10);
    expect(() => readZip(method)).toThrow(/not read \(93\)/);
    const bomb = Buffer.from(writeZip(new Map([["x", Buffer.alloc(1_000_000)]])));
    bomb.writeUInt32LE(10, bomb.indexOf(Buffer.from([0x50, 0x4b, 1, 2])) + 24);
    expect(() => readZip(bomb)).toThrow(/cannot be unpacked/);
  });
});
