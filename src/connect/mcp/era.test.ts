import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  ElicitRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { afterEach, describe, expect, it } from "vitest";
import { scripted } from "../../agent/model/index.js";
import { tool } from "../../agent/tool/index.js";
import { approve, workflow } from "../../workflow/index.js";
import { mcp, mcpServer, type ServedMcp } from "./index.js";
import { listening } from "./testing/http.js";
import { oldServer } from "./testing/old-server.js";
import { closeAll, factsOf, kept, lastOf, memory, using } from "./testing/world.js";

afterEach(closeAll);

describe("our client and a server of 2025 by HTTP", () => {
  it("[C9] calls, progress, resources, and roots that it asks for", async () => {
    const { url } = await oldServer();
    const server = kept(mcp({ name: "old", url }, { roots: [{ uri: "file:///srv", name: "srv" }] }));
    const rath = memory();
    const heard: string[] = [];
    rath.observe((event) => {
      if (event.kind === "delta") heard.push(JSON.stringify(event.delta));
    });
    const session = await rath.run(
      using(
        [...(await server.tools()), ...server.resourceTools()],
        { tool: "old_add", input: { a: 2, b: 3 } },
        { tool: "old_slow", input: {} },
        { tool: "old_look", input: {} },
        { tool: "old_read_resource", input: { uri: "note://one" } },
        "done",
      ),
      rath.start("go"),
    );
    const outputs = factsOf(session).flatMap((fact) => (fact.type === "tool-result" ? [fact.output] : []));
    expect(outputs[0]).toBe("5");
    expect(JSON.stringify(outputs[2])).toContain("file:///srv");
    expect(JSON.stringify(outputs[3])).toContain("a note");
    expect(heard.filter((delta) => delta.includes("mcp-progress"))).toHaveLength(3);
    expect(factsOf(session).find(({ type }) => type === "tool-call")).toMatchObject({
      source: { mcp: "old", protocol: "2025-11-25" },
    });
  });

  it("[C9] a question is pending until somebody answers, and the call is made once", async () => {
    const { url, calls } = await oldServer();
    const server = kept(mcp({ name: "old", url }, { elicitation: true }));
    const rath = memory();
    const module = using(await server.tools(), { tool: "old_ask", input: {} }, "done");
    await rath.run(module, rath.start("go"), { name: "ask" });
    expect((await rath.pending("ask"))[0]?.shown).toMatchObject({ message: "Who are you?" });
    await rath.signal("ask", "mcp:old", { action: "accept", content: { name: "Ada" } }, "user:ada");
    const session = await rath.resume("ask", module);
    expect(lastOf(session, "tool-result").output).toContain("Ada");
    expect(calls).toEqual(["ask"]);
    await server.close();
    expect((await rath.replay("ask", module, { mode: "verify" })).id).toBe(session.id);
  });

  it("[C9] a session that the server has forgotten is begun anew", async () => {
    const { url, forget } = await oldServer();
    const server = kept(mcp({ name: "old", url }));
    const rath = memory();
    const module = using(await server.tools(), { tool: "old_add", input: { a: 2, b: 3 } }, "done");
    forget();
    expect(lastOf(await rath.run(module, rath.start("go")), "tool-result").output).toBe("5");
  });
});

describe("our server and a client of 2025 by HTTP", () => {
  const consent = approve("consent", { pay: 130 });
  const pay = workflow("pay", { consent }, async (session, parts) => {
    const asked = await parts.consent.call(session);
    const content = asked.approved ? "It is paid." : "It is refused.";
    return asked.session.append({ type: "message-say", role: "assistant", content });
  });
  const count = tool({
    name: "count",
    description: "Counts.",
    input: { type: "object", properties: { to: { type: "integer" } }, required: ["to"] },
    effect: "pure",
    run: ({ to }, { emit }) => {
      emit(`to ${to}`);
      return { counted: to as number };
    },
  });

  async function client(): Promise<{ client: Client; server: ServedMcp; heard: string[] }> {
    const resources = { day: { uri: "day://today", read: () => "Monday" } };
    const server = kept(
      mcpServer({
        rath: memory(),
        open: true,
        by: "user:ada",
        selfApproval: true,
        modules: { pay },
        tools: [count],
        resources,
      }),
    );
    const { url } = await listening(server);
    const one = new Client({ name: "other", version: "1" }, { capabilities: { elicitation: {} } });
    const heard: string[] = [];
    one.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      heard.push(params.message);
      return { action: "accept" as const, content: { approved: true } };
    });
    one.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
      heard.push(`updated ${params.uri}`);
    });
    one.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      heard.push("other tools");
    });
    one.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
      heard.push(`log ${String(params.data)}`);
    });
    await one.connect(new StreamableHTTPClientTransport(new URL(url)) as never);
    kept({ close: () => one.close() });
    return { client: one, server, heard };
  }

  it("[S8] it is asked for an approval on its session, told what a tool says on the way, and how far it is", async () => {
    const { client: one, heard } = await client();
    const paid = await one.callTool({ name: "pay", arguments: { task: "pay" } });
    expect(heard.join()).toContain("130");
    expect(JSON.stringify(paid.content)).toContain("It is paid.");
    await one.setLoggingLevel("info");
    const steps: number[] = [];
    const counted = await one.callTool({ name: "count", arguments: { to: 3 } }, undefined, {
      onprogress: ({ progress }) => steps.push(progress),
    });
    expect(counted.structuredContent).toEqual({ counted: 3 });
    expect(steps.length).toBeGreaterThan(2);
    expect(heard).toContain("log to 3");
    expect((await one.callTool({ name: "count", arguments: { to: "three" } })).isError).toBe(true);
  });

  it("[S9] it is told that a resource it subscribed to is another, and that the tools are", async () => {
    const { client: one, server, heard } = await client();
    await server.changed("day://today");
    await one.subscribeResource({ uri: "day://today" });
    await server.changed("day://today");
    await expect.poll(() => heard, { timeout: 10_000 }).toEqual(["updated day://today"]);
    await one.unsubscribeResource({ uri: "day://today" });
    await server.changed("day://today");
    await server.offer({ tools: [] });
    await expect.poll(() => heard, { timeout: 10_000 }).toEqual(["updated day://today", "other tools"]);
    const names = (await one.listTools()).tools.map(({ name }) => name);
    expect(names).toContain("pay");
    expect(names).not.toContain("count");
  });

  it("[S8] an id of a session that nobody has is not found, and one that was ended is not either", async () => {
    const { client: one, server } = await client();
    const { sessionId } = one.transport as StreamableHTTPClientTransport;
    expect(sessionId).toMatch(/^[0-9a-f-]{36}$/);
    const ask = async (id: string): Promise<number> => {
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
      const headers = {
        host: "127.0.0.1",
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-session-id": id,
      };
      const answer = await server.fetch(
        new Request("http://127.0.0.1/mcp", { method: "POST", headers, body }),
      );
      await answer.body?.cancel();
      return answer.status;
    };
    expect(await ask(String(sessionId))).toBe(200);
    expect(await ask("00000000-0000-0000-0000-000000000000")).toBe(404);
    await (one.transport as StreamableHTTPClientTransport).terminateSession();
    expect(await ask(String(sessionId))).toBe(404);
  });
});

describe("sampling", () => {
  const think = (times: number) => ({ tool: "old_think", input: { times } }) as const;

  it("[C6] it is a call of a model on the record, and a replay needs neither server nor model", async () => {
    const { url } = await oldServer();
    const sampling = { model: scripted("I am a model.") };
    const server = kept(mcp({ name: "old", url }, { sampling }));
    const rath = memory();
    const module = using(await server.tools(), think(2), "done");
    const session = await rath.run(module, rath.start("go"));
    expect(lastOf(session, "tool-result").output).toBe(
      JSON.stringify(Array(2).fill({ type: "text", text: "I am a model." })),
    );
    const asked = factsOf(session).filter((fact) => fact.type === "model-call" && fact.agent === "mcp:old");
    expect(asked).toHaveLength(2);
    await server.close();
    expect((await rath.replay(session.id, module, { mode: "verify" })).id).toBe(session.id);
  });

  it("[C10] a call that asks the model more often than it may fails, and the server is told", async () => {
    const { url, calls } = await oldServer();
    const sampling = { model: scripted("one", "two", "three"), most: 2 };
    const server = kept(mcp({ name: "old", url }, { sampling }));
    const rath = memory();
    const session = await rath.run(using(await server.tools(), think(5), "done"), rath.start("go"));
    expect(lastOf(session, "tool-failure").error).toMatchObject({ code: "mcp-sampling" });
    expect(calls).toHaveLength(3);
  });

  it("[C11] what a server asks a model for is charged to the budget, and not asked when it does not fit", async () => {
    const { url, calls } = await oldServer();
    const model = scripted("one", "two", "three");
    const server = kept(mcp({ name: "old", url }, { sampling: { model, most: 100 } }));
    const rath = memory();
    const caller = using(await server.tools(), think(50), "done");
    const running = rath.run(caller, rath.start("go"), { budget: { steps: 4 } });
    const session = await running.catch((error: { session?: never }) => error.session);
    expect(factsOf(session as never).some(({ type }) => type === "budget-stop")).toBe(true);
    // One step is the caller's own; the fourth question did not fit any more.
    expect(calls.length).toBeLessThanOrEqual(4);
  });
});
