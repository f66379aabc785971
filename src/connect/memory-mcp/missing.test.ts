import { expect, it, vi } from "vitest";
import type { BackendContext } from "../../memory/backend.js";
import { groundsOf, memory } from "../../memory/index.js";
import type { Memory } from "../../memory/state.js";
import { openRath } from "../../runtime/index.js";
import { workflow } from "../../workflow/index.js";

// As Node refuses to load a package that is not there; all else is the real thing.
vi.mock("@modelcontextprotocol/client", () => {
  throw new Error("Cannot find package '@modelcontextprotocol/client'");
});

it("[M8] names the package that is missing, and how to get it", async () => {
  const { mcp } = await import("../mcp/index.js");
  const { mcpMemory } = await import("./index.js");
  const server = mcp({ name: "memory", command: process.execPath });
  const notes = memory({ name: "notes", scope: "project:shop", backend: mcpMemory({ server }) });
  const rath = openRath({ store: "memory:" });
  const keep = workflow("keep", async (session) => {
    const draft = { text: "A.", because: groundsOf(session), source: "reflection", by: "user:bob" } as const;
    return (await notes.write(session, draft)).session;
  });
  const failed = rath.run(keep, rath.start("A.", { by: "user:bob" }));
  await expect(failed).rejects.toThrow("the package @modelcontextprotocol/client is not installed");
  const space = notes.open(await rath.store());
  const [written] = await space.list();
  const { backend } = notes;
  const context = { signal: new AbortController().signal, secret: () => "" } as unknown as BackendContext;
  await expect(backend?.keep(written as Memory, context)).rejects.toMatchObject({
    code: "memory-backend",
    hint: "npm install @modelcontextprotocol/client",
    data: { fault: "not-installed", package: "@modelcontextprotocol/client" },
  });
  await rath.close();
  await server.close();
});
