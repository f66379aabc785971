import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";
import { kept } from "./world.js";

/** A server of 2025 by HTTP, of the package of that time, with sessions. Tells what it was called with. */
export async function oldServer(): Promise<{
  readonly url: string;
  readonly calls: string[];
  forget(): void;
}> {
  const calls: string[] = [];
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const http = createServer((request, response) => {
    response.on("error", () => {});
    void (async () => {
      const pieces: Buffer[] = [];
      for await (const piece of request) pieces.push(piece as Buffer);
      const body =
        pieces.length === 0 ? undefined : (JSON.parse(Buffer.concat(pieces).toString()) as unknown);
      const id = request.headers["mcp-session-id"];
      let transport = sessions.get(String(id));
      if (transport === undefined && (body as { method?: string })?.method === "initialize") {
        transport = new StreamableHTTPServerTransport({
          sessionIdGenerator: randomUUID,
          onsessioninitialized: (session) => {
            sessions.set(session, transport as StreamableHTTPServerTransport);
          },
        });
        await made(calls).connect(transport as never);
      }
      if (transport === undefined) response.writeHead(id === undefined ? 400 : 404).end();
      else await transport.handleRequest(request, response, body);
    })().catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  kept({
    close: async () => {
      http.closeAllConnections();
      http.close();
    },
  });
  const { port } = http.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/mcp`, calls, forget: () => sessions.clear() };
}

function made(calls: string[]): McpServer {
  const server = new McpServer({ name: "old", version: "1" }, { capabilities: { logging: {} } });
  const words = (text: string) => ({ content: [{ type: "text" as const, text }] });
  server.registerTool(
    "add",
    {
      description: "Adds.",
      inputSchema: { a: z.number(), b: z.number() },
      annotations: { readOnlyHint: true },
    },
    async ({ a, b }) => {
      calls.push("add");
      return words(String(a + b));
    },
  );
  server.registerTool(
    "slow",
    { description: "Tells how far it is." },
    async ({ _meta, sendNotification }) => {
      for (let progress = 1; progress <= 3; progress++)
        if (_meta?.progressToken !== undefined)
          await sendNotification({
            method: "notifications/progress",
            params: { progressToken: _meta.progressToken, progress, total: 3 },
          });
      return words("done");
    },
  );
  server.registerTool("ask", { description: "Asks a person." }, async () => {
    calls.push("ask");
    const answer = await server.server.elicitInput({
      message: "Who are you?",
      requestedSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
    });
    return words(JSON.stringify(answer));
  });
  server.registerTool(
    "think",
    { description: "Asks a model.", inputSchema: { times: z.number() } },
    async ({ times }) => {
      const said: unknown[] = [];
      for (let time = 0; time < times; time++) {
        calls.push("think");
        const { content } = await server.server.createMessage({
          messages: [{ role: "user", content: { type: "text", text: `thought ${time}` } }],
          maxTokens: 50,
        });
        said.push(content);
      }
      return words(JSON.stringify(said));
    },
  );
  server.registerTool("look", { description: "Asks for roots." }, async () =>
    words(JSON.stringify(await server.server.listRoots())),
  );
  server.registerResource("note", "note://one", { mimeType: "text/plain" }, async (uri) => ({
    contents: [{ uri: uri.href, text: "a note" }],
  }));
  return server;
}
