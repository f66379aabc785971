import { createServer, type Server as HttpServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { agent } from "../../agent/index.js";
import { scripted } from "../../agent/model/index.js";
import type { Tool } from "../../agent/tool/index.js";
import type { Rath } from "../../runtime/index.js";
import type { Json, Session } from "../../session/index.js";
import { approve, step, workflow } from "../../workflow/index.js";
import {
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

/** Modules to serve: one that answers, one that must be agreed to, one that takes its time, one that fails. */
function served(rath: Rath, more: Partial<McpServerOptions> = {}): ServedMcp {
  const greet = agent({
    name: "greet",
    description: "Greets.",
    model: scripted(({ length }) => `Hello after ${length} messages.`),
  });
  const consent = approve("consent", { pay: 130 });
  const pay = workflow("pay", { consent }, async (session, parts) => {
    const asked = await parts.consent.call(session);
    return asked.session.say(asked.approved ? "paid" : `not paid: ${asked.why ?? ""}`, {
      role: "assistant",
    } as never);
  });
  const slow = step(
    "slow",
    (_: null, { signal }) =>
      new Promise((resolve) => {
        signal.addEventListener("abort", () => resolve("stopped"));
      }),
    { effect: "read" },
  );
  const fails = workflow("fails", async () => {
    throw new Error("no way");
  });
  return kept(
    mcpServer({
      rath,
      modules: { greet, pay, slow: slow as never, fails },
      store: true,
      open: true,
      by: "user:owner",
      selfApproval: true,
      ...more,
    }),
  );
}

async function connected(
  rath: Rath,
  options: McpOptions = {},
  more: Partial<McpServerOptions> = {},
): Promise<{ client: McpServer; http: HttpServer; tools: Tool[] }> {
  const { url, http } = await listening(served(rath, more));
  const client = kept(
    mcp({ name: "ours", url, headers: { authorization: () => "Bearer canary-in-a-header" } }, options),
  );
  return { client, http, tools: await client.tools() };
}

const outputs = (session: Session): readonly Json[] =>
  factsOf(session).flatMap((fact) => (fact.type === "tool-result" ? [fact.output] : []));

describe("our server with our client over HTTP", () => {
  it("[S1] a module is a tool: its answer comes with the session, which goes on when it is named", async () => {
    const rath = memory();
    const { tools } = await connected(rath);
    const session = await rath.run(
      using(tools, { tool: "ours_greet", input: { task: "hi" } }, "ok"),
      rath.start("go"),
    );
    const [first] = outputs(session);
    expect(first).toContain("Hello after 1 messages.");
    expect(lastOf(session, "tool-call").source).toMatchObject({ mcp: "ours", protocol: "2026-07-28" });
    const { run, session: id } = JSON.parse(String(first).split("\n").at(-1) ?? "") as {
      run: string;
      session: string;
    };
    expect((await rath.load(run)).id).toBe(id);
    const next = await rath.run(
      using(tools, { tool: "ours_greet", input: { task: "again", session: id } }, "ok"),
      rath.start("go"),
    );
    expect(outputs(next)[0]).toContain("Hello after 3 messages.");
    expect(JSON.stringify([factsOf(session), factsOf(next)])).not.toContain("canary");
  });

  it("[S2] what fails is a result that says so", async () => {
    const rath = memory();
    const { tools } = await connected(rath);
    const session = await rath.run(
      using(tools, { tool: "ours_fails", input: { task: "x" } }, "ok"),
      rath.start("go"),
    );
    expect(lastOf(session, "tool-failure").error).toMatchObject({
      code: "tool-reported-failure",
      message: expect.stringContaining("no way"),
    });
  });

  it("[S3] sessions are listed, shown, forked, replayed and verified, as tools and as resources", async () => {
    const rath = memory();
    const { client, tools } = await connected(rath);
    const session = await rath.run(
      using(
        tools,
        { tool: "ours_greet", input: { task: "hi" } },
        { tool: "ours_session_list", input: { under: "mcp" } },
        "ok",
      ),
      rath.start("go"),
    );
    const [{ name } = { name: "" }] = JSON.parse(String(outputs(session)[1])) as { name: string }[];
    expect(name).toMatch(/^mcp\/greet\//);
    const more = await rath.run(
      using(
        tools,
        { tool: "ours_session_show", input: { session: name } },
        { tool: "ours_session_fork", input: { session: name, branch: "other", name: "kept" } },
        { tool: "ours_session_replay", input: { session: name, module: "greet" } },
        { tool: "ours_session_verify", input: { session: name, module: "greet" } },
        { tool: "ours_session_verify", input: { session: name, module: "fails" } },
        { tool: "ours_session_show", input: { session: "nobody" } },
        "ok",
      ),
      rath.start("go"),
    );
    const values = outputs(more).map((one) => JSON.parse(String(one)) as { [field: string]: Json });
    expect(values[0]).toMatchObject({ status: "finished", pending: [] });
    expect((await rath.load("kept")).fact).toMatchObject({ type: "branch-fork", by: "user:owner" });
    expect(values.slice(2, 5).map(({ same }) => same)).toEqual([true, true, false]);
    expect(lastOf(more, "tool-failure").error.message).toContain("nobody");
    const flow = workflow("read", async (at) => {
      const found = await client.listResources.call(at);
      const one = (found.value as { uri: string; name: string }[]).find((resource) => resource.name === name);
      return (await client.readResource.call(found.session, { uri: one?.uri ?? "" })).session;
    });
    const read = await rath.run(flow, rath.start("go"));
    expect(JSON.stringify(lastOf(read, "step-result").value)).toContain("Hello after 1 messages.");
  });

  it("[S4] an approval that waits is asked of the client's person, and covers what was shown", async () => {
    const rath = memory();
    const { tools, http } = await connected(rath, { elicitation: true });
    const module = using(tools, { tool: "ours_pay", input: { task: "pay" } }, "ok");
    await rath.run(module, rath.start("go"), { name: "payment" });
    const [asked] = await rath.pending("payment");
    expect(JSON.stringify(asked?.shown)).toContain("130");
    await rath.signal("payment", "mcp:ours", { action: "accept", content: { approved: true } }, "user:ada");
    const session = await rath.resume("payment", module);
    expect(outputs(session)[0]).toContain("paid");
    expect(outputs(session)[0]).not.toContain("not paid");
    http.closeAllConnections();
    http.close();
    expect((await rath.replay("payment", module, { mode: "verify" })).id).toBe(session.id);
  });

  it("[S4] a no is a no, and whoever cannot ask is told what waits", async () => {
    const rath = memory();
    const { tools } = await connected(rath, { elicitation: true });
    const module = using(tools, { tool: "ours_pay", input: { task: "pay" } }, "ok");
    await rath.run(module, rath.start("go"), { name: "payment" });
    await rath.signal("payment", "mcp:ours", { action: "decline" }, "user:ada");
    expect(outputs(await rath.resume("payment", module))[0]).toContain("not paid");
    const { tools: deaf } = await connected(rath);
    const session = await rath.run(
      using(deaf, { tool: "ours_pay", input: { task: "pay" } }, "ok"),
      rath.start("go"),
    );
    expect(outputs(session)[0]).toMatch(/It waits for somebody:\n- approval: \{"pay":130\}/);
  });

  it("[S5] progress is told, and a call that is cancelled cancels the run", async () => {
    const rath = memory();
    const { tools } = await connected(rath);
    const heard: string[] = [];
    rath.observe((event) => {
      if (event.kind === "delta") heard.push(JSON.stringify(event.delta));
    });
    await rath.run(using(tools, { tool: "ours_greet", input: { task: "hi" } }, "ok"), rath.start("go"));
    expect(heard.join("\n")).toContain("model-reply");
    const controller = new AbortController();
    const began = new Promise<void>((resolve) => {
      rath.observe((event) => {
        if (event.kind === "fact" && event.session.fact.type === "step-call") resolve();
      });
    });
    const running = rath.run(
      using(tools, { tool: "ours_slow", input: { task: "x" } }, "ok"),
      rath.start("go"),
      {
        signal: controller.signal,
      },
    );
    running.catch(() => {});
    await began;
    controller.abort();
    await expect(running).rejects.toThrow();
    await expect.poll(async () => (await rath.unfinished()).length, { timeout: 10_000 }).toBe(0);
  });

  it("[S6] a name or a page of a stranger is refused", async () => {
    const { url } = await listening(served(memory()));
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
    const post = (headers: { [name: string]: string }): Promise<number> =>
      new Promise((resolve, reject) => {
        void import("node:http").then(({ request }) => {
          const sent = request(
            url,
            {
              method: "POST",
              headers: {
                "content-type": "application/json",
                accept: "application/json, text/event-stream",
                ...headers,
              },
            },
            (response) => {
              response.resume();
              resolve(response.statusCode ?? 0);
            },
          );
          sent.on("error", reject);
          sent.end(body);
        });
      });
    expect(await post({})).toBe(200);
    expect(await post({ host: "evil.example" })).toBe(403);
    expect(await post({ host: "127.0.0.1.evil.example" })).toBe(403);
    expect(await post({ origin: "https://evil.example" })).toBe(403);
    expect(await post({ origin: "null" })).toBe(403);
  });

  it("[S7] what cannot be served is refused when it is made", () => {
    const rath = memory();
    expect(() => mcpServer({ rath, modules: { "a b": workflow("x", async (one) => one) } })).toThrow(
      /name of a tool/,
    );
    expect(() => mcpServer({ rath, modules: { a: {} as never } })).toThrow(/not a module/);
    expect(() => mcpServer({ rath, module: {} } as never)).toThrow(/did you mean "modules"/);
  });
});

describe("HTTP", () => {
  it("[H1] a server that is gone is unreachable, and one that comes back is reached again", async () => {
    const rath = memory();
    const server = served(rath);
    const { url, http } = await listening(server);
    const client = kept(mcp({ name: "ours", url }, { deadline: 3_000, connect: 3_000 }));
    const module = using(await client.tools(), { tool: "ours_session_list", input: {} }, "ok");
    expect(outputs(await rath.run(module, rath.start("go")))).toHaveLength(1);
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
    const failed = await rath.run(module, rath.start("go"));
    expect(lastOf(failed, "tool-failure").error.code).toMatch(/^mcp-(unreachable|lost)$/);
    await listening(server, Number(new URL(url).port));
    expect(outputs(await rath.run(module, rath.start("go")))).toHaveLength(1);
  });

  it.each<
    [
      string,
      (request: IncomingMessage) => { type: string; body: AsyncIterable<string> | string; status?: number },
      string,
    ]
  >([
    [
      "an endless body",
      () => ({ type: "application/json", body: endless("x".repeat(65_536)) }),
      "mcp-unreachable",
    ],
    [
      "an endless event",
      () => ({ type: "text/event-stream", body: endless("data: x\ndata: y\n".repeat(4_000)) }),
      "mcp-unreachable",
    ],
    [
      "a flood of events",
      () => ({ type: "text/event-stream", body: endless("data: {}\n\n".repeat(4_000)) }),
      "mcp-unreachable",
    ],
    ["silence", () => ({ type: "application/json", body: silence() }), "mcp-unreachable"],
    ["words", () => ({ type: "text/html", body: "<h1>hello</h1>" }), "mcp-unreachable"],
    ["a refusal", () => ({ type: "text/plain", body: "no", status: 500 }), "mcp-unreachable"],
  ])("[H2] %s: a failure in time", async (_name, answer, code) => {
    const http = createServer((request, response) => {
      const { type, body, status = 200 } = answer(request);
      response.writeHead(status, { "content-type": type });
      const gone: ((value: unknown) => void)[] = [];
      response.on("error", () => {});
      response.once("close", () => {
        for (const resolve of gone) resolve(undefined);
      });
      void (async () => {
        for await (const piece of typeof body === "string" ? [body] : body) {
          if (response.destroyed) return;
          if (!response.write(piece))
            await new Promise((resolve) => gone.push(resolve) && response.once("drain", resolve));
        }
        response.end();
      })();
    });
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
    kept({
      close: async () => {
        http.closeAllConnections();
        http.close();
      },
    });
    const { port } = http.address() as AddressInfo;
    const client = kept(
      mcp(
        { name: "evil", url: `http://127.0.0.1:${port}/` },
        { connect: 3_000, frame: 500_000, burst: 1_000 },
      ),
    );
    await expect(client.tools()).rejects.toMatchObject({ code });
  });
});

async function* endless(piece: string): AsyncGenerator<string> {
  for (;;) yield piece;
}

async function* silence(): AsyncGenerator<string> {
  await new Promise((resolve) => setTimeout(resolve, 20_000).unref());
  yield "";
}
