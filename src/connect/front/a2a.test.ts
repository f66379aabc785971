import { describe, expect, it } from "vitest";
import { agent } from "../../agent/index.js";
import { scripted } from "../../agent/model/index.js";
import { tool } from "../../agent/tool/index.js";
import type { Module } from "../../runtime/index.js";
import { rathOf, storeOf, urlOf } from "../../runtime/testing/rath.js";
import type { Json } from "../../session/index.js";
import { step, workflow } from "../../workflow/index.js";
import { type A2aCard, a2a, FrontError, type Handler } from "./index.js";
import { peer } from "./testing/peer.js";
import { eventsOf, posted } from "./testing/post.js";
import { served } from "./testing/serve.js";

const card: A2aCard = {
  name: "helper",
  description: "Helps.",
  version: "1.0.0",
  url: "http://127.0.0.1/rpc",
  skills: [{ id: "help", name: "Help", description: "Helps.", tags: ["help"] }],
};

type Task = {
  readonly id: string;
  readonly contextId: string;
  readonly status: { readonly state: string; readonly message?: { parts: { text?: string; data?: Json }[] } };
  readonly artifacts?: readonly { parts: { text: string }[] }[];
  readonly history?: readonly { role: string; parts: { text: string }[] }[];
};

const parts = (said: Json): Json => (typeof said === "string" ? [{ text: said }] : [{ data: said }]);
const message = (said: Json, more: { readonly [field: string]: Json } = {}): Json => ({
  message: { messageId: `m-${JSON.stringify(said)}`, role: "ROLE_USER", parts: parts(said), ...more },
});

async function call(handler: Handler, method: string, params: Json, headers = {}): Promise<Json> {
  const response = await handler(posted({ jsonrpc: "2.0", id: 7, method, params }, headers));
  const { jsonrpc, id, result, error } = (await response.json()) as { [field: string]: Json };
  expect([jsonrpc, id]).toEqual(["2.0", 7]);
  return result ?? (error as { readonly code: number }).code;
}

async function sent(
  handler: Handler,
  said: Json,
  more: { readonly [field: string]: Json } = {},
): Promise<Task> {
  return ((await call(handler, "SendMessage", message(said, more))) as unknown as { task: Task }).task;
}

const echo = (): Module =>
  agent({
    name: "echo",
    model: scripted((prompt) => `heard ${prompt.filter(({ role }) => role === "user").length}`),
  });

function careful(): { readonly module: Module; readonly calls: () => number } {
  let calls = 0;
  const deploy = tool({
    name: "deploy",
    description: "Deploys.",
    input: { type: "object" },
    effect: "write",
    approval: true,
    run: () => `deployed ${++calls}`,
  });
  const module = agent({
    name: "ops",
    model: scripted({ text: "I will.", tools: [{ tool: "deploy", input: { to: "prod" } }] }, "Done."),
    tools: [deploy],
  });
  return { module, calls: () => calls };
}

function slow(begin = (): void => {}): Module {
  const wait = step(
    "wait",
    (_: null, { signal }) => {
      begin();
      return new Promise<null>((_, no) =>
        signal.addEventListener("abort", () => no(signal.reason), { once: true }),
      );
    },
    { effect: "read" },
  );
  return workflow("slow", async (session) => (await wait.call(session, null)).session);
}

type Streamed = { payload?: { $case: string; value: { status?: { state: number } } } };
type Client = {
  sendMessage(params: Json): Promise<{ id: string; contextId: string; status?: { state: number } }>;
  sendMessageStream(params: Json): AsyncIterable<Streamed>;
  getTask(params: Json): Promise<{ id: string; artifacts: { parts: { content?: { value: unknown } }[] }[] }>;
  createTaskPushNotificationConfig(params: Json): Promise<{ id: string }>;
  listTaskPushNotificationConfig(params: Json): Promise<{ configs: unknown[] }>;
  listTasks(params: Json): Promise<{ totalSize: number }>;
  cancelTask(params: Json): Promise<unknown>;
};
const sdk = await peer<{ readonly ClientFactory: new () => { createFromUrl(url: string): Promise<Client> } }>(
  "@a2a-js/sdk/client",
);

describe("A2A", () => {
  it("[T1] [D1] serves its card, and is not opened by mistake", async () => {
    const rath = rathOf();
    const handler = a2a(rath, echo(), { card, principal: () => new Response(null, { status: 401 }) });
    const response = await handler(new Request("http://localhost/.well-known/agent-card.json"));
    expect(await response.json()).toMatchObject({
      name: "helper",
      supportedInterfaces: [
        { url: card.url, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
        { url: card.url, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" },
      ],
      capabilities: { streaming: true, pushNotifications: false },
      skills: [{ id: "help" }],
    });
    expect((await handler(posted({}))).status).toBe(401);
    expect(() => a2a(rath, echo(), { card })).toThrow(FrontError);
    expect(() => a2a(rath, echo(), { open: true } as never)).toThrow("no card");
    expect(() => a2a(rath, echo(), { open: true, card: { ...card, url: "here" } })).toThrow("url");
    expect(() => a2a(rath, echo(), { open: true, card: { ...card, version: "" } })).toThrow("version");
    expect(() => a2a(rath, echo(), { open: true, card, budgets: {} } as never)).toThrow(
      'did you mean "budget"',
    );
  });

  it("[T10] the history of a task has what was sent and answered, and not what the program asked its agents", async () => {
    const clerk = agent({ name: "clerk", model: scripted("Twelve.") });
    const module = workflow("desk", { clerk }, async (session, parts) =>
      parts.clerk.forward(session.say("Look into the stock.")),
    );
    const task = await sent(a2a(rathOf(), module, { open: true, card }), "How many?");
    expect(task.history?.map(({ role, parts: [part] }) => [role, part?.text])).toEqual([
      ["ROLE_USER", "How many?"],
      ["ROLE_AGENT", "Twelve."],
    ]);
  });

  it("[T2] [T3] [T5] runs tasks, one after the other in a context", async () => {
    const store = await storeOf();
    const rath = rathOf({ store });
    const handler = a2a(rath, echo(), { open: true, card });
    const first = await sent(handler, "one");
    expect(first).toMatchObject({
      status: { state: "TASK_STATE_COMPLETED" },
      artifacts: [{ parts: [{ text: "heard 1" }] }],
    });
    const second = await sent(handler, { two: 2 }, { contextId: first.contextId });
    expect(second.contextId).toBe(first.contextId);
    expect(second.id).not.toBe(first.id);
    expect(second.artifacts?.[0]?.parts).toEqual([{ text: "heard 2" }]);
    expect(second.history?.map(({ role, parts: [part] }) => [role, part?.text])).toEqual([
      ["ROLE_USER", "one"],
      ["ROLE_AGENT", "heard 1"],
      ["ROLE_USER", '{"two":2}'],
      ["ROLE_AGENT", "heard 2"],
    ]);
    const root = [...(await rath.load(`a2a/user/task/${second.id}`)).history()][0];
    expect(root?.id).toBe(first.contextId);
    await sent(handler, "elsewhere");
    const other = a2a(rathOf({ store }), echo(), { open: true, card });
    const got = (await call(other, "GetTask", { id: second.id, historyLength: 1 })) as unknown as Task;
    expect(got).toMatchObject({ id: second.id, status: { state: "TASK_STATE_COMPLETED" } });
    expect(got.history).toHaveLength(1);
    const all = (await call(other, "ListTasks", { pageSize: 2 })) as unknown as {
      tasks: Task[];
      nextPageToken: string;
      totalSize: number;
    };
    expect([all.tasks.length, all.totalSize]).toEqual([2, 3]);
    const rest = (await call(other, "ListTasks", {
      pageSize: 2,
      pageToken: all.nextPageToken,
    })) as unknown as typeof all;
    expect([rest.tasks.length, rest.nextPageToken]).toEqual([1, ""]);
    expect(new Set([...all.tasks, ...rest.tasks].map(({ id }) => id)).size).toBe(3);
    const mine = (await call(other, "ListTasks", { contextId: first.contextId })) as unknown as typeof all;
    expect(mine.tasks).toHaveLength(2);
    const failed = (await call(other, "ListTasks", { status: "TASK_STATE_FAILED" })) as unknown as typeof all;
    expect(failed.tasks).toEqual([]);
  });

  it("[T2] tells a task on the way", async () => {
    const handler = a2a(rathOf(), echo(), { open: true, card });
    const response = await handler(
      posted({ jsonrpc: "2.0", id: "s", method: "SendStreamingMessage", params: message("one") }),
    );
    const results = (await eventsOf(response)).map(({ result }) => result as { [kind: string]: Json });
    expect(results.map((result) => Object.keys(result)[0])).toEqual([
      "task",
      "statusUpdate",
      "statusUpdate",
      "artifactUpdate",
      "statusUpdate",
    ]);
    expect(results[2]).toMatchObject({
      statusUpdate: { status: { state: "TASK_STATE_WORKING", message: { parts: [{ text: "heard 1" }] } } },
    });
    expect(results[3]).toMatchObject({ artifactUpdate: { artifact: { parts: [{ text: "heard 1" }] } } });
    expect(results.at(-1)).toMatchObject({ statusUpdate: { status: { state: "TASK_STATE_COMPLETED" } } });
  });

  it("[T3] says that a task failed", async () => {
    const module = workflow("bad", async () => {
      throw new Error("no luck");
    });
    const task = await sent(a2a(rathOf(), module, { open: true, card }), "go");
    expect(task.status).toMatchObject({
      state: "TASK_STATE_FAILED",
      message: { parts: [{ text: expect.stringContaining("no luck") }] },
    });
  });

  it("[T4] asks, and goes on with the answer", async () => {
    const rath = rathOf();
    const { module, calls } = careful();
    const handler = a2a(rath, module, { principal: () => "user:ada", selfApproval: true, card });
    const asked = await sent(handler, "deploy");
    expect(asked.status.state).toBe("TASK_STATE_INPUT_REQUIRED");
    const [, shown] = asked.status.message?.parts ?? [];
    const { pending } = Object(shown?.data) as { pending: { id: string }[] };
    expect(pending).toMatchObject([
      { type: "approval-ask", shown: { tool: "deploy", input: { to: "prod" } } },
    ]);
    const to = { taskId: asked.id };
    expect(await call(handler, "SendMessage", message("yes", to))).toBe(-32602);
    expect(
      await call(handler, "SendMessage", message({ approved: true }, { ...to, contextId: "other" })),
    ).toBe(-32602);
    expect(
      await call(handler, "SendMessage", message({ answers: [{ id: "x", value: { approved: true } }] }, to)),
    ).toBe(-32602);
    expect(calls()).toBe(0);
    const done = await sent(
      handler,
      { answers: [{ id: pending[0]?.id ?? "", value: { approved: true } }] },
      to,
    );
    expect(done).toMatchObject({
      id: asked.id,
      status: { state: "TASK_STATE_COMPLETED" },
      artifacts: [{ parts: [{ text: "Done." }] }],
    });
    expect(calls()).toBe(1);
    expect(await call(handler, "SendMessage", message({ approved: true }, to))).toBe(-32004);
    const name = `a2a/user%3Aada/task/${asked.id}`;
    const session = await rath.load(name);
    expect([...session.history()].find(({ fact }) => fact.type === "approval-give")?.fact.by).toBe(
      "user:ada",
    );
    expect((await rath.replay(name, module, { mode: "verify" })).id).toBe(session.id);
  });

  it("[D5] [D6] the requester neither approves nor settles their own call", async () => {
    const rath = rathOf();
    let paid = 0;
    const pay = tool({
      name: "pay",
      description: "Pays.",
      input: { type: "object" },
      effect: "write",
      approval: true,
      timeout: 30,
      run: () => {
        paid += 1;
        return paid === 1 ? new Promise<never>(() => {}) : "paid";
      },
    });
    const module = agent({
      name: "clerk",
      model: scripted({ tool: "pay", input: { to: "x" } }, "Done."),
      tools: [pay],
    });
    const handler = a2a(rath, module, { principal: () => "user:customer", card });
    const asked = await sent(handler, "refund me");
    const to = { taskId: asked.id };
    expect(await call(handler, "SendMessage", message({ approved: true }, to))).toBe(-32602);
    const name = `a2a/user%3Acustomer/task/${asked.id}`;
    await rath.approve(name, { by: "user:boss" });
    const doubt = await sent(handler, "go on", to);
    const [, told] = doubt.status.message?.parts ?? [];
    expect(Object(told?.data).pending).toMatchObject([
      {
        type: "in-doubt",
        shown: { tool: "pay", input: { to: "x" } },
        digest: expect.any(String),
        key: expect.any(String),
        started: expect.any(String),
        approved: ["user:boss"],
      },
    ]);
    expect(await call(handler, "SendMessage", message({ decision: "again" }, to))).toBe(-32602);
    expect(paid).toBe(1);
    await rath.settle(name, { by: "user:boss", decision: "done", value: "paid" });
    expect(await sent(handler, "go on", to)).toMatchObject({ status: { state: "TASK_STATE_COMPLETED" } });
  });

  it("[T6] [T3] cancels what is under way, or waits, and nothing else", async () => {
    const rath = rathOf();
    const handler = a2a(rath, slow(), { open: true, card });
    const { task } = (await call(handler, "SendMessage", {
      ...(message("go") as object),
      configuration: { returnImmediately: true },
    })) as unknown as { task: Task };
    expect(task.status.state).toMatch(/SUBMITTED|WORKING/);
    const watched = handler(
      posted({ jsonrpc: "2.0", id: 1, method: "SubscribeToTask", params: { id: task.id } }),
    );
    const cancelled = (await call(handler, "CancelTask", { id: task.id })) as unknown as Task;
    expect(cancelled.status.state).toBe("TASK_STATE_CANCELED");
    expect((await eventsOf(await watched)).at(-1)?.result).toMatchObject({
      statusUpdate: { status: { state: "TASK_STATE_CANCELED" } },
    });
    expect(await call(handler, "CancelTask", { id: task.id })).toBe(-32002);
    expect(await call(handler, "SubscribeToTask", { id: task.id })).toBe(-32004);
    const { module, calls } = careful();
    const ops = a2a(rath, module, { open: true, card });
    const asked = await sent(ops, "deploy");
    expect(((await call(ops, "CancelTask", { id: asked.id })) as unknown as Task).status.state).toBe(
      "TASK_STATE_CANCELED",
    );
    expect(calls()).toBe(0);
  });

  it("[T6] cancels a task that its own process continues without a request", async () => {
    const store = await storeOf();
    const first = rathOf({ store });
    let begun = 0;
    const module = slow(() => begun++);
    const { task } = (await call(a2a(first, module, { open: true, card }), "SendMessage", {
      ...(message("go") as object),
      configuration: { returnImmediately: true },
    })) as unknown as { task: Task };
    const name = `a2a/user/task/${task.id}`;
    await expect.poll(() => begun).toBe(1);
    await first.close();
    const rath = rathOf({ store });
    const going = rath.resume(name, module).catch((error: { readonly code: string }) => error.code);
    await expect.poll(() => begun).toBe(2);
    const cancelled = await call(a2a(rath, module, { open: true, card }), "CancelTask", { id: task.id });
    expect((cancelled as unknown as Task).status.state).toBe("TASK_STATE_CANCELED");
    expect(await going).toBe("cancelled");
  });

  it("[T16] a subscriber of a task that somebody else continues is told its end", async () => {
    const url = urlOf("sqlite");
    const rath = rathOf({ store: await storeOf(url) });
    let [begin, go] = [(): void => {}, (): void => {}];
    const begun = new Promise<void>((resolve) => (begin = resolve));
    const gate = new Promise<void>((resolve) => (go = resolve));
    const run = () => {
      begin();
      return gate.then(() => "deployed");
    };
    const deploy = tool({
      name: "deploy",
      description: "Deploys.",
      input: { type: "object" },
      effect: "write",
      approval: true,
      run,
    });
    const module = agent({ name: "ops", model: scripted({ tool: "deploy" }, "Done."), tools: [deploy] });
    const handler = a2a(rath, module, { open: true, card });
    const { id } = await sent(handler, "deploy");
    const name = `a2a/user/task/${id}`;
    await rath.approve(name, { by: "user:boss" });
    const going = rathOf({ store: await storeOf(url) }).resume(name, module);
    await begun;
    const watched = await handler(
      posted({ jsonrpc: "2.0", id: 1, method: "SubscribeToTask", params: { id } }),
    );
    go();
    await going;
    expect((await eventsOf(watched)).at(-1)?.result).toMatchObject({
      statusUpdate: { status: { state: "TASK_STATE_COMPLETED" } },
    });
  });

  it("[T16] a task whose process ended goes on when it is read, and one that others answered too", async () => {
    const store = await storeOf();
    let cut: () => void = () => {};
    const calls: string[] = [];
    const charge = step("charge", () => calls.push("charge"), { effect: "write" });
    const wait = step("wait", () => new Promise<string>((done) => (cut = () => done("done"))), {
      effect: "read",
    });
    const module = workflow("order", { charge, wait }, async (session) => {
      const { session: next } = await wait.call((await charge.call(session, null)).session, null);
      return next.say("Shipped.", { role: "assistant" });
    });
    const first = rathOf({ store });
    const handler = a2a(first, module, { open: true, card });
    const { task } = (await call(handler, "SendMessage", {
      ...(message("go") as object),
      configuration: { returnImmediately: true },
    })) as unknown as { task: Task };
    await expect.poll(() => calls).toEqual(["charge"]);
    await first.close();
    const other = a2a(rathOf({ store }), module, { open: true, card });
    const got = (await call(other, "GetTask", { id: task.id })) as unknown as Task;
    expect(got.status.state).toBe("TASK_STATE_WORKING");
    const read = async () => {
      cut();
      return ((await call(other, "GetTask", { id: task.id })) as unknown as Task).status.state;
    };
    await expect.poll(read).toBe("TASK_STATE_COMPLETED");
    expect(calls).toEqual(["charge"]);

    const rath = rathOf();
    const { module: ops, calls: deployed } = careful();
    const desk = a2a(rath, ops, { open: true, card });
    const asked = await sent(desk, "deploy");
    expect(await call(desk, "SubscribeToTask", { id: asked.id })).toBe(-32004);
    await rath.approve(`a2a/user/task/${asked.id}`, { by: "user:boss" });
    const watched = await desk(
      posted({ jsonrpc: "2.0", id: 1, method: "SubscribeToTask", params: { id: asked.id } }),
    );
    expect((await eventsOf(watched)).at(-1)?.result).toMatchObject({
      statusUpdate: { status: { state: "TASK_STATE_COMPLETED" } },
    });
    expect(deployed()).toBe(1);
  });

  it("[T7] keeps callers apart", async () => {
    const handler = a2a(rathOf(), echo(), {
      card,
      principal: (request) => `user:${request.headers.get("x-who")}`,
    });
    const { task } = (await call(handler, "SendMessage", message("one"), { "x-who": "ada" })) as unknown as {
      task: Task;
    };
    const bob = { "x-who": "bob" };
    expect(await call(handler, "GetTask", { id: task.id }, bob)).toBe(-32001);
    expect(await call(handler, "CancelTask", { id: task.id }, bob)).toBe(-32001);
    expect(await call(handler, "ListTasks", {}, bob)).toMatchObject({ totalSize: 0 });
    // The same name of a context is another context for another caller.
    const his = await call(handler, "SendMessage", message("x", { contextId: task.contextId }), bob);
    expect(his).toMatchObject({
      task: { contextId: task.contextId, artifacts: [{ parts: [{ text: "heard 1" }] }] },
    });
    expect(await call(handler, "ListTasks", {}, bob)).toMatchObject({ totalSize: 1 });
    expect(await call(handler, "ListTasks", {}, { "x-who": "ada" })).toMatchObject({ totalSize: 1 });
  });

  it("[T8] answers what makes no sense in the words of the protocol", async () => {
    const handler = a2a(rathOf(), echo(), { open: true, card });
    expect(await call(handler, "Dance", {})).toBe(-32601);
    expect(await call(handler, "SendMessage", {})).toBe(-32602);
    expect(
      await call(handler, "SendMessage", { message: { messageId: "1", role: "ROLE_USER", parts: [{}] } }),
    ).toBe(-32602);
    expect(
      await call(handler, "SendMessage", {
        message: { messageId: "1", role: "ROLE_AGENT", parts: [{ text: "x" }] },
      }),
    ).toBe(-32602);
    expect(await call(handler, "GetTask", { id: "none" })).toBe(-32001);
    expect(await call(handler, "SendMessage", message("x", { taskId: "none" }))).toBe(-32001);
    expect(await call(handler, "ListTasks", { pageSize: 1000 })).toBe(-32602);
    expect(await call(handler, "CreateTaskPushNotificationConfig", {})).toBe(-32003);
    const configuration = { taskPushNotificationConfig: { url: "https://example.com" } };
    const pushed = { ...(message("x") as object), configuration } as Json;
    expect(await call(handler, "SendMessage", pushed)).toBe(-32003);
    expect(await call(handler, "GetTask", { id: "none" }, { "a2a-version": "0.3" })).toBe(-32009);
    const batch = (await (await handler(posted([]))).json()) as { error: { code: number } };
    expect(batch.error.code).toBe(-32600);
    expect((await handler(posted({}, { "content-type": "text/plain" }))).status).toBe(415);
  });

  it.skipIf(sdk === undefined)(
    "[T9] serves the protocol's own client (@a2a-js/sdk, skipped where it is not installed)",
    async () => {
      const rath = rathOf();
      const { module, calls } = careful();
      let handler: Handler = async () => new Response(null, { status: 503 });
      const url = await served((request) => handler(request));
      handler = a2a(rath, module, { principal: () => "user", selfApproval: true, card: { ...card, url } });
      const factory = new (sdk as NonNullable<typeof sdk>).ClientFactory();
      const client = await factory.createFromUrl(url);
      const say = (part: Json, taskId = "", contextId = ""): Json => ({
        tenant: "",
        message: {
          messageId: "1",
          taskId,
          contextId,
          role: 1,
          parts: [{ content: part, filename: "", mediaType: "" }],
          extensions: [],
          referenceTaskIds: [],
        },
      });
      const states: (number | undefined)[] = [];
      let taskId = "";
      for await (const { payload } of client.sendMessageStream(say({ $case: "text", value: "deploy" }))) {
        if (payload?.$case === "task") taskId = (payload.value as unknown as { id: string }).id;
        states.push(payload?.value.status?.state);
      }
      // 2: working, 6: input required.
      expect(states.slice(1)).toEqual([2, 2, 6]);
      const done = await client.sendMessage(say({ $case: "data", value: { approved: true } }, taskId));
      expect([done.id, done.status?.state, calls()]).toEqual([taskId, 3, 1]);
      const got = await client.getTask({ tenant: "", id: taskId });
      expect(got.artifacts[0]?.parts[0]?.content?.value).toBe("Done.");
      expect(
        (await client.listTasks({ tenant: "", contextId: "", status: 0, pageToken: "" })).totalSize,
      ).toBe(1);
      await expect(client.cancelTask({ tenant: "", id: taskId })).rejects.toThrow("cannot be cancelled");
      await expect(client.getTask({ tenant: "", id: "none" })).rejects.toThrow("no such task");
    },
  );
});
