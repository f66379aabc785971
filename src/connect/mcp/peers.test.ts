import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { scripted } from "../../agent/model/index.js";
import type { Json } from "../../session/index.js";
import { workflow } from "../../workflow/index.js";
import { type McpOptions, type McpServer, mcp } from "./index.js";
import { closeAll, factsOf, kept, lastOf, memory, using } from "./testing/world.js";

afterEach(closeAll);

const require = createRequire(import.meta.url);
const programs = {
  everything: require.resolve("@modelcontextprotocol/server-everything/dist/index.js"),
  filesystem: require.resolve("@modelcontextprotocol/server-filesystem/dist/index.js"),
  memory: require.resolve("@modelcontextprotocol/server-memory/dist/index.js"),
};

function peer(
  name: keyof typeof programs,
  args: readonly string[] = [],
  options: McpOptions = {},
  env = {},
): McpServer {
  return kept(mcp({ name, command: process.execPath, args: [programs[name], ...args], env }, options));
}

describe("real servers", () => {
  it("[C13] what a server says of itself is believed by policies only if somebody vouches for it", async () => {
    const folder = mkdtempSync(join(tmpdir(), "openrath-mcp-"));
    const readOf = async (more: object) => {
      const tools = await peer("filesystem", [folder], more).tools();
      return tools.find(({ name }) => name === "filesystem_read_text_file");
    };
    const stranger = await readOf({});
    expect(stranger).toMatchObject({ effect: "read", presumed: "write" });
    expect(stranger?.source).not.toHaveProperty("trusted");
    const trusted = await readOf({ trusted: true });
    expect(trusted?.presumed).toBe(undefined);
    expect(trusted?.source).toMatchObject({ trusted: true });
    expect((await readOf({ settings: { read_text_file: { effect: "read" } } }))?.presumed).toBe(undefined);
    expect(() => mcp({ name: "x", command: "x" }, { trusted: "yes" as never })).toThrow(
      "its `trusted` must be a boolean",
    );
  });

  it("[C1] files: read and written, with the effects that the server declares", async () => {
    const folder = mkdtempSync(join(tmpdir(), "openrath-mcp-"));
    writeFileSync(join(folder, "a.txt"), "alpha");
    const server = peer("filesystem", [folder]);
    const tools = await server.tools();
    expect(await server.refused()).toEqual([]);
    const effects = Object.fromEntries(tools.map(({ name, effect }) => [name, effect]));
    expect(effects).toMatchObject({ filesystem_read_text_file: "read", filesystem_write_file: "idempotent" });
    const rath = memory();
    const session = await rath.run(
      using(
        tools,
        { tool: "filesystem_read_text_file", input: { path: join(folder, "a.txt") } },
        { tool: "filesystem_write_file", input: { path: join(folder, "b.txt"), content: "beta" } },
        { tool: "filesystem_read_text_file", input: { path: "/etc/passwd" } },
        "done",
      ),
      rath.start("go"),
    );
    expect(readFileSync(join(folder, "b.txt"), "utf8")).toBe("beta");
    expect(JSON.stringify(factsOf(session).find(({ type }) => type === "tool-result"))).toContain("alpha");
    expect(lastOf(session, "tool-failure").error.code).toBe("tool-reported-failure");
    expect(lastOf(session, "tool-call").source).toMatchObject({
      mcp: "filesystem",
      protocol: "2025-11-25",
      tool: "read_text_file",
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  it("[C2] a memory: what was written is there, and a replay with the server gone ends in the same id", async () => {
    const file = join(mkdtempSync(join(tmpdir(), "openrath-mcp-")), "memory.json");
    const server = peer("memory", [], {}, { MEMORY_FILE_PATH: file });
    const pin = await server.pin();
    const entities = [{ name: "Ada", entityType: "person", observations: ["wrote the first program"] }];
    const module = using(
      await server.tools(),
      { tool: "memory_create_entities", input: { entities } },
      { tool: "memory_read_graph", input: {} },
      "done",
    );
    const rath = memory();
    const session = await rath.run(module, rath.start("go"));
    expect(JSON.stringify(lastOf(session, "tool-result").output)).toContain("wrote the first program");
    await server.close();
    // Tools of a pin need no server: this one would not even start.
    const gone = kept(
      mcp({ name: "memory", command: "/no/such/program" }, { pin: JSON.parse(JSON.stringify(pin)) }),
    );
    const again = using(
      await gone.tools(),
      { tool: "memory_create_entities", input: { entities } },
      { tool: "memory_read_graph", input: {} },
      "done",
    );
    expect((await rath.replay(session.id, again, { mode: "verify" })).id).toBe(session.id);
  });

  it("[C3] resources and prompts are steps, and tools that are found on the way are on the record", async () => {
    const server = peer("everything");
    const flow = workflow("look", async (session) => {
      const listed = await server.listResources.call(session);
      const [first] = listed.value as { uri: string }[];
      const read = await server.readResource.call(listed.session, { uri: first?.uri ?? "" });
      const templates = await server.listTemplates.call(read.session);
      const prompts = await server.listPrompts.call(templates.session);
      const prompt = await server.getPrompt.call(prompts.session, { name: "simple-prompt" });
      const found = await server.discover.call(prompt.session);
      const tools = server.toolsFrom(found.value);
      return using(
        tools,
        { tool: "everything_echo", input: { message: "hello" } },
        { tool: "everything_get-tiny-image", input: {} },
        { tool: "everything_get-structured-content", input: { location: "Chicago" } },
        "done",
      ).forward(found.session);
    });
    const rath = memory();
    const session = await rath.run(flow, rath.start("go"));
    const outputs = factsOf(session).flatMap((fact) => (fact.type === "tool-result" ? [fact.output] : []));
    expect(outputs[0]).toBe("Echo: hello");
    expect(outputs[1]).toMatchObject({ type: "content" });
    expect(outputs[2]).toMatchObject({ conditions: expect.any(String) });
    const values = factsOf(session).flatMap((fact) => (fact.type === "step-result" ? [fact.value] : []));
    expect((values[0] as Json[]).length).toBeGreaterThan(0);
    expect(JSON.stringify(values[4])).toContain("simple prompt");
    await server.close();
    expect((await rath.replay(session.id, flow, { mode: "verify" })).id).toBe(session.id);
  });

  it("[C3] a model may read resources itself", async () => {
    const server = peer("everything");
    const rath = memory();
    const session = await rath.run(
      using(server.resourceTools(), { tool: "everything_list_resources", input: {} }, "done"),
      rath.start("go"),
    );
    expect((lastOf(session, "tool-result").output as Json[]).length).toBeGreaterThan(0);
  });

  it("[C4] progress goes to observers and is no fact", async () => {
    const server = peer("everything");
    const rath = memory();
    const heard: unknown[] = [];
    rath.observe((event) => {
      if (event.kind !== "fact") heard.push(event);
    });
    const input = { duration: 1, steps: 4 };
    await rath.run(
      using(await server.tools(), { tool: "everything_trigger-long-running-operation", input }, "done"),
      rath.start("go"),
    );
    expect(JSON.stringify(heard)).toContain("mcp-progress");
  });

  it("[C5] roots are told when they are asked for, and again when they are others", async () => {
    const uri = pathToFileURL(tmpdir()).href;
    const server = peer("everything", [], { roots: [{ uri, name: "first" }] });
    const rath = memory();
    const look = async (): Promise<string> => {
      const tools = await server.repin();
      const session = await rath.run(
        using(tools, { tool: "everything_get-roots-list", input: {} }, "done"),
        rath.start("go"),
      );
      return JSON.stringify(lastOf(session, "tool-result").output);
    };
    await server.tools();
    await expect.poll(look, { timeout: 20_000 }).toContain("first");
    await server.setRoots([{ uri, name: "second" }]);
    await expect.poll(look, { timeout: 20_000 }).toContain("second");
  });

  it("[C6] sampling asks the given model, with the call of it on the record", async () => {
    const server = peer("everything", [], { sampling: { model: scripted("I am a model.") } });
    const rath = memory();
    const input = { prompt: "Who are you?", maxTokens: 20 };
    const session = await rath.run(
      using(await server.tools(), { tool: "everything_trigger-sampling-request", input }, "done"),
      rath.start("go"),
    );
    expect(JSON.stringify(lastOf(session, "tool-result").output)).toContain("I am a model.");
    const asked = factsOf(session).find((fact) => fact.type === "model-call" && fact.agent !== "user");
    expect(asked).toMatchObject({ agent: "mcp:everything", parameters: { maxOutputTokens: 20 } });
  });

  it("[C7] a question of a server of 2025 is pending until somebody answers, and a replay needs neither", async () => {
    const server = peer("everything", [], { elicitation: true });
    const rath = memory();
    const tools = await server.tools();
    const module = using(tools, { tool: "everything_trigger-elicitation-request", input: {} }, "done");
    const waiting = await rath.run(module, rath.start("go"), { name: "ask" });
    expect(waiting.fact.type).toBe("run-suspend");
    const [asked] = await rath.pending("ask");
    expect(asked?.shown).toMatchObject({ server: "everything", tool: "trigger-elicitation-request" });
    // Others are served meanwhile.
    const beside = await rath.run(
      using(tools, { tool: "everything_echo", input: { message: "beside" } }, "done"),
      rath.start("go"),
    );
    expect(lastOf(beside, "tool-result").output).toBe("Echo: beside");
    await rath.signal("ask", "mcp:everything", { action: "perhaps" }, "user:ada");
    const still = await rath.resume("ask", module);
    expect(still.fact.type).toBe("run-suspend");
    expect(JSON.stringify((await rath.pending("ask")).map((one) => one.shown))).toContain("problem");
    const content = { name: "Ada", check: true };
    await rath.signal("ask", "mcp:everything", { action: "accept", content }, "user:ada");
    const session = await rath.resume("ask", module);
    expect(session.fact.type).toBe("run-end");
    expect(JSON.stringify(lastOf(session, "tool-result").output)).toContain("Ada");
    await server.close();
    expect((await rath.replay("ask", module, { mode: "verify" })).id).toBe(session.id);
  });

  it("[C8] an answer that comes after the call is gone is told so, and nothing is called twice", async () => {
    const make = () => peer("everything", [], { elicitation: true });
    const first = make();
    const rath = memory();
    const script = [{ tool: "everything_trigger-elicitation-request", input: {} }, "done"] as const;
    await rath.run(using(await first.tools(), ...script), rath.start("go"), { name: "late" });
    const pin = await first.pin();
    await first.close();
    await rath.signal("late", "mcp:everything", { action: "decline" }, "user:ada");
    const second = make();
    const session = await rath.resume("late", using(second.toolsFrom(pin), ...script));
    expect(lastOf(session, "tool-failure").error.code).toBe("mcp-call-gone");
  });
});
