import { agent, approve, openRath, type Session, scripted, tool, workflow } from "openrath";
import { describe, expect, it } from "vitest";

const look = tool({
  name: "look",
  description: "Looks it up.",
  input: { type: "object" },
  effect: "read",
  run: () => ({ left: 12 }),
});
const clerk = agent({
  name: "clerk",
  model: scripted({ tool: "look", input: {} }, "There are 12 pencils left."),
  tools: [look],
});
const opened = () => openRath({ store: "memory:" });
type Rath = ReturnType<typeof openRath>;
type Stream = ReturnType<Rath["stream"]>;
type Event = Stream extends AsyncIterable<infer One> ? One : never;

async function read(stream: Stream): Promise<Event[]> {
  const events: Event[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

/** Where modules and model calls begin and end. */
const BOUNDS: ReadonlySet<Event["type"]> = new Set([
  "module-start",
  "module-end",
  "model-call",
  "model-reply",
]);

/** What an observer of a team hears: each event in a few words. */
function listen(rath: Rath) {
  const heard: string[] = [];
  const tell = (...words: readonly unknown[]) => void heard.push(words.join(" "));
  const stop = rath.observe({
    "module-start": ({ module }, run) => tell(run, "starts", module),
    "module-end": ({ module, error }) => tell("ends", module, ...(error ? [error.message] : [])),
    "model-call": ({ module, model }) => tell(module, "asks", model),
    "model-reply": ({ module, text, finish, usage }) =>
      tell(module, "hears", text, finish, (usage?.output ?? 0) > 0),
    "tool-call": ({ module, tool: name }) => tell(module, "calls", name),
    "tool-result": ({ tool: name }) => tell(name, "returns"),
    route: ({ module, chosen }) => tell(module, "chooses", chosen),
    suspended: ({ pending }) => tell("waits for", pending.at(-1)?.type),
    end: ({ status }, run) => tell(run, status),
  });
  return { heard, stop };
}

describe("streams", () => {
  it("[ST1] [ST4] tell a run in causal order, every fact once", async () => {
    const rath = opened();
    const stream = rath.stream(clerk, rath.start("How many?"), { name: "pencils" });
    const events = await read(stream);
    const session = await stream.result;
    const facts = events.flatMap((event) => (event.type === "fact" ? [event.session] : []));
    const ids = [...session.history()].filter(({ fact }) => fact.run !== undefined).map(({ id }) => id);
    expect(facts.map(({ id }) => id)).toEqual(ids);
    const told = new Set<string>();
    for (const event of events) {
      if (event.type === "fact") {
        for (const parent of event.session.parentIds)
          expect(told.has(parent) || !ids.includes(parent)).toBe(true);
        told.add(event.session.id);
      }
      if ("call" in event) expect(told.has(event.call)).toBe(true);
      if (event.type === "tool-call" || event.type === "tool-result") expect(told.has(event.id)).toBe(true);
    }
    const words = events.map((event) => event.type).filter((type) => type !== "fact" && !BOUNDS.has(type));
    expect(words.filter((type, place) => words[place - 1] !== type)).toEqual([
      "tool-input",
      "tool-call",
      "tool-result",
      "text",
      "end",
    ]);
    expect(events.flatMap((event) => (event.type === "text" ? [event.text] : [])).join("")).toBe(
      "There are 12 pencils left.",
    );
    expect(events.find((event) => event.type === "tool-result")).toMatchObject({
      tool: "look",
      output: { left: 12 },
      module: "clerk",
      branch: "main",
    });
    expect(events.at(-1)).toMatchObject({ type: "end", status: "finished", module: "clerk" });
    // A stream leaves the same record as a run.
    expect((await rath.replay("pencils", clerk, { mode: "verify" })).id).toBe(session.id);
    await rath.close();
  });

  it("[ST2] give the session and the text without being read", async () => {
    const rath = opened();
    const stream = rath.stream(clerk, rath.start("How many?"));
    expect(await stream.text).toBe("There are 12 pencils left.");
    expect((await stream.result).text).toBe("There are 12 pencils left.");
    await expect(read(stream)).resolves.not.toHaveLength(0);
    await expect(read(stream)).rejects.toThrow("twice");
    await rath.close();
  });

  it("[ST3] cancel the run when the reader leaves", async () => {
    const rath = opened();
    let calls = 0;
    const endless = agent({
      name: "endless",
      model: scripted(() => ({ tool: "look", input: { call: ++calls } })),
      tools: [look],
    });
    const stream = rath.stream(endless, rath.start("Go."), { name: "left" });
    for await (const event of stream) if (event.type === "tool-result") break;
    const session = await rath.load("left");
    await expect(stream.result).rejects.toThrow();
    expect(session.fact).toMatchObject({ type: "run-end", error: { code: "cancelled" } });
    expect(calls).toBeLessThan(5);
    await rath.close();
  });

  it("[ST3] throw what the run throws, after its events", async () => {
    const rath = opened();
    const broken = workflow("broken", async (session) => {
      session.say("before");
      throw new Error("no more");
    });
    const events: Event[] = [];
    await expect(async () => {
      for await (const event of rath.stream(broken, rath.start("Go."))) events.push(event);
    }).rejects.toThrow("no more");
    expect(events.some((event) => event.type === "fact" && event.session.fact.type === "run-end")).toBe(true);
    await rath.close();
  });

  it("[ST5] name the module and the branch of an event", async () => {
    const rath = opened();
    const expert = agent({ name: "expert", description: "Knows.", model: scripted("I know.") });
    const lead = agent({
      name: "lead",
      model: scripted({ tool: "expert", input: { task: "Tell." } }, "The expert knows."),
      tools: [expert],
    });
    const team = workflow("team", { lead }, (session, parts) => parts.lead.forward(session));
    const events = await read(rath.stream(team, rath.start("Ask.")));
    const joined: { text: string; module: string; branch: string }[] = [];
    for (const event of events) {
      if (event.type !== "text") continue;
      const last = joined.at(-1);
      if (last?.module === event.module) last.text += event.text;
      else joined.push({ text: event.text, module: event.module, branch: event.branch });
    }
    expect(joined).toMatchObject([
      { text: "I know.", module: "expert" },
      { text: "The expert knows.", module: "lead", branch: "main" },
    ]);
    expect(joined[0]?.branch).not.toBe("main");
    await rath.close();
  });

  it("[ST6] tell structured output as partial objects", async () => {
    const rath = opened();
    const planner = agent({
      name: "planner",
      model: scripted(JSON.stringify({ title: "A plan", steps: ["one", "two"] })),
      output: { type: "object", properties: { title: { type: "string" } }, required: ["title"] },
    });
    const events = await read(rath.stream(planner, rath.start("Plan.")));
    const objects = events.flatMap((event) => (event.type === "object" ? [event.object] : []));
    expect(objects.at(-1)).toEqual({ title: "A plan", steps: ["one", "two"] });
    expect(objects.length).toBeGreaterThan(1);
    await rath.close();
  });

  it("[ST7] end with what is awaited, and go on from there", async () => {
    const rath = opened();
    const pay = tool({
      name: "pay",
      description: "Pays.",
      input: { type: "object" },
      effect: "write",
      approval: true,
      run: () => "paid",
    });
    const payer = agent({
      name: "payer",
      model: scripted({ tool: "pay", input: {} }, "Paid."),
      tools: [pay],
    });
    const first = await read(rath.stream(payer, rath.start("Pay."), { name: "p" }));
    expect(first.at(-1)).toMatchObject({
      type: "suspended",
      pending: [{ type: "tool-call" }, { type: "approval-ask" }],
    });
    await rath.approve("p", { by: "user:ada" });
    const second = await read(rath.stream.resume("p", payer));
    const ids = (events: Event[]) =>
      events.flatMap((event) => (event.type === "fact" ? [event.session.id] : []));
    expect(ids(second).filter((id) => ids(first).includes(id))).toEqual([]);
    expect(second.map(({ type }) => type)).toContain("tool-result");
    expect(second.at(-1)).toMatchObject({ type: "end", status: "finished" });
    await rath.close();
  });

  it("[ST8] tell that an attempt failed and its text is void", async () => {
    const rath = opened();
    let attempt = 0;
    const model = scripted("All of it.");
    const shaky = {
      ...model,
      specificationVersion: model.specificationVersion,
      provider: model.provider,
      modelId: model.modelId,
      doGenerate: model.doGenerate.bind(model),
      doStream: async (options: never) => {
        const streamed = await (model.doStream as NonNullable<typeof model.doStream>).call(model, options);
        if (++attempt > 1) return streamed;
        const parts = [
          { type: "text-start", id: "1" },
          { type: "text-delta", id: "1", delta: "Half of" },
        ];
        const cut = new ReadableStream({
          pull(controller) {
            const next = parts.shift();
            if (next === undefined)
              controller.error(Object.assign(new Error("reset"), { isRetryable: true }));
            else controller.enqueue(next);
          },
        });
        return { ...streamed, stream: cut };
      },
    };
    const writer = agent({ name: "writer", model: shaky as never, retry: { attempts: 2, wait: 1 } as never });
    const events = await read(rath.stream(writer, rath.start("Write.")));
    const words = events.flatMap((event) =>
      event.type === "text" ? [event.text] : event.type === "retry" ? ["(void)"] : [],
    );
    expect(words.join("")).toBe("Half of(void)All of it.");
    await rath.close();
  });

  it("[ST11] [ST12] tell where modules, model calls and tools begin and end", async () => {
    const rath = opened();
    const { heard, stop } = listen(rath);
    const lead = agent({
      name: "lead",
      model: scripted({ tool: "look", input: {} }, { tool: "transfer_to_clerk", input: {} }),
      tools: [look],
      handoffs: [agent({ name: "clerk", model: scripted("Twelve.") })],
    });
    const team = workflow("team", { lead }, (session, parts) => parts.lead.forward(session));
    rath.observe({
      "model-call": () => {
        throw new Error("an observer's own fault");
      },
      end: () => Promise.reject(new Error("another")),
    });
    const session = await rath.run(team, rath.start("How many?"), { name: "count" });
    expect(session.text).toBe("Twelve.");
    expect(heard).toEqual([
      "count starts team",
      "count starts lead",
      "lead asks scripted",
      "lead hears  tool-calls true",
      "lead calls look",
      "look returns",
      "lead asks scripted",
      "lead hears  tool-calls true",
      "lead calls transfer_to_clerk",
      "transfer_to_clerk returns",
      "lead chooses clerk",
      "count starts clerk",
      "clerk asks scripted",
      "clerk hears Twelve. stop true",
      "ends clerk",
      "ends lead",
      "ends team",
      "count finished",
    ]);
    const told = (await read(rath.stream(team, rath.start("How many?")))).filter(({ type }) =>
      BOUNDS.has(type),
    );
    expect(told).toHaveLength(12);
    stop();
    heard.length = 0;
    await rath.run(clerk, rath.start("Again?"));
    expect(heard).toEqual([]);
    // Watching leaves no trace in the record.
    expect((await rath.replay("count", team, { mode: "verify" })).id).toBe(session.id);
    await rath.close();
  });

  it("[ST12] tell of runs that fail and that wait, and refuse an event that does not exist", async () => {
    const rath = opened();
    const { heard } = listen(rath);
    const broken = workflow("broken", async () => {
      throw new Error("no more");
    });
    const outer = workflow("outer", { broken }, (session) => broken.forward(session));
    await rath.run(outer, rath.start("Go."), { name: "b" }).catch(() => {});
    expect(heard).toEqual([
      "b starts outer",
      "b starts broken",
      "ends broken no more",
      "ends outer no more",
      "b failed",
    ]);
    heard.length = 0;
    await rath.run(approve("ok", {}), rath.start("Go."), { name: "w" });
    await rath.approve("w", { by: "user:ada" });
    await rath.resume("w", approve("ok", {}));
    expect(heard).toEqual(["w starts ok", "waits for approval-ask", "ends ok", "w finished"]);
    const down = agent({
      name: "down",
      model: scripted(() => {
        throw new Error("503");
      }),
      retry: { attempts: 1 },
    });
    const errors: string[] = [];
    rath.observe({ "model-reply": ({ error }) => void errors.push(error?.message ?? "none") });
    await rath.run(down, rath.start("Go.")).catch(() => {});
    expect(errors).toEqual(["503"]);
    for (const wrong of [undefined, null, 5, "end", { ends: () => {} }, { end: "x" }])
      expect(() => rath.observe(wrong as never)).toThrow(/Cannot observe a runtime/);
    await rath.close();
  });

  it("[ST10] refuse options that are not options", async () => {
    const rath = opened();
    for (const settings of [null, 5, { signal: 5 }, { nmae: "x" }])
      for (const attempt of [
        () => rath.run(clerk, rath.start("x"), settings as never),
        () => rath.turn(clerk, "x", "x", settings as never),
        async () => rath.stream(clerk, rath.start("x"), settings as never).result,
        async () => rath.stream.turn(clerk, "x", "x", settings as never).result,
        () => rath.resume("x", clerk, settings as never),
        () => rath.replay("x", clerk, settings as never),
      ])
        await expect(attempt()).rejects.toMatchObject({ code: "run-refused" });
    expect(() => openRath(null as never)).toThrow("options");
    await rath.close();
  });

  it("[ST9] join pieces for a slow reader", async () => {
    const rath = opened();
    const text = Array.from({ length: 5_000 }, (_, place) => `w${place}`).join(" ");
    const writer = agent({ name: "writer", model: scripted(text) });
    const stream = rath.stream(writer, rath.start("Write."));
    await stream.result;
    const events = await read(stream);
    expect(events.flatMap((event) => (event.type === "text" ? [event.text] : [])).join("")).toBe(text);
    expect(events.length).toBeLessThan(400);
    await rath.close();
  });
});

describe("turns", () => {
  const echo = agent({ name: "echo", model: scripted((prompt) => `heard ${lastOf(prompt)}`) });

  it("[TU1] begin, continue and resume a conversation", async () => {
    const rath = opened();
    expect((await rath.turn(echo, "chat", "one", { by: "user:ada" })).text).toBe("heard one");
    const second = await rath.turn(echo, "chat", "two", { by: "user:ada" });
    expect(second.text).toBe("heard two");
    expect(second.transcript.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
    expect((await rath.turn(echo, "chat")).id).toBe(second.id);
    const events = await read(rath.stream.turn(echo, "chat", "three"));
    expect(events.flatMap((event) => (event.type === "text" ? [event.text] : [])).join("")).toBe(
      "heard three",
    );
    await rath.close();
  });

  it("[TU1] resume a run that was cut off before they go on", async () => {
    const rath = opened();
    const store = await rath.store();
    let open: () => void = () => {};
    const held = new Promise<void>((done) => (open = done));
    let calls = 0;
    const slow = tool({
      name: "slow",
      description: "Slow.",
      input: { type: "object" },
      effect: "read",
      run: async () => {
        if (++calls === 1) {
          open();
          await new Promise(() => {});
        }
        return "done";
      },
    });
    const make = () =>
      agent({ name: "a", model: scripted({ tool: "slow", input: {} }, "Done.", "Again."), tools: [slow] });
    const first = openRath({ store });
    const cut = first.turn(make(), "cut", "Go.").catch((error: unknown) => error);
    await held;
    await first.close();
    await cut;
    const second = openRath({ store });
    const session = await second.turn(make(), "cut", "And now?");
    expect(calls).toBe(2);
    const texts = session.transcript.flatMap((message) => ("content" in message ? [message.content] : []));
    expect(texts).toContain("Go.");
    expect(JSON.stringify(texts)).toContain("Done.");
    expect(session.transcript.filter(({ role }) => role === "user")).toHaveLength(2);
    await rath.close();
  });

  it("[TU5] take the same text for the same turn until its run ends", async () => {
    const rath = opened();
    const waiting = await rath.turn(support, "order", "Refund me.", { by: "user:ada" });
    const again = await rath.turn(support, "order", "Refund me.", { by: "user:ada" });
    expect(again.id).toBe(waiting.id);
    await rath.approve("order", { by: "user:boss" });
    const ended = await rath.turn(support, "order", "Refund me.", { by: "user:ada" });
    expect([ended.text, saidBy(ended, "user")]).toEqual(["As you wish.", ["Refund me."]]);
    expect(paid.splice(0)).toEqual(["refund"]);
    const next = await rath.turn(support, "order", "Refund me.", { by: "user:ada" });
    expect([next.text, saidBy(next, "user")]).toEqual(["Goodbye.", ["Refund me.", "Refund me."]]);
    await rath.close();
  });

  it("[TU6] happen once where that was asked for", async () => {
    const rath = opened();
    const first = await rath.turn(echo, "job", "one", { once: true, by: "user:ada" });
    const events = await read(rath.stream.turn(echo, "job", "one", { once: true }));
    expect(events.map(({ type }) => type)).toEqual(["end"]);
    expect((await rath.turn(echo, "job", "two", { once: true })).id).toBe(first.id);
    await expect(rath.turn(echo, "job", "one", { onec: true } as never)).rejects.toThrow("once");
    await rath.close();
  });

  it("[TU2] follow each other", async () => {
    const rath = opened();
    const [first, second] = await Promise.all([
      rath.turn(echo, "chat", "one"),
      rath.turn(echo, "chat", "two"),
    ]);
    expect([first.text, second.text]).toEqual(["heard one", "heard two"]);
    expect(second.descendsFrom(first)).toBe(true);
    await rath.close();
  });

  const paid: string[] = [];
  const refund = tool({
    name: "refund",
    description: "Pays back.",
    input: { type: "object" },
    effect: "write",
    approval: { from: "user:boss" },
    run: () => paid.push("refund"),
  });
  const support = agent({
    name: "support",
    model: scripted({ tool: "refund", input: {} }, "As you wish.", "Goodbye."),
    tools: [refund],
  });

  it("[TU3] withdraw a request that the user no longer wants", async () => {
    const rath = opened();
    const waiting = await rath.turn(support, "order", "Refund me.", { by: "user:ada" });
    expect(waiting.fact.type).toBe("run-suspend");
    const session = await rath.turn(support, "order", "never mind", { by: "user:ada" });
    expect(paid).toEqual([]);
    expect(session.text).toBe("Goodbye.");
    const facts = [...session.history()].map(({ fact }) => fact);
    expect(facts.find(({ type }) => type === "approval-give")).toMatchObject({
      by: "user:ada",
      decision: "reject",
      why: "user:ada withdrew the request and said: never mind",
    });
    expect(facts.find(({ type }) => type === "tool-failure")).toMatchObject({ error: { code: "rejected" } });
    await rath.close();
  });

  it("[TU3] go on speaking for the one who spoke before, also after a run that fails", async () => {
    const rath = opened();
    await rath.turn(support, "same", "Refund me.", { by: "user:ada" });
    expect((await rath.turn(support, "same", "never mind")).text).toBe("Goodbye.");
    const strict = workflow("strict", async (session) => {
      if (session.transcript.length > 1) return session.say("fine", { role: "assistant" });
      return (await import("openrath")).approve("sure", { pay: 1 }).forward(session);
    });
    await rath.turn(strict, "strict", "pay", { by: "user:ada" });
    const after = await rath.turn(strict, "strict", "never mind", { by: "user:ada" });
    expect([after.text, saidBy(after, "user")]).toEqual(["fine", ["pay", "never mind"]]);
    await rath.close();
  });

  it("[TU5] know their own words where a module says something as the user", async () => {
    const rath = opened();
    const talking = workflow("talking", async (session) =>
      (await import("openrath")).approve("sure", { pay: 1 }).forward(session.say("Now check that.")),
    );
    const first = await rath.turn(talking, "talk", "pay the bill", { by: "user:ada" });
    expect((await rath.turn(talking, "talk", "pay the bill", { by: "user:ada" })).id).toBe(first.id);
    expect(await rath.pending("talk")).toMatchObject([{ answered: false }]);
    await rath.close();
  });

  it("[TU2] say nothing for a caller who has left while they waited", async () => {
    const rath = opened();
    const leaving = new AbortController();
    const first = rath.turn(echo, "queue", "first");
    const second = rath.turn(echo, "queue", "second", { signal: leaving.signal });
    leaving.abort(new Error("gone"));
    await first;
    await expect(second).rejects.toMatchObject({ code: "cancelled" });
    expect(saidBy(await rath.load("queue"), "user")).toEqual(["first"]);
    await rath.close();
  });

  it("[TU4] let nobody else withdraw, and no other work", async () => {
    const rath = opened();
    await rath.turn(support, "order", "Refund me.", { by: "user:ada" });
    const other = rath.turn(support, "order", "never mind", { by: "user:eve" });
    await expect(other).rejects.toMatchObject({ code: "answer-refused" });
    await expect(rath.withdraw("order", { by: "user:eve" })).rejects.toThrow("did not make the request");
    expect(await rath.pending("order")).toMatchObject([{ type: "approval-ask", answered: false }]);
    const asks = workflow("asks", async (session) =>
      (await import("openrath")).signal("go").forward(session),
    );
    await rath.turn(asks, "signal", "Wait.");
    await expect(rath.turn(asks, "signal", "hello?")).rejects.toMatchObject({ code: "work-pending" });
    expect(saidBy(await rath.load("signal"), "user")).toEqual(["Wait."]);
    await rath.close();
  });
});

function saidBy(session: Session, role: string): unknown[] {
  return session.transcript.flatMap((message) =>
    message.role === role && "content" in message ? [message.content] : [],
  );
}

function lastOf(prompt: unknown): string {
  const messages = prompt as readonly { readonly content: string | readonly { readonly text?: string }[] }[];
  const content = messages.at(-1)?.content ?? "";
  return typeof content === "string" ? content : content.map(({ text = "" }) => text).join("");
}
