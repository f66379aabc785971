import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterEach, describe, expect, it } from "vitest";
import { scripted } from "../../agent/model/index.js";
import { content, moduleTool, tool } from "../../agent/tool/index.js";
import type { Rath } from "../../runtime/index.js";
import type { Json, Session } from "../../session/index.js";
import { type Signal, workflow } from "../../workflow/index.js";
import {
  clientForm,
  clientModel,
  clientRoots,
  type McpOptions,
  type McpServer,
  type McpServerOptions,
  mcp,
  mcpServer,
  type ServedMcp,
} from "./index.js";
import { listening } from "./testing/http.js";
import { closeAll, factsOf, kept, lastOf, memory, using } from "./testing/world.js";

afterEach(closeAll);

const NOTHING = { type: "object", properties: {} } as const;
const written: Json[] = [];
const write = tool({
  name: "write",
  description: "Writes.",
  input: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  effect: "write",
  approval: ({ text }) => text === "danger",
  run: ({ text }) => {
    written.push(text as Json);
    return { written: text as Json };
  },
});
const picture = tool({
  name: "picture",
  description: "Shows.",
  input: NOTHING,
  effect: "pure",
  run: () =>
    content([
      { type: "text", text: "a point" },
      { type: "file", media: "image/png", data: "AAAA" },
      { type: "file", media: "text/plain", data: Buffer.from("inside").toString("base64"), name: "a://b" },
    ]),
});

/** A tool that asks whoever called it. */
function asking(name: string, question: Signal) {
  const flow = workflow(name, async (session) => {
    const { session: at, value } = await question.call(session);
    return at.append({ type: "message-say", role: "assistant", content: JSON.stringify(value) });
  });
  return moduleTool(flow, { name, description: "Asks.", input: NOTHING });
}

const schema = { type: "object", properties: { age: { type: "integer" } }, required: ["age"] };
const tools = [
  write,
  picture,
  asking("form", clientForm("age", "How old?", schema)),
  asking(
    "think",
    clientModel("thought", {
      messages: [{ role: "user", content: { type: "text", text: "Think." } }],
      maxTokens: 10,
    }),
  ),
  asking("look", clientRoots("places")),
];

async function served(
  options: McpOptions = {},
  more: Partial<McpServerOptions> = {},
): Promise<{ client: McpServer; server: ServedMcp; rath: Rath; host: Rath }> {
  const host = memory();
  const server = kept(mcpServer({ rath: host, tools, store: true, open: true, ...more }));
  const { url } = await listening(server);
  return { client: kept(mcp({ name: "ours", url }, options)), server, rath: memory(), host };
}

async function outcome(
  { client, rath }: { client: McpServer; rath: Rath },
  called: string,
  input: Json = {},
): Promise<Session> {
  const module = using(await client.tools(), { tool: `ours_${called}`, input }, "done");
  return rath.run(module, rath.start("go"));
}

describe("tools", () => {
  it("[S10] a tool is offered as it is; each call is a run that is kept, and can be verified", async () => {
    const world = await served();
    const session = await outcome(world, "write", { text: "hello" });
    expect(lastOf(session, "tool-result").output).toEqual({ written: "hello" });
    expect(lastOf(session, "tool-call").source).toMatchObject({ protocol: "2026-07-28" });
    const definitions = await world.client.definitions();
    expect(Object.fromEntries(definitions.map(({ name, effect }) => [name, effect]))).toMatchObject({
      write: "write",
      picture: "read",
    });
    const store = await world.host.store();
    const [{ name } = { name: "" }] = await store.names({ under: "mcp/write" });
    expect(lastOf(await world.host.load(name), "tool-call")).toMatchObject({
      name: "write",
      effect: "write",
      input: { text: "hello" },
    });
    const again = await outcome(world, "session_verify", { session: name, module: "write" });
    expect(lastOf(again, "tool-result").output).toContain('"same":true');
    expect(written).toEqual(["hello"]);
  });

  it("[S10] what is shown is shown: words, images, files; what does not fit is refused by the tool", async () => {
    const world = await served();
    expect(lastOf(await outcome(world, "picture"), "tool-result").output).toMatchObject({
      type: "content",
      value: [
        { type: "text", text: "a point" },
        { type: "file", media: "image/png", data: "AAAA" },
        { type: "text", text: "inside" },
      ],
    });
    const { url } = await listening(world.server);
    const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "write", arguments: {} } };
    const answer = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: JSON.stringify(body),
    });
    expect(await answer.text()).toContain('"isError":true');
  });

  it("[S10] a tool that must be agreed to waits for that", async () => {
    const world = await served({ elicitation: true }, { by: "user:ada", selfApproval: true });
    const before = written.length;
    const module = using(
      await world.client.tools(),
      { tool: "ours_write", input: { text: "danger" } },
      "done",
    );
    await world.rath.run(module, world.rath.start("go"), { name: "run" });
    expect(JSON.stringify((await world.rath.pending("run"))[0]?.shown)).toContain("danger");
    expect(written).toHaveLength(before);
    await world.rath.signal("run", "mcp:ours", { approved: true }, "user:ada");
    const session = await world.rath.resume("run", module);
    expect(lastOf(session, "tool-result").output).toEqual({ written: "danger" });
    expect(written).toHaveLength(before + 1);
  });
});

describe("what a run asks of its client, in the protocol of 2026", () => {
  it("[S11] a form: an answer that does not fit is asked for again", async () => {
    const world = await served({ elicitation: true });
    const module = using(await world.client.tools(), { tool: "ours_form", input: {} }, "done");
    const { rath } = world;
    await rath.run(module, rath.start("go"), { name: "run" });
    // Our own client looks at answers too: only a stranger's gets through to be refused there.
    await rath.signal("run", "mcp:ours", { action: "accept", content: { age: "old" } }, "user:ada");
    expect((await rath.resume("run", module)).fact.type).toBe("run-suspend");
    expect(JSON.stringify((await rath.pending("run")).at(-1)?.shown)).toContain("problem");
    await rath.signal("run", "mcp:ours", { action: "accept", content: { age: 36 } }, "user:ada");
    const session = await rath.resume("run", module);
    expect(lastOf(session, "tool-result").output).toBe('{"action":"accept","content":{"age":36}}');
  });

  it("[S11] an answer of a client that does not look at it itself is looked at here", async () => {
    const { server } = await served();
    const { url } = await listening(server);
    const options = {
      capabilities: { elicitation: { form: {} } },
      versionNegotiation: { mode: "auto" },
    } as const;
    const client = new Client({ name: "other", version: "1" }, options);
    const asked: string[] = [];
    client.setRequestHandler("elicitation/create", ({ params }) => {
      asked.push(params.message);
      return { action: "accept", content: { age: asked.length === 1 ? "old" : 36 } };
    });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    kept({ close: () => client.close() });
    const result = await client.callTool({ name: "form", arguments: {} });
    expect(asked[1]).toMatch(/^How old\? \(The answer before did not fit: /);
    expect(JSON.stringify(result.content)).toContain("36");
  });

  it("[C12] its model and its roots, which our client tells without a person", async () => {
    const world = await served({
      sampling: { model: scripted("I think.") },
      roots: [{ uri: "file:///srv", name: "srv" }],
    });
    const thought = await outcome(world, "think");
    expect(lastOf(thought, "tool-result").output).toContain("I think.");
    expect(
      factsOf(thought).filter((one) => one.type === "model-call" && one.agent === "mcp:ours"),
    ).toHaveLength(1);
    const looked = await outcome({ ...world, rath: memory() }, "look");
    expect(lastOf(looked, "tool-result").output).toContain("file:///srv");
    await world.client.setRoots([{ uri: "file:///home" }]);
    const again = await outcome({ ...world, rath: memory() }, "look");
    expect(lastOf(again, "tool-result").output).toContain("file:///home");
  });

  it("[S11] a client that cannot help with what only a client knows is told so", async () => {
    const session = await outcome(await served(), "think");
    expect(lastOf(session, "tool-failure").error).toMatchObject({ code: "mcp-answer" });
    expect(JSON.stringify(lastOf(session, "tool-failure").error)).toContain("-32021");
  });
});

describe("prompts and resources", () => {
  it("[S12] they are listed, got and read; a prompt may be made by a module", async () => {
    const writer = workflow("writer", async (session) =>
      session.append({ type: "message-say", role: "assistant", content: "Be brief." }),
    );
    const { client, rath } = await served(
      {},
      {
        prompts: {
          greet: {
            description: "Greets.",
            arguments: { name: { required: true } },
            get: ({ name }) => [{ role: "user", content: [{ type: "text", text: `Greet ${name}.` }] }],
          },
          brief: { description: "Is brief.", module: writer },
        },
        resources: {
          day: { uri: "day://{name}", media: "text/plain", read: (_, { name }) => `It is ${name}.` },
          bytes: { uri: "bytes://one", media: "image/png", read: () => new Uint8Array([1, 2, 3]) },
        },
      },
    );
    const look = workflow("look", async (session) => {
      const listed = await client.listPrompts.call(session);
      const greet = await client.getPrompt.call(listed.session, {
        name: "greet",
        arguments: { name: "Ada" },
      });
      const brief = await client.getPrompt.call(greet.session, { name: "brief" });
      const day = await client.readResource.call(brief.session, { uri: "day://Mon%20day" });
      const bytes = await client.readResource.call(day.session, { uri: "bytes://one" });
      return (await client.listTemplates.call(bytes.session)).session;
    });
    const session = await rath.run(look, rath.start("go"));
    const values = factsOf(session).flatMap((fact) =>
      fact.type === "step-result" ? [JSON.stringify(fact.value)] : [],
    );
    expect(values[0]).toContain('"name":"greet"');
    expect(values[1]).toContain("Greet Ada.");
    expect(values[2]).toContain("Be brief.");
    expect(values[3]).toContain("It is Mon day.");
    expect(values[4]).toContain("AQID");
    expect(values[5]).toContain("day://{name}");
  });

  it("[S9] a client of 2026 that listens is told that a resource is another, and that lists are", async () => {
    const resources = { day: { uri: "day://today", read: () => "Monday" } };
    const { server } = await served({}, { resources });
    const { url } = await listening(server);
    const client = new Client({ name: "other", version: "1" }, { versionNegotiation: { mode: "auto" } });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    kept({ close: () => client.close() });
    const heard: string[] = [];
    client.setNotificationHandler("notifications/resources/updated", ({ params }) => {
      heard.push(params.uri);
    });
    client.setNotificationHandler("notifications/tools/list_changed", () => {
      heard.push("tools");
    });
    await client.listen({ toolsListChanged: true, resourceSubscriptions: ["day://today"] });
    await server.changed("day://tomorrow");
    await server.changed("day://today");
    await server.offer({ tools: [write] });
    await expect.poll(() => heard, { timeout: 10_000 }).toEqual(["day://today", "tools"]);
    expect((await client.listTools()).tools.map(({ name }) => name)).not.toContain("picture");
  });

  it("[S7] what cannot be offered is refused when it is offered", async () => {
    const { server, host } = await served();
    await expect(server.offer({ tools: [write, write] })).rejects.toThrow(/is one already/);
    await expect(server.offer({ tool: [] } as never)).rejects.toThrow(/did you mean "tools"/);
    expect(() => mcpServer({ rath: host, resources: { a: { uri: "nowhere", read: () => "" } } })).toThrow(
      /no address/,
    );
    expect(() => mcpServer({ rath: host, prompts: { a: { description: "" } as never } })).toThrow(
      /neither get/,
    );
  });
});
