import { mkdtempSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { Tool } from "../../agent/tool/index.js";
import { tool } from "../../agent/tool/index.js";
import { openRath, type Rath } from "../../runtime/index.js";
import type { Json } from "../../session/index.js";
import { parallel, signal, step, workflow } from "../../workflow/index.js";
import {
  clientRoots,
  type McpOptions,
  type McpServer,
  type McpServerOptions,
  mcp,
  mcpServer,
} from "./index.js";
import { listening } from "./testing/http.js";
import { closeAll, factsOf, kept, lastOf, memory, using } from "./testing/world.js";

afterEach(closeAll);

const TASKS = "io.modelcontextprotocol/tasks";
const FORM = {
  type: "object",
  properties: { name: { type: "string" }, age: { type: "number" } },
  required: ["name", "age"],
} as const;

/** Things that take their time: `gate` opens them. Each call of `pay` is counted. */
class World {
  payments = 0;
  aborted = 0;
  #open: () => void = () => {};
  readonly gate = new Promise<void>((resolve) => {
    this.#open = resolve;
  });

  open(): void {
    this.#open();
  }

  options(rath: Rath, more: Partial<McpServerOptions> = {}): McpServerOptions {
    const pay = tool({
      name: "pay",
      description: "Pays.",
      input: { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] },
      effect: "write",
      run: async ({ sum }) => {
        this.payments += 1;
        await this.gate;
        return { paid: sum as number };
      },
    });
    const endless = step(
      "endless",
      (_: null, context) =>
        new Promise<Json>((resolve) => {
          context.signal.addEventListener("abort", () => {
            this.aborted += 1;
            resolve("stopped");
          });
        }),
      { effect: "read" },
    );
    const ask = workflow("ask", async (session) => {
      const { session: at, value } = await signal("who", { message: "Who?", schema: FORM }).call(session);
      return at.append({ type: "message-say", role: "assistant", content: JSON.stringify(value) });
    });
    const both = parallel("both", { one: signal("one", "one?"), two: signal("two", "two?") } as never);
    const fails = workflow("fails", async () => {
      throw new Error("no way");
    });
    const rooted = workflow("rooted", async (session) => (await clientRoots("roots").call(session)).session);
    const options = { rath, tools: [pay], modules: { endless: endless as never, ask, both, fails, rooted } };
    return { tasks: true, open: true, by: "user:owner", selfApproval: true, ...options, ...more };
  }
}

async function served(
  world: World,
  rath: Rath,
  options: McpOptions = {},
  more: Partial<McpServerOptions> = {},
): Promise<{ client: McpServer; url: string; tools: readonly Tool[] }> {
  const { url } = await listening(kept(mcpServer(world.options(rath, more))));
  const client = kept(mcp({ name: "ours", url }, { tasks: true, ...options }));
  return { client, url, tools: await client.tools() };
}

type Reply = {
  readonly result: {
    readonly status: string;
    readonly taskId: string;
    readonly inputRequests: object;
    readonly [field: string]: unknown;
  };
  readonly error: { readonly code: number };
};

/** A request as it stands on the wire, from a client with these capabilities. */
async function post(url: string, method: string, params: object, capabilities?: object): Promise<Reply> {
  const { taskId, name } = params as { taskId?: string; name?: string };
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...((taskId ?? name) && { "mcp-name": String(taskId ?? name) }),
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method,
      params: {
        ...params,
        _meta: {
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
          "io.modelcontextprotocol/clientCapabilities": capabilities ?? {
            elicitation: {},
            extensions: { [TASKS]: {} },
          },
        },
      },
    }),
  });
  const text = await response.text();
  const line = text.startsWith("{") ? text : (/^data: (\{.*)$/m.exec(text)?.[1] ?? "{}");
  return JSON.parse(line) as Reply;
}

async function settled(url: string, taskId: string, status: string): Promise<Reply["result"]> {
  for (;;) {
    const { result } = await post(url, "tasks/get", { taskId });
    if (result.status === status) return result;
    if (!["working", "input_required"].includes(result.status)) throw new Error(JSON.stringify(result));
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe("tasks of our server", () => {
  it("[S17] a call is a task for a client that knows tasks, and is read from the record by any process", async () => {
    const world = new World();
    const file = `sqlite:${join(mkdtempSync(join(tmpdir(), "openrath-task-")), "store.db")}`;
    const first = kept(openRath({ store: file }));
    const { url } = await listening(kept(mcpServer(world.options(first))));
    const discovered = await post(url, "server/discover", {});
    expect(discovered.result.capabilities).toMatchObject({ extensions: { [TASKS]: {} } });
    const { result } = await post(url, "tools/call", { name: "pay", arguments: { sum: 5 } });
    expect(result).toMatchObject({ resultType: "task", status: "working", ttlMs: null });
    expect(result).not.toHaveProperty("result");
    const taskId = String(result.taskId);
    expect((await post(url, "tasks/get", { taskId })).result.status).toBe("working");
    world.open();
    const done = await settled(url, taskId, "completed");
    expect(done.result).toMatchObject({ content: [{ text: '{"paid":5}' }] });

    // Another process, which began nothing.
    const second = kept(openRath({ store: file }));
    const other = await listening(kept(mcpServer(new World().options(second))));
    const again = await post(other.url, "tasks/get", { taskId });
    expect(again.result).toEqual(done);
    expect(world.payments).toBe(1);

    expect((await post(url, "tasks/get", { taskId: `${taskId.slice(0, -1)}x` })).error.code).toBe(-32602);
    expect((await post(url, "tasks/get", { taskId: `${taskId}~1` })).error.code).toBe(-32602);
    const stranger = await listening(kept(mcpServer(world.options(second, { by: "user:eve" }))));
    expect((await post(stranger.url, "tasks/get", { taskId })).error.code).toBe(-32602);
    expect((await post(stranger.url, "tasks/cancel", { taskId })).result).toMatchObject({
      resultType: "complete",
    });
  });

  it("[S17] a client that knows no tasks waits for the result, and cannot read tasks", async () => {
    const world = new World();
    world.open();
    const { url } = await listening(kept(mcpServer(world.options(memory()))));
    const plain = await post(url, "tools/call", { name: "pay", arguments: { sum: 5 } }, {});
    expect(plain.result).toMatchObject({ resultType: "complete", content: [{ text: '{"paid":5}' }] });
    for (const method of ["tasks/get", "tasks/update", "tasks/cancel"])
      expect((await post(url, method, { taskId: "x" }, {})).error.code).toBe(-32021);
    expect((await post(url, "tasks/result", { taskId: "x" })).error.code).toBe(-32601);

    const none = world.options(memory(), { tasks: [] });
    const { url: other } = await listening(kept(mcpServer(none)));
    const call = await post(other, "tools/call", { name: "pay", arguments: { sum: 1 } });
    expect(call.result.resultType).toBe("complete");
  });

  it("[S17] a call that failed is a task that is completed with an error for the model", async () => {
    const { url } = await listening(kept(mcpServer(new World().options(memory()))));
    const { result } = await post(url, "tools/call", { name: "fails", arguments: { task: "go" } });
    const done = await settled(url, String(result.taskId), "completed");
    expect(done.result).toMatchObject({ isError: true });
    expect(JSON.stringify(done.result)).toContain("no way");
  });

  it("[S18] a task asks, part by part, again what does not fit, and each time under another key", async () => {
    const { url } = await listening(kept(mcpServer(new World().options(memory()))));
    const answer = (taskId: string, key: string, content: object) =>
      post(url, "tasks/update", { taskId, inputResponses: { [key]: { action: "accept", content } } });
    const both = await post(url, "tools/call", { name: "both", arguments: { task: "go" } });
    const taskId = String(both.result.taskId);
    const asked = await settled(url, taskId, "input_required");
    const [one = "", two = ""] = Object.keys(asked.inputRequests).sort();
    expect((await answer(taskId, one, { value: "1" })).result).toMatchObject({ resultType: "complete" });
    const left = (await post(url, "tasks/get", { taskId })).result;
    expect([left.status, Object.keys(left.inputRequests)]).toEqual(["input_required", [two]]);
    await answer(taskId, one, { value: "again" });
    await answer(taskId, two, { value: "2" });
    await settled(url, taskId, "completed");

    const who = await post(url, "tools/call", { name: "ask", arguments: { task: "go" } });
    const id = String(who.result.taskId);
    const [first = ""] = Object.keys((await settled(url, id, "input_required")).inputRequests);
    await answer(id, first, { name: "Ada", age: "old" });
    const repeated = (await settled(url, id, "input_required")).inputRequests;
    expect(JSON.stringify(repeated)).toContain("did not fit");
    const [second = ""] = Object.keys(repeated);
    expect(second).not.toBe(first);
    await answer(id, second, { name: "Ada", age: 36 });
    expect(JSON.stringify((await settled(url, id, "completed")).result)).toContain("Ada");
  });

  it("[S18] a task that waits or works can be cancelled, and one that is over stays as it is", async () => {
    const world = new World();
    const { url } = await listening(kept(mcpServer(world.options(memory()))));
    for (const name of ["endless", "ask"]) {
      const { result } = await post(url, "tools/call", { name, arguments: { task: "go" } });
      const taskId = String(result.taskId);
      if (name === "ask") await settled(url, taskId, "input_required");
      expect(Object.keys((await post(url, "tasks/cancel", { taskId })).result)).not.toContain("status");
      expect(await settled(url, taskId, "cancelled")).not.toHaveProperty("result");
      await post(url, "tasks/cancel", { taskId });
    }
    expect(world.aborted).toBe(1);
  });

  it("[S18] a task that lacks an ability of the client has failed; one that waits for others works on", async () => {
    const { url } = await listening(kept(mcpServer(new World().options(memory()))));
    const bare = { extensions: { [TASKS]: {} } };
    const { result } = await post(url, "tools/call", { name: "ask", arguments: { task: "go" } }, bare);
    const { taskId } = result;
    await settled(url, taskId, "input_required");
    const seen = (await post(url, "tasks/get", { taskId }, bare)).result;
    expect([seen.status, seen.statusMessage]).toEqual(["working", expect.stringContaining("who")]);
    const rooted = await post(url, "tools/call", { name: "rooted", arguments: { task: "go" } });
    const lacking = (await settled(url, String(rooted.result.taskId), "failed")).error;
    expect(lacking).toMatchObject({ code: -32021, data: { requiredCapabilities: { roots: {} } } });
  });

  it("[S18] a task whose process ended goes on when it is read, and begins nothing anew that was finished", async () => {
    const file = `sqlite:${join(mkdtempSync(join(tmpdir(), "openrath-task-")), "store.db")}`;
    const done: string[] = [];
    const gate = new World();
    const flow = workflow("flow", async (session) => {
      const write = step("write", () => done.push("write"), { effect: "write" });
      const { session: at } = await write.call(session, null);
      const wait = step("wait", () => gate.gate.then(() => done.push("wait")), { effect: "read" });
      return (await wait.call(at, null)).session;
    });
    const started = (rath: Rath) => ({ rath, modules: { flow }, tasks: ["flow"], open: true });
    const first = openRath({ store: file });
    const { url } = await listening(kept(mcpServer(started(first))));
    const { result } = await post(url, "tools/call", { name: "flow", arguments: { task: "go" } });
    await expect.poll(() => done).toEqual(["write"]);
    await first.close();
    const { url: other } = await listening(kept(mcpServer(started(kept(openRath({ store: file }))))));
    const taskId = String(result.taskId);
    expect((await post(other, "tasks/get", { taskId })).result.status).toBe("working");
    gate.open();
    await settled(other, taskId, "completed");
    expect(done.filter((one) => one === "write")).toEqual(["write"]);
  });

  it("[S18] a task whose process ended inside a write goes on too, and its doubt is reconciled", async () => {
    const file = `sqlite:${join(mkdtempSync(join(tmpdir(), "openrath-task-")), "store.db")}`;
    const world = new World();
    let paid = 0;
    const act = async (): Promise<string> => {
      paid += 1;
      await world.gate;
      return "late";
    };
    const pay = step("pay", act, { effect: "write", reconcile: async () => ({ value: "paid" }) });
    const flow = workflow("flow", { pay }, async (session) => {
      const { session: next, value } = await pay.call(session, null);
      return next.say(`It is ${value}.`, { role: "assistant" });
    });
    const started = (rath: Rath) => ({ rath, modules: { flow }, tasks: ["flow"], open: true });
    const first = openRath({ store: file });
    const { url } = await listening(kept(mcpServer(started(first))));
    const { result } = await post(url, "tools/call", { name: "flow", arguments: { task: "go" } });
    const taskId = String(result.taskId);
    await expect.poll(() => paid).toBe(1);
    const working = (await post(url, "tasks/get", { taskId })).result;
    expect([working.status, working.statusMessage]).toEqual(["working", undefined]);
    await first.close();
    const { url: other } = await listening(kept(mcpServer(started(kept(openRath({ store: file }))))));
    expect(JSON.stringify((await settled(other, taskId, "completed")).result)).toContain("It is paid.");
    expect(paid).toBe(1);
    world.open();
  });
});

describe("tasks of a server, as a client", () => {
  it("[C15] a task is recorded before it is waited for: a run that is resumed waits for the same one", async () => {
    const world = new World();
    const served_ = memory();
    const { url, tools } = await served(world, served_);
    const file = `sqlite:${join(mkdtempSync(join(tmpdir(), "openrath-task-")), "store.db")}`;
    const first = kept(openRath({ store: file }));
    const calls = using(tools, { tool: "ours_pay", input: { sum: 7 } }, "done");
    const recorded = new Promise<void>((resolve) => {
      first.observe((event) => {
        const fact = event.kind === "fact" ? event.session.fact : undefined;
        if (fact?.type === "step-result" && JSON.stringify(fact.value).includes("mcp/pay/")) resolve();
      });
    });
    void first.run(calls, first.start("go"), { name: "n" }).catch(() => {});
    await recorded;
    // The process is gone, as far as the store and the server can tell.
    await first.close();
    const second = kept(openRath({ store: file }));
    const other = kept(mcp({ name: "ours", url }, { tasks: true }));
    const again = using(await other.tools(), { tool: "ours_pay", input: { sum: 7 } }, "done");
    world.open();
    const session = await second.resume("n", again);
    expect(lastOf(session, "tool-result").output).toEqual({ paid: 7 });
    expect(world.payments).toBe(1);
    await other.close();
    expect((await second.replay("n", again, { mode: "verify" })).id).toBe(session.id);
  });

  it("[C16] a task asks a person, whose answer may come in another process; one that is cancelled is cancelled there", async () => {
    const world = new World();
    const { tools } = await served(world, memory(), { elicitation: true });
    const rath = memory();
    const asks = using(tools, { tool: "ours_ask", input: { task: "go" } }, "done");
    await rath.run(asks, rath.start("go"), { name: "n" });
    const [pending] = await rath.pending("n");
    expect(pending?.shown).toMatchObject({ server: "ours", message: "Who?" });
    await rath.answer("n", pending?.id as string, { name: "Ada", age: 36 }, "user:ada");
    const session = await rath.resume("n", asks);
    expect(String(lastOf(session, "tool-result").output)).toContain("Ada");

    const controller = new AbortController();
    const endless = using(tools, { tool: "ours_endless", input: { task: "go" } }, "done");
    rath.observe((event) => {
      const fact = event.kind === "fact" ? event.session.fact : undefined;
      if (fact?.type === "step-result" && JSON.stringify(fact.value).includes("mcp/endless/"))
        setTimeout(() => controller.abort(new Error("enough")), 50);
    });
    await expect(
      rath.run(endless, rath.start("go"), { name: "m", signal: controller.signal }),
    ).rejects.toMatchObject({ code: "cancelled" });
    await expect.poll(() => world.aborted, { timeout: 10_000 }).toBe(1);
  });

  it("[C16] a task that takes longer than it may fails", async () => {
    const { tools } = await served(new World(), memory(), { task: 300 });
    const rath = memory();
    const session = await rath.run(
      using(tools, { tool: "ours_endless", input: { task: "go" } }, "done"),
      rath.start("go"),
    );
    expect(lastOf(session, "tool-failure").error.code).toBe("mcp-timeout");
  });

  it("[C16] a task is read again when its server was gone for a while", async () => {
    const world = new World();
    const ours = kept(mcpServer(world.options(memory())));
    const { url, http } = await listening(ours);
    const client = kept(mcp({ name: "ours", url }, { tasks: true }));
    const rath = memory();
    const running = rath.run(
      using(await client.tools(), { tool: "ours_pay", input: { sum: 3 } }, "done"),
      rath.start("go"),
    );
    await expect.poll(() => world.payments).toBe(1);
    await new Promise((resolve) => {
      http.close(resolve);
      http.closeAllConnections();
    });
    world.open();
    await new Promise((resolve) => setTimeout(resolve, 700));
    await listening(ours, Number(new URL(url).port));
    expect(lastOf(await running, "tool-result").output).toEqual({ paid: 3 });
    expect(world.payments).toBe(1);
  });

  it("[C17] a task of a server of 2025 is waited for, and its questions are asked", async () => {
    const program = createRequire(import.meta.url).resolve(
      "@modelcontextprotocol/server-everything/dist/index.js",
    );
    const server = kept(
      mcp({ name: "all", command: process.execPath, args: [program] }, { tasks: true, elicitation: true }),
    );
    const rath = memory();
    const tools = await server.tools();
    const research = using(
      tools,
      { tool: "all_simulate-research-query", input: { topic: "python", ambiguous: true } },
      "done",
    );
    await rath.run(research, rath.start("go"), { name: "n" });
    const [pending] = await rath.pending("n");
    expect(JSON.stringify(pending?.shown)).toContain("multiple interpretations");
    const { schema } = Object(pending?.shown) as {
      schema: { properties: { interpretation: { oneOf: { const: string }[] } } };
    };
    const choices = schema.properties.interpretation.oneOf;
    await rath.answer("n", pending?.id as string, { interpretation: choices[0]?.const ?? "" }, "user:ada");
    const session = await rath.resume("n", research);
    const report = String(lastOf(session, "tool-result").output);
    expect(report).toContain("Research Report: python");
    expect(report).toContain(choices[0]?.const);
    const steps = factsOf(session).flatMap((fact) => (fact.type === "step-result" ? [fact.value] : []));
    expect(steps[0]).toMatchObject({ task: { id: expect.any(String) } });
  });
});

describe("a resource that changes", () => {
  for (const era of ["modern", "legacy"] as const)
    it(`[C18] is waited for, and its new version is a fact of the session (${era})`, async () => {
      let text = "one";
      const ours = kept(
        mcpServer({
          rath: memory(),
          open: true,
          resources: { note: { uri: "note://day", read: () => text } },
        }),
      );
      const { url } = await listening(
        era === "modern"
          ? ours
          : {
              fetch: async (request) =>
                (await isModern(request)) ? new Response("", { status: 400 }) : ours.fetch(request),
            },
      );
      const server = kept(mcp({ name: "notes", url }));
      const rath = memory();
      const flow = workflow("watch", async (session) => {
        const { session: at, value: first } = await server.awaitResource.call(session, { uri: "note://day" });
        const { session: next } = await server.awaitResource.call(at, {
          uri: "note://day",
          after: first.digest,
        });
        return (await server.awaitResource.call(next, { uri: "note://day", after: first.digest, wait: 1 }))
          .session;
      });
      rath.observe((event) => {
        if (event.kind !== "fact" || event.session.fact.type !== "step-result" || text !== "one") return;
        text = "two";
        setTimeout(() => void ours.changed("note://day"), 100);
      });
      const session = await rath.run(flow, rath.start("go"));
      const values = factsOf(session).flatMap((fact) => (fact.type === "step-result" ? [fact.value] : []));
      expect(values).toMatchObject([
        { changed: false, contents: [{ text: "one" }] },
        { changed: true, contents: [{ text: "two" }] },
        { changed: true, contents: [{ text: "two" }] },
      ]);
      expect((await server.pin()).protocol).toBe(era === "modern" ? "2026-07-28" : "2025-11-25");
      await server.close();
      expect((await rath.replay(session.id, flow, { mode: "verify" })).id).toBe(session.id);
    });

  it("[C18] that stays the same is given as it is when the time is over, to a model as well", async () => {
    const ours = kept(
      mcpServer({
        rath: memory(),
        open: true,
        resources: { note: { uri: "note://day", read: () => "same" } },
      }),
    );
    const { url } = await listening(ours);
    const server = kept(mcp({ name: "notes", url }, { deadline: 300 }));
    const rath = memory();
    const input = { uri: "note://day" };
    const first = await rath.run(
      using(server.resourceTools(), { tool: "notes_await_resource", input }, "done"),
      rath.start("go"),
    );
    const { digest } = lastOf(first, "tool-result").output as { digest: string };
    const second = await rath.run(
      using(
        server.resourceTools(),
        { tool: "notes_await_resource", input: { ...input, after: digest } },
        "done",
      ),
      rath.start("go"),
    );
    expect(lastOf(second, "tool-result").output).toMatchObject({ digest, changed: false });
  });
});

async function isModern(request: Request): Promise<boolean> {
  return (await request.clone().text()).includes("io.modelcontextprotocol/protocolVersion");
}
