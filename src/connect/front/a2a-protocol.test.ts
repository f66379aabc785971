import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { agent } from "../../agent/index.js";
import { scripted } from "../../agent/model/index.js";
import { askPerson, tool } from "../../agent/tool/index.js";
import type { Module } from "../../runtime/index.js";
import { rathOf } from "../../runtime/testing/rath.js";
import type { Json } from "../../session/index.js";
import { type A2aCard, a2a, FrontError, type Handler } from "./index.js";
import { peer } from "./testing/peer.js";
import { eventsOf, posted } from "./testing/post.js";
import { served } from "./testing/serve.js";

const card: A2aCard = {
  name: "helper",
  description: "Helps.",
  version: "1.0.0",
  url: "http://127.0.0.1/a2a",
  skills: [{ id: "help", name: "Help", description: "Helps.", tags: ["help"] }],
};

type Fields = { readonly [field: string]: Json };
type Answer = { readonly id: Json; readonly result?: Fields; readonly error?: { readonly code: number } };

const echo = (): Module =>
  agent({
    name: "echo",
    model: scripted((prompt) => `heard ${prompt.filter(({ role }) => role === "user").length}`),
  });

function careful(): Module {
  const deploy = tool({
    name: "deploy",
    description: "Deploys.",
    input: { type: "object" },
    effect: "write",
    approval: true,
    run: () => "deployed",
  });
  return agent({ name: "ops", model: scripted({ tool: "deploy", input: {} }, "Done."), tools: [deploy] });
}

const said = (text: string, more: Fields = {}): Json => ({
  message: { messageId: `m-${text}`, role: "ROLE_USER", parts: [{ text }], ...more },
});

async function raw(handler: Handler, body: unknown): Promise<Answer> {
  const response = await handler(posted(body));
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/json"]);
  return (await response.json()) as Answer;
}

async function call(handler: Handler, method: string, params: Json): Promise<Answer> {
  return raw(handler, { jsonrpc: "2.0", id: 7, method, params });
}

async function sent(handler: Handler, text: string, more: Fields = {}): Promise<Fields> {
  const { result } = await call(handler, "SendMessage", said(text, more));
  return result?.task as Fields;
}

/** A request by HTTP+JSON. */
async function rest(
  handler: Handler,
  method: string,
  path: string,
  body?: Json,
): Promise<{ readonly status: number; readonly body: Fields }> {
  const response = await handler(
    new Request(`http://127.0.0.1/a2a${path}`, {
      method,
      headers: { "content-type": "application/a2a+json", "a2a-version": "1.0" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }),
  );
  expect(response.headers.get("content-type")).toBe("application/a2a+json");
  return { status: response.status, body: (await response.json()) as Fields };
}

/** A receiver of notifications on the loopback interface. */
async function receiver(statuses: number[] = []) {
  const got: { readonly headers: { readonly [name: string]: unknown }; readonly body: Fields }[] = [];
  const server = createServer(async (incoming, outgoing) => {
    const pieces: Buffer[] = [];
    for await (const piece of incoming) pieces.push(piece as Buffer);
    got.push({ headers: incoming.headers, body: JSON.parse(Buffer.concat(pieces).toString()) as Fields });
    outgoing.writeHead(statuses.shift() ?? 204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, got };
}

const until = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
};

type Sdk = {
  readonly ClientFactory: {
    new (options?: Json): { createFromUrl(url: string): Promise<SdkClient> };
  };
  readonly ClientFactoryOptions: { readonly default: object; createFrom(one: object, other: object): Json };
  readonly RestTransportFactory: new () => object;
};
type SdkTask = { readonly id: string; readonly contextId: string; readonly status?: { state: number } };
type SdkClient = {
  readonly transport: { readonly protocolName: string };
  sendMessage(params: Json): Promise<SdkTask>;
  sendMessageStream(params: Json): AsyncIterable<{ payload?: { $case: string } }>;
  getTask(params: Json): Promise<SdkTask>;
  listTasks(params: Json): Promise<{ totalSize: number }>;
  createTaskPushNotificationConfig(params: Json): Promise<{ id: string; url: string }>;
  getTaskPushNotificationConfig(params: Json): Promise<{ url: string }>;
  deleteTaskPushNotificationConfig(params: Json): Promise<void>;
};
const sdk = await peer<Sdk>("@a2a-js/sdk/client");

describe("the protocol of A2A", () => {
  it("[T8] JSON-RPC: what is broken, malformed, unknown or has wrong parameters, each by its number and its id", async () => {
    const handler = a2a(rathOf(), echo(), { open: true, card });
    const jsonrpc = "2.0";
    const params = said("x");
    const method = "SendMessage";
    const cases: readonly [unknown, number, Json][] = [
      ["{", -32700, null],
      ["", -32700, null],
      ['{"jsonrpc":"2.0","id":1,', -32700, null],
      [[], -32600, null],
      [7, -32600, null],
      [{ id: 5, method, params }, -32600, 5],
      [{ jsonrpc: "1.0", id: "five", method, params }, -32600, "five"],
      [{ jsonrpc, id: 5, params }, -32600, 5],
      [{ jsonrpc, id: 5, method: 7, params }, -32600, 5],
      [{ jsonrpc, id: { bad: "type" }, method, params }, -32600, null],
      [{ jsonrpc, method, params }, -32600, null],
      [{ jsonrpc, id: "a", method, params: "not an object" }, -32602, "a"],
      [{ jsonrpc, id: "a", method, params: [1] }, -32602, "a"],
      [{ jsonrpc, id: "a", method, params: {} }, -32602, "a"],
      [{ jsonrpc, id: "a", method }, -32602, "a"],
      [{ jsonrpc, id: 1, method: "message/nothing", params }, -32601, 1],
      [{ jsonrpc, id: 1, method: "GetTask", params: {} }, -32602, 1],
      [{ jsonrpc, id: 1, method: "GetTask", params: { id: "none" } }, -32001, 1],
      [{ jsonrpc, id: 1, method: "GetTask", params: { id: "none", historyLength: -1 } }, -32001, 1],
      [{ jsonrpc, id: 1, method: "CancelTask", params: { id: "none" } }, -32001, 1],
      [{ jsonrpc, id: 1, method: "CancelTask", params: {} }, -32602, 1],
      [{ jsonrpc, id: 1, method: "SubscribeToTask", params: { id: "none" } }, -32001, 1],
      [{ jsonrpc, id: 1, method: "ListTasks", params: { pageSize: 0 } }, -32602, 1],
      [{ jsonrpc, id: 1, method: "ListTasks", params: { pageSize: 101 } }, -32602, 1],
      [{ jsonrpc, id: 1, method: "ListTasks", params: { historyLength: -1 } }, -32602, 1],
      [{ jsonrpc, id: 1, method: "ListTasks", params: { status: "DANCING" } }, -32602, 1],
      [{ jsonrpc, id: 1, method: "ListTasks", params: { pageToken: "?" } }, -32602, 1],
      [{ jsonrpc, id: 1, method: "ListTasks", params: { statusTimestampAfter: "soon" } }, -32602, 1],
      [{ jsonrpc, id: 1, method: "ListTasks", params: { statusTimestampAfter: "-1" } }, -32602, 1],
      [{ jsonrpc, id: 1, method: "GetExtendedAgentCard", params: {} }, -32004, 1],
      [{ jsonrpc, id: 1, method, params: said("x", { messageId: "" }) }, -32602, 1],
      [{ jsonrpc, id: 1, method, params: said("x", { parts: [] }) }, -32602, 1],
      [{ jsonrpc, id: 1, method, params: said("x", { role: "ROLE_UNSPECIFIED" }) }, -32602, 1],
      [{ jsonrpc, id: 1, method, params: said("x", { contextId: "c".repeat(257) }) }, -32602, 1],
    ];
    for (const [body, code, id] of cases) {
      const answer = await raw(handler, body);
      expect([answer.error?.code, answer.id], JSON.stringify(body)).toEqual([code, id]);
    }
    const broken = new Request("http://localhost/", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: new Uint8Array([0x22, 0xff, 0x22]),
    });
    expect(await (await handler(broken)).json()).toMatchObject({ id: null, error: { code: -32700 } });
    expect((await handler(posted({}, { "content-type": "text/plain" }))).status).toBe(415);
    expect((await a2a(rathOf(), echo(), { open: true, card, maxBody: 10 })(posted(params))).status).toBe(413);
  });

  it("[T5] a context may be named by its caller, and goes on by that name", async () => {
    const handler = a2a(rathOf(), echo(), { open: true, card });
    const first = await sent(handler, "one", { contextId: "my context" });
    const second = await sent(handler, "two", { contextId: "my context" });
    expect([first.contextId, second.contextId]).toEqual(["my context", "my context"]);
    expect(second.artifacts).toMatchObject([{ parts: [{ text: "heard 2" }] }]);
    expect(first.id).not.toBe(second.id);
    const { result } = await call(handler, "ListTasks", { contextId: "my context" });
    expect(result?.totalSize).toBe(2);
    expect((await sent(handler, "three")).contextId).not.toBe("my context");
    // A task that is over takes no message; one of another context is refused.
    expect((await call(handler, "SendMessage", said("x", { taskId: String(first.id) }))).error?.code).toBe(
      -32004,
    );
    const elsewhere = said("x", { taskId: String(first.id), contextId: "other" });
    expect((await call(handler, "SendMessage", elsewhere)).error?.code).toBe(-32602);
    const short = await call(handler, "GetTask", { id: String(second.id), historyLength: 1 });
    expect(short.result?.history).toHaveLength(1);
    const none = await call(handler, "GetTask", { id: String(second.id), historyLength: 0 });
    expect(none.result).not.toHaveProperty("history");
    expect((await call(handler, "GetTask", { id: String(second.id), historyLength: -1 })).error?.code).toBe(
      -32602,
    );
  });

  it("[T4] [T10] the question of a model takes plain words as its answer, again and again in one task", async () => {
    const asks = Array.from({ length: 3 }, (_, at) => ({
      text: "I need to know more.",
      tools: [{ tool: "ask_person", input: { question: `What else, ${at}?` } }],
    }));
    const clerk = agent({ name: "clerk", model: scripted(...asks, "Thank you."), tools: [askPerson()] });
    const handler = a2a(rathOf(), clerk, { principal: () => "user:ada", card });
    const task = await sent(handler, "Begin.");
    const state = async (text: string) =>
      ((await sent(handler, text, { taskId: String(task.id) })).status as Fields).state;
    expect(await state("one")).toBe("TASK_STATE_INPUT_REQUIRED");
    expect(await state("two")).toBe("TASK_STATE_INPUT_REQUIRED");
    const short = await call(handler, "GetTask", { id: String(task.id), historyLength: 2 });
    expect(short.result?.history).toHaveLength(2);
    const whole = await call(handler, "GetTask", { id: String(task.id) });
    expect(Object(whole.result?.history).length).toBeGreaterThan(2);
    expect(await state("three")).toBe("TASK_STATE_COMPLETED");
  });

  it("[T15] takes the names of the proto file, and leaves the data of callers as it is", async () => {
    const handler = a2a(rathOf(), echo(), { open: true, card });
    const message = {
      message_id: "m-1",
      context_id: "my_context",
      role: "ROLE_USER",
      parts: [{ data: { order_id: { line_no: 7 } } }],
    };
    const { body } = await rest(handler, "POST", "/message:send", { message });
    const task = body.task as Fields;
    expect(task.contextId).toBe("my_context");
    const got = await rest(handler, "GET", `/tasks/${task.id}?history_length=1`);
    expect(got.body.history).toHaveLength(1);
    const whole = await rest(handler, "GET", `/tasks/${task.id}`);
    expect(whole.body.history).toMatchObject([{ parts: [{ text: '{"order_id":{"line_no":7}}' }] }, {}]);
    const listed = await call(handler, "ListTasks", { context_id: "my_context", page_size: 1 });
    expect(listed.result).toMatchObject({ totalSize: 1, tasks: [{ id: task.id }] });
    const hostile = JSON.parse('{"message":{"__proto__":{"messageId":"m","role":"ROLE_USER"},"parts":[]}}');
    expect((await call(handler, "SendMessage", hostile)).error?.code).toBe(-32602);
  });

  it("[T11] HTTP+JSON: the same calls by path, with errors as google.rpc.Status", async () => {
    const handler = a2a(rathOf(), echo(), { open: true, card, push: { private: true } });
    const { status, body } = await rest(handler, "POST", "/message:send", said("one"));
    const task = body.task as Fields;
    expect([status, (task.status as Fields).state]).toEqual([200, "TASK_STATE_COMPLETED"]);
    const path = `/tasks/${task.id}`;
    const got = await rest(handler, "GET", `${path}?historyLength=1`);
    expect(got.body.id).toBe(task.id);
    expect(got.body.history).toHaveLength(1);
    const listed = await rest(
      handler,
      "GET",
      "/tasks?pageSize=1&includeArtifacts=true&status=TASK_STATE_COMPLETED",
    );
    expect(listed.body).toMatchObject({ totalSize: 1, tasks: [{ artifacts: [{}] }] });
    const streamed = await handler(
      new Request("http://127.0.0.1/a2a/message:stream", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(said("two", { contextId: String(task.contextId) })),
      }),
    );
    const frames = (await eventsOf(streamed)).map((frame) => Object.keys(frame)[0]);
    expect(frames).toEqual(["task", "statusUpdate", "statusUpdate", "artifactUpdate", "statusUpdate"]);
    const configs = `${path}/pushNotificationConfigs`;
    const { url } = await receiver();
    const made = await rest(handler, "POST", configs, { url });
    expect((await rest(handler, "GET", `${configs}/${made.body.id}`)).body).toEqual(made.body);
    expect((await rest(handler, "GET", configs)).body.configs).toHaveLength(1);
    expect((await rest(handler, "DELETE", `${configs}/${made.body.id}`)).status).toBe(200);
    const errors: readonly [string, string, Json | undefined, number, string, string][] = [
      ["GET", "/tasks/none", undefined, 404, "NOT_FOUND", "TASK_NOT_FOUND"],
      ["POST", `${path}:cancel`, {}, 400, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE"],
      ["POST", `${path}:subscribe`, {}, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION"],
      ["GET", `${path}:subscribe`, undefined, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION"],
      ["GET", "/extendedAgentCard", undefined, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION"],
      ["POST", "/message:send", {}, 400, "INVALID_ARGUMENT", "INVALID_PARAMS"],
      ["GET", "/tasks?pageSize=many", undefined, 400, "INVALID_ARGUMENT", "INVALID_PARAMS"],
      ["GET", `${configs}/${made.body.id}`, undefined, 404, "NOT_FOUND", "TASK_NOT_FOUND"],
    ];
    for (const [method, at, given, code, name, reason] of errors)
      expect(await rest(handler, method, at, given), `${method} ${at}`).toMatchObject({
        status: code,
        body: { error: { code, status: name, details: [{ reason, domain: "a2a-protocol.org" }] } },
      });
    const broken = await handler(
      new Request("http://127.0.0.1/a2a/message:send", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: "{",
      }),
    );
    expect([broken.status, await broken.json()]).toMatchObject([
      400,
      { error: { status: "INVALID_ARGUMENT" } },
    ]);
    // Nobody comes in by this binding who does not come in by the other.
    const closed = a2a(rathOf(), echo(), { principal: () => new Response(null, { status: 401 }), card });
    expect((await closed(new Request("http://127.0.0.1/a2a/tasks"))).status).toBe(401);
  });

  it("[T12] tells callers of their tasks at an address of theirs, in order, with their credentials", async () => {
    const handler = a2a(rathOf(), careful(), {
      principal: (request) => `user:${request.headers.get("x-who") ?? "ada"}`,
      selfApproval: true,
      card,
      push: { private: true },
    });
    // The first attempt fails, and is made again.
    const { url, got } = await receiver([503]);
    const { result } = await call(handler, "SendMessage", {
      ...(said("deploy") as object),
      configuration: {
        taskPushNotificationConfig: {
          id: "c1",
          url,
          token: "t",
          authentication: { scheme: "Bearer", credentials: "s" },
        },
      },
    });
    const task = result?.task as Fields;
    const taskId = String(task.id);
    const states = (): unknown[] =>
      got.flatMap(({ body }) => {
        const { status } = Object(body.statusUpdate) as { readonly status?: Fields };
        return status === undefined ? [] : [status.state];
      });
    await until(() => states().includes("TASK_STATE_INPUT_REQUIRED"));
    expect(states()).toEqual(["TASK_STATE_WORKING", "TASK_STATE_WORKING", "TASK_STATE_INPUT_REQUIRED"]);
    expect(got[0]?.headers).toMatchObject({
      authorization: "Bearer s",
      "x-a2a-notification-token": "t",
      "content-type": "application/a2a+json",
    });
    const shown = await call(handler, "GetTaskPushNotificationConfig", { taskId, id: "c1" });
    expect(shown.result).toEqual({ id: "c1", taskId, url, token: "t", authentication: { scheme: "Bearer" } });
    const list = await call(handler, "ListTaskPushNotificationConfigs", { taskId });
    expect(list.result?.configs).toHaveLength(1);
    const stranger = await handler(
      posted(
        { jsonrpc: "2.0", id: 1, method: "ListTaskPushNotificationConfigs", params: { taskId } },
        { "x-who": "eve" },
      ),
    );
    expect(await stranger.json()).toMatchObject({ error: { code: -32001 } });
    await call(handler, "SendMessage", {
      message: { messageId: "2", role: "ROLE_USER", taskId, parts: [{ data: { approved: true } }] },
    });
    await until(() => states().includes("TASK_STATE_COMPLETED"));
    expect(got.at(-2)?.body.artifactUpdate).toMatchObject({
      taskId,
      artifact: { parts: [{ text: "Done." }] },
    });
    const count = got.length;
    expect((await call(handler, "DeleteTaskPushNotificationConfig", { taskId, id: "c1" })).result).toEqual(
      {},
    );
    const gone = await call(handler, "GetTaskPushNotificationConfig", { taskId, id: "c1" });
    expect(gone.error?.code).toBe(-32001);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(got).toHaveLength(count);
  });

  it("[T13] private addresses are refused unless an option allows them, however they are written", async () => {
    const handler = a2a(rathOf(), echo(), { open: true, card, push: true });
    const { id } = await sent(handler, "one");
    for (const url of [
      "http://127.0.0.1:1/hook",
      "http://localhost/hook",
      "http://[::1]/hook",
      "http://[::ffff:10.0.0.1]/hook",
      "http://169.254.169.254/latest/meta-data",
      "http://10.1.2.3/",
      "http://192.168.0.1/",
      "http://2130706433/",
      "http://0x7f.1/",
      "http://user:secret@example.com/",
      "ftp://example.com/",
      "file:///etc/passwd",
      "here",
      "",
    ]) {
      const params = { taskId: String(id), url };
      expect((await call(handler, "CreateTaskPushNotificationConfig", params)).error?.code, url).toBe(-32602);
    }
    const injected = { taskId: String(id), url: "http://8.8.8.8/", token: "a\r\nx: y" };
    expect((await call(handler, "CreateTaskPushNotificationConfig", injected)).error?.code).toBe(-32602);
    for (let place = 0; place < 17; place++) {
      const params = { taskId: String(id), url: "http://8.8.8.8/", id: `c${place}` };
      const { error } = await call(handler, "CreateTaskPushNotificationConfig", params);
      expect(error?.code).toBe(place < 16 ? undefined : -32602);
    }
    expect(() => a2a(rathOf(), echo(), { open: true, card, push: { privat: true } as never })).toThrow(
      FrontError,
    );
    const off = (await (
      await a2a(rathOf(), echo(), { open: true, card })(
        new Request("http://localhost/.well-known/agent-card.json"),
      )
    ).json()) as Fields;
    expect(off.capabilities).toMatchObject({ pushNotifications: false });
  });

  it("[T14] without principal nobody approves by A2A", async () => {
    const handler = a2a(rathOf(), careful(), { open: true, card });
    const { id } = await sent(handler, "deploy");
    const answer = {
      messageId: "2",
      role: "ROLE_USER",
      taskId: String(id),
      parts: [{ data: { approved: true } }],
    };
    expect((await call(handler, "SendMessage", { message: answer })).error?.code).toBe(-32602);
    expect(() => a2a(rathOf(), careful(), { open: true, selfApproval: true, card })).toThrow("nobody knows");
  });

  it.skipIf(sdk === undefined).each(["JSONRPC", "HTTP+JSON"] as const)(
    "[T9] [T11] [T12] serves the protocol's own client by %s (@a2a-js/sdk, skipped where it is not installed)",
    async (binding) => {
      const { ClientFactory, ClientFactoryOptions } = sdk as Sdk;
      let handler: Handler = async () => new Response(null, { status: 503 });
      const url = `${await served((request) => handler(request))}/a2a`;
      handler = a2a(rathOf(), echo(), {
        principal: () => "user:ada",
        card: { ...card, url },
        push: { private: true },
      });
      const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
        preferredTransports: [binding],
      });
      const client = await new ClientFactory(options).createFromUrl(url);
      expect(client.transport.protocolName).toBe(binding);
      const say = (text: string, contextId: string): Json => ({
        tenant: "",
        message: {
          messageId: text,
          taskId: "",
          contextId,
          role: 1,
          parts: [{ content: { $case: "text", value: text }, filename: "", mediaType: "" }],
          extensions: [],
          referenceTaskIds: [],
        },
      });
      const task = await client.sendMessage(say("one", "mine"));
      expect([task.contextId, task.status?.state]).toEqual(["mine", 3]);
      const cases: (string | undefined)[] = [];
      for await (const { payload } of client.sendMessageStream(say("two", "mine")))
        cases.push(payload?.$case);
      expect(cases).toEqual(["task", "statusUpdate", "statusUpdate", "artifactUpdate", "statusUpdate"]);
      expect((await client.getTask({ tenant: "", id: task.id })).id).toBe(task.id);
      const all = { tenant: "", contextId: "", status: 0, pageToken: "" };
      expect((await client.listTasks(all)).totalSize).toBe(2);
      const hook = await receiver();
      const config = await client.createTaskPushNotificationConfig({
        tenant: "",
        id: "",
        taskId: task.id,
        url: hook.url,
        token: "",
      });
      expect(config.url).toBe(hook.url);
      const at = { tenant: "", taskId: task.id, id: config.id };
      expect((await client.getTaskPushNotificationConfig(at)).url).toBe(hook.url);
      await client.deleteTaskPushNotificationConfig(at);
      await expect(client.getTaskPushNotificationConfig(at)).rejects.toThrow();
      await expect(client.getTask({ tenant: "", id: "none" })).rejects.toThrow("no such task");
    },
  );
});
