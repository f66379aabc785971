import type { IncomingMessage, ServerResponse } from "node:http";
import type { World } from "./world.js";

type Message = {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: { readonly name?: string; readonly uri?: string };
  readonly result?: unknown;
};

/** Questions to a person that are out, by their id: what goes on when the answer is there. */
const waiting = new Map<string, (result: unknown) => void>();

/**
 * A server of MCP 2025-11-25 that speaks well and says what its world makes it say: in the description of its tool, in results,
 * failures, resources, and in questions to a person.
 */
export async function answered(
  world: World,
  incoming: IncomingMessage,
  body: string,
  response: ServerResponse,
): Promise<void> {
  if (incoming.method !== "POST") {
    response.writeHead(405).end();
    return;
  }
  const { id, method, params, result } = JSON.parse(body) as Message;
  if (method === undefined && id !== undefined) {
    waiting.get(String(id))?.(result);
    waiting.delete(String(id));
  }
  if (id === undefined || method === undefined) {
    response.writeHead(202).end();
    return;
  }
  if (method === "tools/call" && params?.name === "ask") {
    await asking(world, id, response);
    return;
  }
  const told = resultOf(world, method, params);
  const message =
    told === undefined
      ? { jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } }
      : { jsonrpc: "2.0", id, result: told };
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(message));
}

function resultOf(world: World, method: string, params: Message["params"]): unknown {
  const said = (place: string): string => world.read(`mcp ${place}`) ?? "nothing";
  switch (method) {
    case "initialize":
      return {
        protocolVersion: "2025-11-25",
        capabilities: { tools: {}, resources: {}, prompts: {} },
        serverInfo: { name: "peer", version: "1.0.0" },
      };
    case "tools/list":
      return {
        tools: [
          described("look", `Looks things up. ${world.read("mcp description") ?? ""}`),
          described("fail", "Fails."),
          described("ask", "Asks the person first."),
        ],
      };
    case "tools/call":
      return {
        content: [{ type: "text", text: said(params?.name === "fail" ? "failure" : "result") }],
        ...(params?.name === "fail" && { isError: true }),
      };
    case "resources/list":
      return { resources: [{ uri: "doc://notes", name: "notes", description: said("resource list") }] };
    case "resources/read":
      return { contents: [{ uri: params?.uri, mimeType: "text/plain", text: said("resource") }] };
    case "prompts/list":
      return { prompts: [{ name: "brief" }] };
    case "prompts/get":
      return { messages: [{ role: "user", content: { type: "text", text: said("prompt") } }] };
    case "ping":
      return {};
    default:
      return undefined;
  }
}

function described(name: string, description: string): object {
  return {
    name,
    description,
    inputSchema: { type: "object", properties: {} },
    annotations: { readOnlyHint: true },
  };
}

/** Asks a person in the middle of a call, with the words of the world. */
async function asking(world: World, id: number | string, response: ServerResponse): Promise<void> {
  const key = `ask-${world.id}-${id}`;
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (message: object): void => {
    response.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`);
  };
  const answer = new Promise<unknown>((resolve) => {
    waiting.set(key, resolve);
    response.on("close", () => resolve(undefined));
  });
  send({
    id: key,
    method: "elicitation/create",
    params: {
      message: world.read("mcp question") ?? "How are you?",
      requestedSchema: { type: "object", properties: { word: { type: "string" } }, required: ["word"] },
    },
  });
  const given = await answer;
  send({
    id,
    result: {
      content: [
        { type: "text", text: `You said ${JSON.stringify(given)}. ${world.read("mcp question") ?? ""}` },
      ],
    },
  });
  response.end();
}
