import { describe, expect, it } from "vitest";
import { agent } from "../../agent/index.js";
import { scripted } from "../../agent/model/index.js";
import { tool } from "../../agent/tool/index.js";
import type { Rath } from "../../runtime/index.js";
import { rathOf } from "../../runtime/testing/rath.js";
import type { Json } from "../../session/index.js";
import { step, workflow } from "../../workflow/index.js";
import { agui, approvals, appState, frontContext, frontTools, type Handler, stateTool } from "./index.js";
import { peer } from "./testing/peer.js";
import { asked, type Event, eventsOf, inputFor, posted } from "./testing/post.js";
import { served } from "./testing/serve.js";

type Front = {
  messages: { id: string; role: string; content?: unknown; toolCalls?: { id: string }[] }[];
  state: Json;
  pendingInterrupts: { id: string }[];
  url: string;
  addMessage(message: unknown): void;
  runAgent(
    parameters: { runId?: string; resume?: unknown[]; tools?: unknown[]; context?: unknown[] },
    subscriber?: {
      onEvent?: (given: { event: Event }) => void;
      onRunFinishedEvent?: (given: { pendingToolCallIds?: string[] }) => void;
    },
  ): Promise<unknown>;
  connectAgent(): Promise<unknown>;
};
type Client = {
  readonly HttpAgent: new (options: { url: string; threadId?: string; initialState?: Json }) => Front;
  readonly runHttpRequest: (fetchResponse: () => Promise<Response>) => unknown;
  readonly transformHttpEventStream: (source: unknown) => unknown;
};
const client = await peer<Client>("@ag-ui/client");
const schemas = await peer<{ readonly EventSchemas: { parse(event: unknown): unknown } }>(
  "@ag-ui/core/schemas",
);

const NAME = "agui/user%3Aada/t1";
const principal = () => "user:ada" as const;
const of = (events: readonly Event[], type: string) => events.filter((event) => event.type === type);
const read = async (handler: Handler, query = "threadId=t1"): Promise<readonly Event[]> =>
  eventsOf(await handler(new Request(`http://localhost/agent?${query}`)));

function interruptsOf(events: readonly Event[]): { readonly id: string; readonly metadata: Json }[] {
  const { outcome } = events.at(-1) as Event;
  return (outcome as unknown as { interrupts: { id: string; metadata: Json }[] }).interrupts;
}

async function verified(rath: Rath, module: Parameters<typeof agui>[1], name = NAME): Promise<void> {
  const session = await rath.load(name);
  expect((await rath.replay(name, module, { mode: "verify" })).id).toBe(session.id);
}

const deploy = tool({
  name: "deploy",
  description: "Deploys.",
  input: { type: "object" },
  effect: "write",
  approval: true,
  run: () => "deployed",
});

/** A workflow that waits until it is let go. */
function gated() {
  let release = (): void => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const wait = step("wait", () => gate, { effect: "read" });
  const module = workflow("slow", async (session) => {
    const { session: told } = await wait.call(session.say("One moment.", { by: "agent", role: "assistant" }));
    return told.say("Done.", { by: "agent", role: "assistant" });
  });
  return { module, release: () => release() };
}

describe("the app's part of AG-UI", () => {
  it("[G10] the state belongs to the app: agents read it and patch it, and ours has a key of its own", async () => {
    const rath = rathOf();
    const prompts: string[] = [];
    const patch = [
      { op: "replace", path: "/recipe/title", value: "Soup" },
      { op: "add", path: "/recipe/steps/-", value: "Stir." },
      { op: "remove", path: "/draft" },
    ];
    const module = agent({
      name: "cook",
      instructions: (session) => `The recipe: ${JSON.stringify(appState(session))}`,
      model: scripted(
        (prompt) => {
          prompts.push(JSON.stringify(prompt[0]));
          return { tool: "update_state", input: { patch } };
        },
        { tool: "update_state", input: { patch: [{ op: "remove", path: "/nowhere" }] } },
        { tool: "update_state", input: { patch: [{ op: "add", path: "/openrath/status", value: "mine" }] } },
        (prompt) => {
          prompts.push(JSON.stringify(prompt));
          return "Done.";
        },
        "Again.",
      ),
      tools: [stateTool()],
    });
    const handler = agui(rath, module, { principal });
    const state = { recipe: { title: "Tea", steps: ["Boil."] }, draft: true };
    const events = await asked(handler, inputFor("Make soup.", { state }));
    const after = { recipe: { title: "Soup", steps: ["Boil.", "Stir."] } };
    expect(of(events, "STATE_DELTA").map(({ delta }) => delta)).toEqual([patch]);
    const [last] = of(events, "STATE_SNAPSHOT");
    expect(last?.snapshot).toEqual({ ...after, openrath: expect.objectContaining({ status: "finished" }) });
    expect(prompts[0]).toContain("Tea");
    expect(prompts[1]).toContain("does not fit the state");
    expect(prompts[1]).toContain("is not a part of the state");
    expect(appState(await rath.load(NAME))).toEqual(after);
    // What comes back with the next request is the app's, without our part.
    const again = await asked(
      handler,
      inputFor("More.", { runId: "r2", state: last?.snapshot as Json, messages: [user("More.")] }),
    );
    expect(of(again, "STATE_SNAPSHOT")[0]?.snapshot).toMatchObject(after);
    expect(appState(await rath.load(NAME))).toEqual(after);
    await verified(rath, module);
    const list = await asked(handler, inputFor("x", { threadId: "t2", state: ["a"] }));
    expect(of(list, "STATE_SNAPSHOT").at(-1)?.snapshot).toEqual(["a"]);
  });

  it("[G10] a patch of the whole state is told as a snapshot; patches follow RFC 6902", async () => {
    const cases: readonly [Json, Json, Json][] = [
      [{}, [{ op: "add", path: "/a~1b", value: 1 }], { "a/b": 1 }],
      [{ a: [1, 2] }, [{ op: "add", path: "/a/1", value: 9 }], { a: [1, 9, 2] }],
      [{ a: [1, 2] }, [{ op: "remove", path: "/a/0" }], { a: [2] }],
      [{ a: 1 }, [{ op: "replace", path: "", value: { b: 2 } }], { b: 2 }],
      [
        { a: 1 },
        [{ op: "add", path: "/__proto__", value: { x: 1 } }],
        JSON.parse('{"a":1,"__proto__":{"x":1}}'),
      ],
    ];
    for (const [state, patch, wanted] of cases) {
      const module = agent({
        name: "cook",
        model: scripted({ tool: "update_state", input: { patch } }, "Done."),
        tools: [stateTool()],
      });
      const rath = rathOf();
      const events = await asked(agui(rath, module, { principal }), inputFor("go", { state }));
      const isWhole = (patch as { path: string }[])[0]?.path === "";
      expect(of(events, isWhole ? "STATE_SNAPSHOT" : "STATE_DELTA")).not.toEqual([]);
      expect(JSON.stringify(appState(await rath.load(NAME)))).toBe(JSON.stringify(wanted));
      const { openrath: _, ...told } = Object(of(events, "STATE_SNAPSHOT").at(-1)?.snapshot);
      expect(JSON.stringify(told)).toBe(JSON.stringify(wanted));
    }
    for (const patch of [
      [{ op: "replace", path: "/b", value: 1 }],
      [{ op: "remove", path: "" }],
      [{ op: "add", path: "/a/7", value: 1 }],
      [{ op: "add", path: "/a/-1", value: 1 }],
      [{ op: "move", path: "/a" }],
      "a",
    ]) {
      const module = agent({
        name: "cook",
        model: scripted({ tool: "update_state", input: { patch } }, "Done."),
        tools: [stateTool()],
      });
      const rath = rathOf();
      const events = await asked(agui(rath, module, { principal }), inputFor("go", { state: { a: [1] } }));
      expect([of(events, "STATE_DELTA"), appState(await rath.load(NAME))]).toEqual([[], { a: [1] }]);
    }
    expect(() => stateTool({ nam: "x" } as never)).toThrow('did you mean "name"');
  });

  it("[G11] tools and context of the front end reach the agent; it suspends until the result is there", async () => {
    const rath = rathOf();
    const prompts: string[] = [];
    const module = agent({
      name: "guide",
      model: scripted(
        (prompt) => {
          prompts.push(JSON.stringify(prompt));
          return { tool: "pick_color", input: { from: ["red"] } };
        },
        (prompt) => {
          prompts.push(JSON.stringify(prompt.at(-1)));
          return "Red it is.";
        },
        (prompt) => {
          prompts.push(JSON.stringify(prompt));
          return { tool: "pick_color", input: {} };
        },
        (prompt) => {
          prompts.push(JSON.stringify(prompt.at(-1)));
          return "As you like.";
        },
      ),
      tools: (session) => frontTools(session),
    });
    const handler = agui(rath, module, { principal });
    const tools = [
      { name: "pick_color", description: "Lets the user pick.", parameters: { type: "object" } },
    ];
    const context = [{ description: "The page", value: "Paint shop" }];
    const first = await asked(handler, inputFor("Paint.", { tools, context }));
    const [call] = of(first, "TOOL_CALL_START");
    expect(call?.toolCallName).toBe("pick_color");
    expect(of(first, "TOOL_CALL_RESULT")).toEqual([]);
    expect(of(first, "CUSTOM")).toEqual([]);
    expect(first.at(-1)).toMatchObject({
      outcome: { type: "success", pendingToolCallIds: [call?.toolCallId] },
    });
    expect(prompts[0]).toContain("The page: Paint shop");
    expect(frontContext(await rath.load(NAME))).toEqual(context);
    const answer = { id: "x", role: "tool", toolCallId: call?.toolCallId ?? "", content: "red" };
    const messages = [user("Paint."), answer];
    const second = await asked(handler, inputFor("", { runId: "r2", tools, context, messages }));
    expect(prompts[1]).toContain("red");
    expect(of(second, "TOOL_CALL_RESULT")).toEqual([]);
    expect(of(second, "TEXT_MESSAGE_CONTENT").map(({ delta }) => delta)).toEqual(["Red it is."]);
    expect(of(second, "MESSAGES_SNAPSHOT")).toEqual([]);
    const said = [...(await rath.load(NAME)).history()].find(({ fact }) => fact.type === "tool-result");
    expect(said?.fact).toMatchObject({ output: "red", by: "user:ada" });
    // Speaking withdraws a call that nobody answered; the context is said once.
    await asked(
      handler,
      inputFor("", { runId: "r3", tools, context, messages: [...messages, user("Again.")] }),
    );
    expect(prompts[2]?.split("Paint shop")).toHaveLength(2);
    const third = await asked(
      handler,
      inputFor("", { runId: "r4", tools, context, messages: [user("Again."), user("Never mind.")] }),
    );
    expect(prompts[3]).toContain("withdrew");
    expect(of(third, "TOOL_CALL_RESULT")).toHaveLength(1);
    await verified(rath, module);
  });

  it("[G12] a thread is read by GET, and by a POST without anything new: its messages, and how it stands", async () => {
    const rath = rathOf();
    const module = agent({
      name: "ops",
      model: scripted(
        { reasoning: "Hm.", text: "I will.", tools: [{ tool: "deploy", input: { to: "prod" } }] },
        "Done.",
      ),
      tools: [deploy],
    });
    const handler = agui(rath, module, { principal });
    expect((await read(handler)).map(({ type }) => type)).toEqual([
      "RUN_STARTED",
      "MESSAGES_SNAPSHOT",
      "STATE_SNAPSHOT",
      "STATE_SNAPSHOT",
      "RUN_FINISHED",
    ]);
    expect(await (await rath.store()).head(NAME)).toBeUndefined();
    const first = await asked(handler, inputFor("Deploy.", { state: { page: 1 } }));
    const [call] = of(first, "TOOL_CALL_START");
    const events = await read(handler);
    expect(of(events, "MESSAGES_SNAPSHOT")[0]?.messages).toMatchObject([
      { id: "m-Deploy.", role: "user", content: "Deploy." },
      { role: "reasoning", content: "Hm." },
      {
        id: of(first, "TEXT_MESSAGE_START")[0]?.messageId,
        role: "assistant",
        content: "I will.",
        toolCalls: [{ id: call?.toolCallId, function: { name: "deploy", arguments: '{"to":"prod"}' } }],
      },
    ]);
    expect(of(events, "STATE_SNAPSHOT").at(-1)).toMatchObject({
      snapshot: { page: 1, openrath: { status: "waiting" } },
    });
    expect(interruptsOf(events)).toMatchObject(interruptsOf(first));
    await rath.approve(NAME, { by: "user:boss" });
    // What waits and has its answers goes on, also where somebody only looks.
    const done = await read(handler);
    expect(of(done, "TEXT_MESSAGE_CONTENT").map(({ delta }) => delta)).toEqual(["Done."]);
    const again = await asked(handler, inputFor("Deploy.", { runId: "r9" }));
    expect(of(again, "MESSAGES_SNAPSHOT")[0]?.messages).toMatchObject([
      {},
      {},
      {},
      { role: "tool", toolCallId: call?.toolCallId, content: "deployed" },
      { role: "assistant", content: "Done." },
    ]);
    expect(again.at(-1)).toMatchObject({ type: "RUN_FINISHED", runId: "r9", outcome: { type: "success" } });
    for (const event of [...events, ...done, ...again]) schemas?.EventSchemas.parse(event);
    expect(await read(handler, "threadId=t2&runId=mine")).toMatchObject([
      { runId: "mine" },
      { messages: [] },
      {},
      {},
      { runId: "mine" },
    ]);
  });

  it("[G12] a reader who comes while an answer is under way hears it from its beginning", async () => {
    const rath = rathOf();
    const { module, release } = gated();
    const handler = agui(rath, module, { principal });
    const first = await handler(posted(inputFor("Go.")));
    const reader = first.body?.getReader();
    await reader?.read();
    const second = await handler(new Request("http://localhost/agent?threadId=t1&runId=late"));
    const third = await handler(posted(inputFor("Go.", { runId: "r3" })));
    const refused = await handler(
      posted(inputFor("", { runId: "r4", messages: [user("Go."), user("More.")] })),
    );
    expect([refused.status, await refused.json()]).toMatchObject([409, { error: { code: "thread-busy" } }]);
    await reader?.cancel();
    release();
    // Also those who come while it ends hear an end.
    const late: Promise<readonly Event[]>[] = [];
    for (let count = 0; count < 40; count++) {
      late.push(read(handler));
      await new Promise((resolve) => setImmediate(resolve));
    }
    for (const events of await Promise.all(late))
      expect(events.at(-1)).toMatchObject({ type: "RUN_FINISHED", outcome: { type: "success" } });
    for (const [response, runId] of [
      [second, "late"],
      [third, "r3"],
    ] as const) {
      const events = await eventsOf(response);
      expect(of(events, "MESSAGES_SNAPSHOT")[0]?.messages).toMatchObject([{ id: "m-Go.", content: "Go." }]);
      expect(of(events, "TEXT_MESSAGE_CONTENT").map(({ delta }) => delta)).toEqual(["One moment.", "Done."]);
      expect(of(events, "TEXT_MESSAGE_START")).toHaveLength(2);
      expect(events.at(-1)).toMatchObject({ type: "RUN_FINISHED", runId, outcome: { type: "success" } });
    }
    await verified(rath, module);
  });

  it("[G13] a requester who speaks withdraws the request for approval; nobody else can", async () => {
    const rath = rathOf();
    let calls = 0;
    const pay = tool({
      name: "pay",
      description: "Pays.",
      input: { type: "object" },
      effect: "write",
      approval: { from: "user:boss" },
      run: () => ++calls,
    });
    const prompts: string[] = [];
    const module = agent({
      name: "clerk",
      model: scripted(
        { tool: "pay", input: {} },
        (prompt) => {
          prompts.push(JSON.stringify(prompt.at(-1)));
          return "I did not pay.";
        },
        "Good bye.",
      ),
      tools: [pay],
    });
    const name = (thread: string): string => `shared/${thread}`;
    const handler = agui(rath, module, {
      name,
      principal: (request) => `user:${request.headers.get("x-who") ?? "ada"}`,
    });
    await asked(handler, inputFor("Pay."));
    const messages = [user("Pay."), user("Never mind.")];
    const other = await handler(posted(inputFor("", { runId: "r2", messages }), { "x-who": "eve" }));
    expect([other.status, await other.json()]).toMatchObject([409, { error: { code: "work-pending" } }]);
    const events = await asked(handler, inputFor("", { runId: "r2", messages }));
    const deltas = of(events, "TEXT_MESSAGE_CONTENT").map(({ delta }) => delta);
    expect(deltas.join("")).toBe("I did not pay.Good bye.");
    expect(prompts[0]).toContain("Never mind.");
    const give = [...(await rath.load("shared/t1")).history()].find(
      ({ fact }) => fact.type === "approval-give",
    );
    expect(give?.fact).toMatchObject({ decision: "reject", by: "user:ada" });
    expect(calls).toBe(0);
    await verified(rath, module, "shared/t1");
  });

  it("[D8] approvers have a door of their own: it lists what waits for them, and takes their answers", async () => {
    const rath = rathOf();
    const ask = { from: "user:boss" } as const;
    let tries = 0;
    const pay = tool({
      name: "pay",
      description: "Pays.",
      input: { type: "object" },
      effect: "write",
      approval: ask,
      timeout: 30,
      run: () => (++tries === 1 ? new Promise<never>(() => {}) : "paid"),
    });
    const module = agent({
      name: "clerk",
      model: scripted({ tool: "pay", input: { amount: 3 } }, "Done."),
      tools: [pay],
    });
    const front = agui(rath, module, { principal });
    const handler = approvals(rath, {
      principal: (request) => {
        const who = request.headers.get("x-who");
        return who === null ? new Response(null, { status: 401 }) : `user:${who}`;
      },
      module: (name) => (name.startsWith("agui/") ? module : undefined),
    });
    type Listed = { awaited: { name: string; id: string; digest: string; shown: Json; schema: Json }[] };
    const list = async (who: string): Promise<Listed["awaited"]> => {
      const response = await handler(new Request("http://localhost/", { headers: { "x-who": who } }));
      return ((await response.json()) as Listed).awaited;
    };
    const answer = async (who: string, word: Json): Promise<number> =>
      (await handler(posted(word, { "x-who": who }))).status;
    expect((await handler(new Request("http://localhost/"))).status).toBe(401);
    await asked(front, inputFor("Pay."));
    expect([await list("ada"), await list("eve")]).toEqual([[], []]);
    const [one] = await list("boss");
    expect(one).toMatchObject({
      name: NAME,
      shown: { tool: "pay", input: { amount: 3 } },
      schema: { required: ["approved"] },
    });
    const { name = "", id = "", digest = "" } = one ?? {};
    const yes = { name, of: id, value: { approved: true } };
    expect(await answer("ada", yes)).toBe(409);
    expect(await answer("eve", yes)).toBe(409);
    expect(await answer("boss", { ...yes, digest: "0".repeat(64) })).toBe(409);
    expect(await answer("boss", { ...yes, value: "yes" })).toBe(422);
    expect(await answer("boss", { name })).toBe(422);
    expect(
      (await handler(new Request("http://localhost/", { method: "PUT", headers: { "x-who": "boss" } })))
        .status,
    ).toBe(405);
    expect(await answer("boss", { ...yes, digest })).toBe(200);
    // The run goes on in this process, and the call is in doubt.
    let doubt: Listed["awaited"] = [];
    while (doubt.length === 0) {
      await new Promise((resolve) => setTimeout(resolve, 10));
      doubt = (await list("boss")).filter((found) => found.id !== id);
    }
    expect(doubt[0]).toMatchObject({ shown: { tool: "pay" }, schema: { required: ["decision"] } });
    expect(await list("eve")).toEqual([]);
    const settled = { name, of: doubt[0]?.id ?? "", value: { decision: "done", value: "paid by hand" } };
    expect(await answer("boss", settled)).toBe(200);
    while ((await rath.unfinished()).length > 0) await new Promise((resolve) => setTimeout(resolve, 10));
    expect((await rath.load(NAME)).text).toBe("Done.");
    expect(() => approvals(rath, { principal, under: 7 as never })).toThrow("under");
    expect(() => approvals(rath, { principal, modul: () => module } as never)).toThrow(
      'did you mean "module"',
    );
  });

  it.skipIf(client === undefined)(
    "[G10] [G11] [G12] [G13] serves the protocol's own client (@ag-ui/client, skipped where it is not installed)",
    async () => {
      const { HttpAgent, runHttpRequest, transformHttpEventStream } = client as Client;
      class Reloading extends HttpAgent {
        connect({ threadId, runId }: { threadId: string; runId: string }) {
          const url = `${this.url}?threadId=${threadId}&runId=${runId}`;
          return transformHttpEventStream(runHttpRequest(() => fetch(url)));
        }
      }
      const rath = rathOf();
      const module = agent({
        name: "guide",
        model: scripted(
          { tool: "update_state", input: { patch: [{ op: "add", path: "/color", value: "red" }] } },
          { tool: "confirm", input: {} },
          { tool: "deploy", input: {} },
          "Not deployed.",
          "Bye.",
        ),
        tools: (session) => [stateTool(), deploy, ...frontTools(session)],
      });
      const url = await served(agui(rath, module, { principal }));
      const front = new Reloading({ url, threadId: "t1", initialState: { page: "paint" } });
      front.addMessage({ id: "1", role: "user", content: "Paint." });
      const tools = [{ name: "confirm", description: "Asks the user.", parameters: { type: "object" } }];
      let pending: readonly string[] = [];
      const subscriber = {
        onRunFinishedEvent: (given: { pendingToolCallIds?: string[] }) => {
          pending = given.pendingToolCallIds ?? [];
        },
      };
      await front.runAgent({ tools }, subscriber);
      expect(front.state).toMatchObject({ page: "paint", color: "red", openrath: { status: "waiting" } });
      expect(pending).toHaveLength(1);
      front.addMessage({ id: "2", role: "tool", toolCallId: pending[0], content: "yes" });
      await front.runAgent({ tools }, subscriber);
      expect(front.pendingInterrupts).toHaveLength(1);
      // Another page of the same thread.
      const page = new Reloading({ url, threadId: "t1" });
      await page.connectAgent();
      expect(page.messages.map(({ role }) => role)).toEqual(front.messages.map(({ role }) => role));
      expect(page.messages.filter(({ role }) => role !== "tool")).toMatchObject(
        front.messages.filter(({ role }) => role !== "tool").map(({ id, role }) => ({ id, role })),
      );
      expect(page.state).toMatchObject({ page: "paint", color: "red" });
      const [interrupt] = page.pendingInterrupts;
      page.addMessage({ id: "3", role: "user", content: "Never mind." });
      await page.runAgent({ resume: [{ interruptId: interrupt?.id, status: "cancelled" }] });
      expect(page.messages.slice(-2)).toMatchObject([{ content: "Not deployed." }, { content: "Bye." }]);
      await verified(rath, module);
    },
  );
});

function user(text: string): { id: string; role: "user"; content: string } {
  return { id: `m-${text}`, role: "user", content: text };
}
