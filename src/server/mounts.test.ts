import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, it } from "vitest";
import { agent } from "../agent/index.js";
import { scripted } from "../agent/model/index.js";
import { inputFor } from "../connect/front/testing/post.js";
import type { Module } from "../runtime/index.js";
import { workflow } from "../workflow/index.js";
import { clerk, serving, stateOf } from "./testing/serving.js";

const talker = () => agent({ name: "talker", model: scripted("Hello there.", "Again.", "More.") });

const hello = {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "other", version: "1" },
};
const said = { message: { messageId: "m1", role: "ROLE_USER", parts: [{ text: "hi" }] } };
const chat = { id: "c1", messages: [{ id: "m1", role: "user", parts: [{ type: "text", text: "hi" }] }] };
const requests = {
  "/ui/talker": chat,
  "/agui/talker": inputFor("hi"),
  "/a2a/talker": { jsonrpc: "2.0", id: 1, method: "SendMessage", params: said },
  "/mcp": { jsonrpc: "2.0", id: 1, method: "initialize", params: hello },
};

it("[SM1] the protocols of other front ends have the same identity, and the sender is on the record", async () => {
  const { store, url, token, rath } = await serving({ modules: { talker: talker() } });
  const post = (path: string, body: unknown, who?: string) =>
    fetch(url + path, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...(who !== undefined && { authorization: `Bearer ${who}` }),
      },
      body: JSON.stringify(body),
    });
  const [viewer, other, ada] = [
    token("eve", ["view"]),
    token("mal", ["run"], "pay/*"),
    token("ada", ["run"]),
  ];
  const before = await stateOf(store);
  for (const [path, body] of Object.entries(requests)) {
    const statuses: number[] = [];
    for (const who of [undefined, "rath_000", viewer, other]) {
      const answer = await post(path, body, who);
      await answer.text();
      statuses.push(answer.status);
    }
    expect([path, ...statuses]).toEqual([path, 401, 401, 403, 403]);
  }
  expect(await stateOf(store)).toBe(before);
  for (const [path, body] of Object.entries(requests)) {
    const answer = await post(path, body, ada);
    const text = await answer.text();
    expect([path, answer.status]).toEqual([path, 200]);
    expect(text).toMatch(path === "/mcp" ? /serverInfo/ : /Hello|Again|More|TASK_STATE/);
  }
  const names = (await store.names()).map(({ name }) => name).filter((name) => /^(ui|agui|a2a)\//.test(name));
  expect(names).toEqual(expect.arrayContaining(["agui/user%3Aada/t1", "ui/user%3Aada/c1"]));
  for (const name of names)
    expect([...(await rath.load(name)).history()].map(({ fact }) => fact)).toContainEqual(
      expect.objectContaining({ type: "run-start", by: "user:ada" }),
    );
  expect((await post("/ui/nobody", chat, ada)).status).toBe(404);
  expect((await post("/ui/%ff", chat, ada)).status).toBe(400);
  const card = await fetch(`${url}/a2a/talker/.well-known/agent-card.json`, {
    headers: { authorization: `Bearer ${ada}` },
  });
  expect(await card.json()).toMatchObject({
    name: "talker",
    supportedInterfaces: [{ url: `${url}/a2a/talker` }, {}],
  });
});

it("[SM2] an approval over the protocols of other front ends needs the role approve", async () => {
  const { url, token, rath } = await serving();
  const paid = async () =>
    (await rath.unfinished()).length === 0 ? "paid" : (await rath.unfinished()).map(({ waiting }) => waiting);
  for (const [roles, outcome] of [
    [["run"], [true]],
    [["run", "approve"], "paid"],
  ] as const) {
    const authorization = `Bearer ${token("bea", roles)}`;
    const post = async (path: string, body: unknown) => {
      const headers = { "content-type": "application/json", authorization };
      return (await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) })).text();
    };
    const clear = async () => {
      for (const { name } of await rath.unfinished()) {
        await rath.withdraw(name, { by: "user:bea" });
        await rath.resume(name, clerk());
      }
    };
    const id = String(roles.length);
    const say = { id: "m1", role: "user", parts: [{ type: "text", text: "pay" }] };
    const told = await post("/ui/clerk", { id, messages: [say] });
    const [, approval] = /"approvalId":"(\w+)"/.exec(told) ?? [];
    const [, toolCallId] = /"toolCallId":"(\w+)"/.exec(told) ?? [];
    const part = { type: "tool-pay", toolCallId, state: "approval-responded", input: { amount: 7 } };
    const agreed = { ...part, approval: { id: approval, approved: true } };
    await post("/ui/clerk", { id, messages: [say, { id: "a1", role: "assistant", parts: [agreed] }] });
    expect(["ui", await paid()]).toEqual(["ui", outcome]);
    await clear();

    await post("/agui/clerk", inputFor("pay", { threadId: id }));
    const [interrupt] = await rath.pending(`agui/user%3Abea/${id}`);
    const resume = [
      { interruptId: interrupt?.id as string, status: "resolved", payload: { approved: true } },
    ];
    await post("/agui/clerk", inputFor(undefined, { threadId: id, runId: "r2", resume }));
    expect(["agui", await paid()]).toEqual(["agui", outcome]);
    await clear();

    const send = async (message: object) =>
      post("/a2a/clerk", {
        ...{ jsonrpc: "2.0", id: 1, method: "SendMessage" },
        params: { message: { messageId: crypto.randomUUID(), role: "ROLE_USER", ...message } },
      });
    const { result } = JSON.parse(await send({ parts: [{ text: "pay" }] }));
    await send({ parts: [{ data: { approved: true } }], taskId: result.task.id });
    expect(["a2a", await paid()]).toEqual(["a2a", outcome]);
    await clear();

    const client = new Client(
      { name: "other", version: "1" },
      { capabilities: { elicitation: { form: {} } } },
    );
    client.setRequestHandler("elicitation/create", () => ({
      action: "accept",
      content: { approved: true },
    }));
    const requestInit = { headers: { authorization } };
    await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }));
    await client.callTool({ name: "clerk", arguments: { task: "pay" } });
    await client.close();
    expect(["mcp", await paid()]).toEqual(["mcp", outcome]);
    await clear();
  }
});

it("[SM3] requests of other front ends have the limits of the server", async () => {
  const hang = workflow("hang", async (session) => {
    await new Promise(() => {});
    return session;
  });
  const { url, token, handler } = await serving({
    modules: { talker: talker(), hang },
    limits: { body: 4_096, streamsPerPerson: 2 },
  });
  const authorization = `Bearer ${token("ada", ["run"])}`;
  const accept = "application/json, text/event-stream";
  const headers = { "content-type": "application/json", accept, authorization };
  const post = (path: string, body: unknown, signal?: AbortSignal) =>
    fetch(url + path, { method: "POST", headers, body: JSON.stringify(body), ...(signal && { signal }) });
  for (const [path, body] of Object.entries(requests)) {
    const answer = await post(path, { ...(body as object), more: "x".repeat(5_000) });
    expect([path, answer.status, (await answer.text()).length > 0]).toEqual([path, 413, true]);
  }
  const stop = new AbortController();
  const first = await post("/ui/hang", { ...chat, id: "h1" }, stop.signal);
  const second = await post("/ui/hang", { ...chat, id: "h2" }, stop.signal);
  expect([first.status, second.status]).toEqual([200, 200]);
  expect((await post("/ui/talker", chat)).status).toBe(429);
  stop.abort();
  await expect.poll(async () => (await post("/ui/talker", chat)).status).toBe(200);
  const card = async (port: number) => {
    const request = new Request(`http://localhost:${port}/a2a/talker/.well-known/agent-card.json`, {
      headers,
    });
    return (await handler(request)).json();
  };
  for (const port of [1, 2])
    expect(await card(port)).toMatchObject({
      supportedInterfaces: [{ url: `http://localhost:${port}/a2a/talker` }, {}],
    });
});

it("[SM4] a module whose name cannot be that of a tool is left out of MCP", async () => {
  const ask = async (modules: Record<string, Module>) => {
    const { url, token } = await serving({ modules });
    const accept = "application/json, text/event-stream";
    const authorization = `Bearer ${token("ada", ["run"])}`;
    const headers = { "content-type": "application/json", accept, authorization };
    const body = JSON.stringify(requests["/mcp"]);
    return (await fetch(`${url}/mcp`, { method: "POST", headers, body })).status;
  };
  expect(await ask({ "pay.clerk": talker(), session_list: talker(), talker: talker() })).toBe(200);
  expect(await ask({ "pay.clerk": talker() })).toBe(404);
  expect(await ask({})).toBe(404);
});
