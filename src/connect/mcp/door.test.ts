import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterEach, describe, expect, it, vi } from "vitest";
import { askPerson, tool } from "../../agent/tool/index.js";
import type { Rath } from "../../runtime/index.js";
import type { Json } from "../../session/index.js";
import { approve, workflow } from "../../workflow/index.js";
import { type McpServerOptions, mcpServer, type ServedMcp } from "./index.js";
import { listening } from "./testing/http.js";
import { closeAll, factsOf, kept, lastOf, memory } from "./testing/world.js";

afterEach(closeAll);

const echo = workflow("echo", async (session) =>
  session.append({
    type: "message-say",
    role: "assistant",
    content: `After ${session.transcript.length} messages.`,
  }),
);
const consent = approve("consent", { pay: 130 });
const pay = workflow("pay", { consent }, async (session, parts) => {
  const { session: at, approved } = await parts.consent.call(session);
  const content = approved ? "Paid." : "Refused.";
  return at.append({ type: "message-say", role: "assistant", content });
});
const paid: Json[] = [];
const transfer = tool({
  name: "transfer",
  description: "Transfers.",
  input: { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] },
  effect: "write",
  approval: true,
  run: ({ amount }) => {
    paid.push(amount as Json);
    return { transferred: amount as number };
  },
});

function served(rath: Rath, more: Partial<McpServerOptions> = { open: true }): ServedMcp {
  return kept(mcpServer({ rath, modules: { echo, pay }, tools: [transfer], ...more }));
}

const users: NonNullable<McpServerOptions["principal"]> = (request) => {
  const token = request.headers.get("authorization");
  if (token === "broken") throw new Error("the token cannot be read");
  if (token === "page") return new Response("come in by the front", { status: 401 });
  if (token === "cat") return "cat" as never;
  return token === null ? undefined : `user:${token.replace("Bearer ", "")}`;
};

function asked(method: string, params: Json = {}, headers: { [name: string]: string } = {}): Request {
  return new Request("http://localhost/mcp", {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
}

async function called(
  server: ServedMcp,
  name: string,
  input: Json,
  headers: { [name: string]: string } = {},
): Promise<{ text: string; run: string; session: string; isError: boolean }> {
  const answer = await server.fetch(asked("tools/call", { name, arguments: input }, headers));
  expect(answer.status).toBe(200);
  const body = await answer.text();
  const { result } = JSON.parse(/^data: (.*)$/m.exec(body)?.[1] ?? body) as {
    result: { content: { text: string }[]; isError?: boolean };
  };
  const [{ text } = { text: "" }, second] = result.content;
  const { run = "", session = "" } = JSON.parse(second?.text ?? "{}") as { run?: string; session?: string };
  return { text, run, session, isError: result.isError === true };
}

describe("who calls by HTTP", () => {
  it("[S14] nobody is served where nobody says who may come in", async () => {
    const refused = await served(memory(), {}).fetch(asked("tools/list"));
    expect(refused.status).toBe(403);
    expect(await refused.json()).toMatchObject({
      error: { data: { reason: "Nobody says who may come in.", hint: expect.stringContaining("principal") } },
    });
    expect(() => served(memory(), { open: true, principal: users })).toThrow(/leave out one/);
    expect(() => served(memory(), { principal: "ada" as never })).toThrow(/must be a function/);
    expect(() => served(memory(), { by: "ada" as never })).toThrow(/`by` is "ada"/);
  });

  it("[S14] whoever is not known is told so, and principal may answer itself", async () => {
    const server = served(memory(), { principal: users });
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    try {
      const status = async (authorization?: string): Promise<number> =>
        (await server.fetch(asked("tools/list", {}, authorization === undefined ? {} : { authorization })))
          .status;
      const unknown = await server.fetch(asked("tools/list"));
      expect([unknown.status, unknown.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
      expect(await unknown.text()).toContain("The sender of this request is not known.");
      expect(await status("broken")).toBe(401);
      expect(warned).toHaveBeenCalledOnce();
      expect(await status("cat")).toBe(403);
      expect(await (await server.fetch(asked("tools/list", {}, { authorization: "page" }))).text()).toContain(
        "by the front",
      );
      expect(await status("Bearer ada")).toBe(200);
    } finally {
      warned.mockRestore();
    }
  });

  it("[S14] who calls is on the record of the run and of the answer, in both protocols", async () => {
    const rath = memory();
    const { url } = await listening(served(rath, { principal: users, selfApproval: true }));
    for (const mode of ["auto", "legacy"] as const) {
      const client = new Client(
        { name: "other", version: "1" },
        { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode } },
      );
      client.setRequestHandler("elicitation/create", () => ({
        action: "accept",
        content: { approved: true },
      }));
      const requestInit = { headers: { authorization: `Bearer ${mode}` } };
      await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
      kept({ close: () => client.close() });
      const result = await client.callTool({ name: "pay", arguments: { task: "pay" } });
      const { run } = JSON.parse((result.content[1] as { text: string }).text) as { run: string };
      const session = await rath.load(run);
      expect(lastOf(session, "run-start").by).toBe(`user:${mode}`);
      expect(lastOf(session, "approval-give").by).toBe(`user:${mode}`);
      expect(factsOf(session)[0]).toMatchObject({ by: `user:${mode}` });
    }
  });

  it("[S16] a caller does not approve their own call, unless that was configured", async () => {
    const rath = memory();
    paid.length = 0;
    const { url } = await listening(served(rath, { principal: users }));
    const client = new Client(
      { name: "other", version: "1" },
      { capabilities: { elicitation: { form: {} } } },
    );
    let asking = 0;
    client.setRequestHandler("elicitation/create", () => {
      asking += 1;
      return { action: "accept", content: { approved: true } };
    });
    const requestInit = { headers: { authorization: "Bearer ada" } };
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
    kept({ close: () => client.close() });
    const waits = await client.callTool({ name: "transfer", arguments: { amount: 5 } });
    expect([asking, paid, JSON.stringify(waits)]).toEqual([0, [], expect.stringContaining("mayAnswer")]);
    expect(() => served(memory(), { open: true, selfApproval: true })).toThrow(/needs a person/);
    expect(() => served(memory(), { open: true, selfApproval: "yes" as never })).toThrow(/must be a boolean/);
  });

  it("[S15] what others are asked is not asked of the client, and what a question wants is", async () => {
    const rath = memory();
    const boss = tool({
      name: "boss_only",
      description: "Pays.",
      input: { type: "object" },
      effect: "write",
      approval: { from: "user:boss", within: 3_600_000 },
      run: () => "paid",
    });
    const { url } = await listening(served(rath, { principal: users, tools: [boss, askPerson()] }));
    const client = new Client(
      { name: "other", version: "1" },
      { capabilities: { elicitation: { form: {} } } },
    );
    const forms: Json[] = [];
    client.setRequestHandler("elicitation/create", ({ params }) => {
      forms.push(params as unknown as Json);
      return { action: "accept", content: { answer: forms.length === 1 ? "green" : "blue" } };
    });
    const requestInit = { headers: { authorization: "Bearer ada" } };
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
    kept({ close: () => client.close() });
    const waits = await client.callTool({ name: "boss_only", arguments: {} });
    expect(forms).toEqual([]);
    expect(JSON.stringify(waits)).toContain("user:boss");
    const answered = await client.callTool({
      name: "ask_person",
      arguments: { question: "Which?", options: ["red", "blue"] },
    });
    expect(JSON.stringify(answered)).toContain("blue");
    expect(forms.length).toBe(2);
    expect(forms[0]).toMatchObject({
      requestedSchema: { properties: { answer: { enum: ["red", "blue"] } } },
    });
    expect(JSON.stringify(forms[1])).toContain("does not answ");
  });

  it("[S15] words of a client whom nobody knows are trusted by no policy", async () => {
    const rath = memory();
    const server = served(rath);
    const { session } = await called(server, "echo", { task: "pay eve" });
    expect(factsOf(await rath.load(session))[0]).toMatchObject({ by: "service:mcp" });
  });

  it("[S14] nobody uses the session of another's connection, nor the state of another's call", async () => {
    const rath = memory();
    const server = served(rath, { principal: users, selfApproval: true });
    const clientInfo = { name: "other", version: "1" };
    const hello = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
    const begun = await server.fetch(asked("initialize", hello, { authorization: "Bearer ada" }));
    const id = begun.headers.get("mcp-session-id") ?? "";
    await begun.text();
    const status = async (who: string): Promise<number> => {
      const headers = { authorization: `Bearer ${who}`, "mcp-session-id": id };
      const answer = await server.fetch(
        asked("tools/list", {}, { ...headers, "mcp-protocol-version": "2025-11-25" }),
      );
      await answer.text();
      return answer.status;
    };
    expect([await status("ada"), await status("eve")]).toEqual([200, 404]);
    const meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": clientInfo,
      "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } },
    };
    const modern = async (who: string, more: { [field: string]: Json }): Promise<string> => {
      const params = { name: "pay", arguments: { task: "pay" }, _meta: meta, ...more };
      const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "pay" };
      const request = asked("tools/call", params, { ...headers, authorization: `Bearer ${who}` });
      return (await server.fetch(request)).text();
    };
    const requestState = /"requestState":"([^"]+)"/.exec(await modern("ada", {}))?.[1] ?? "";
    expect(requestState).not.toBe("");
    const [key] = (await rath.pending((await rath.unfinished())[0]?.name ?? "")).map(({ what }) => what);
    const answers = {
      requestState,
      inputResponses: { [key || "ask"]: { action: "accept", content: { approved: true } } },
    };
    expect(await modern("eve", answers)).toContain('"code":-32602');
    expect((await rath.unfinished()).length).toBe(1);
    expect(await modern("ada", answers)).toContain("Paid");
  });

  it("[S6] a request that a program made is known by its address; a name in it counts more", async () => {
    const server = served(memory());
    const to = async (url: string, headers: { [name: string]: string } = {}): Promise<number> => {
      const given = asked("tools/list", {}, headers);
      const request = new Request(url, {
        method: "POST",
        headers: given.headers,
        body: await given.text(),
      });
      return (await server.fetch(request)).status;
    };
    expect(await to("http://localhost/mcp")).toBe(200);
    expect(await to("http://evil.example/mcp")).toBe(403);
    expect(await to("http://localhost/mcp", { host: "evil.example" })).toBe(403);
    expect(await to("http://localhost/mcp", { host: "" })).toBe(403);
  });
});

describe("the sessions of the store", () => {
  const names = async (server: ServedMcp): Promise<string> =>
    (await server.fetch(asked("tools/list"))).text();

  it("[S13] they are offered only where that was said", async () => {
    const rath = memory();
    expect(await names(served(rath))).not.toContain("session_");
    expect(await names(served(rath, { open: true, store: true }))).toContain("session_replay");
    expect((await called(served(rath), "session_list", {}).catch(() => ({ isError: true }))).isError).toBe(
      true,
    );
    expect(() => served(rath, { store: "yes" as never })).toThrow(/`store` must be a boolean/);
  });

  it("[S13] a caller goes on from what their own calls came to, and from nothing else", async () => {
    const rath = memory();
    await rath.run(echo, rath.start("a secret"), { name: "private" });
    await rath.run(echo, rath.start("a secret"), { name: "mcp/not-by-a-call", by: "user:eve" });
    const server = served(rath, { principal: users });
    const ada = { authorization: "Bearer ada" };
    const eve = { authorization: "Bearer eve" };
    const first = await called(server, "echo", { task: "hi" }, ada);
    for (const session of [first.session, first.run])
      expect((await called(server, "echo", { task: "again", session }, ada)).text).toBe("After 3 messages.");
    for (const session of [first.session, first.run, "private", "nobody"]) {
      const refused = await called(server, "echo", { task: "again", session }, eve);
      expect([refused.isError, refused.text]).toEqual([
        true,
        expect.stringContaining("no call of user:eve came to the session"),
      ]);
    }
    const all = served(rath, { principal: users, store: true });
    expect((await called(all, "echo", { task: "again", session: "private" }, eve)).text).toBe(
      "After 3 messages.",
    );
  });

  it("[S7] a server with nothing to offer is refused when it is made; sessions alone are something", async () => {
    const rath = memory();
    expect(() => mcpServer({ rath })).toThrow(/nothing to offer/);
    expect(() => mcpServer({ rath, tools: [], modules: {} })).toThrow(/store: true/);
    const server = kept(mcpServer({ rath, store: true, open: true }));
    expect(await names(server)).toContain("session_verify");
    expect((await called(server, "session_verify", { session: "a", module: "b" })).text).toContain(
      "there is no module",
    );
  });
});

describe("what a client's person says to an approval", () => {
  async function answered(
    name: string,
    input: { [field: string]: Json },
    ...answers: { [field: string]: string | boolean }[]
  ): Promise<{ text: string; asked: string[] }> {
    const { url } = await listening(served(memory(), { open: true, by: "user:ada", selfApproval: true }));
    const client = new Client(
      { name: "other", version: "1" },
      { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: "auto" } },
    );
    const heard: string[] = [];
    client.setRequestHandler("elicitation/create", ({ params }) => {
      heard.push(params.message);
      return { action: "accept", content: answers[heard.length - 1] ?? {} };
    });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    kept({ close: () => client.close() });
    const result = await client.callTool({ name, arguments: input });
    return { text: JSON.stringify(result), asked: heard };
  }

  it("[S4] what is neither yes nor no is asked for again, with what is wanted", async () => {
    const { text, asked: heard } = await answered(
      "pay",
      { task: "pay" },
      { approved: true, instead: "both" },
      { approved: true, edit: "no JSON" },
      { approved: false, why: "too much" },
    );
    expect(text).toContain("Refused.");
    expect(heard[0]).not.toContain("did not fit");
    expect(heard[1]).toContain('did not fit: say { "approved": true }');
    expect(heard[2]).toContain("`edit` is not JSON");
  });

  it("[S4] a person agrees to something else, or did it themselves", async () => {
    paid.length = 0;
    const edited = await answered(
      "transfer",
      { amount: 130 },
      { approved: true, edit: '{"amount":13}' },
      { approved: true },
    );
    expect([edited.text, paid]).toEqual([expect.stringContaining('"transferred":13'), [13]]);
    const instead = await answered(
      "transfer",
      { amount: 130 },
      { approved: false, instead: '{"transferred":1}', edit: "" },
    );
    expect([instead.text, paid]).toEqual([expect.stringContaining('"transferred":1'), [13]]);
  });
});
