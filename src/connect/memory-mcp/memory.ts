import type { Backend, BackendContext, BackendFound, Kept, Memory } from "../../memory/index.js";
import { MemoryRefusedError } from "../../memory/index.js";
import type { Json } from "../../session/index.js";
import { defined, optionNames } from "../../util/index.js";
import { requireMilliseconds, requireOptions } from "../../workflow/index.js";
import type { McpServer } from "../mcp/index.js";
import { type Entity, entitiesIn, entityOf, memoryOf, nameOf, oursIn, saidIn } from "./entity.js";
import { GraphTools } from "./tools.js";
import { askedWords, overlaps } from "./words.js";

export type McpMemoryOptions = {
  /** The server, as `mcp(...)` gives it. The program that opened it closes it. */
  readonly server: McpServer;
  /** Milliseconds that one call may take. Default 30,000. */
  readonly timeout?: number;
};

const OPTIONS = optionNames<McpMemoryOptions>()("server timeout");
const EXAMPLE =
  'mcpMemory({ server: mcp({ name: "memory", command: "npx", args: ["@modelcontextprotocol/server-memory"] }) })';
/** Each is a request of its own. */
const WORDS = 8;

/**
 * Memories as entities of a memory server over MCP. It finds a word wherever it stands, and no more than that: so it is
 * asked word by word, and what has most of the question comes first.
 */
export function mcpMemory(options: McpMemoryOptions): Backend {
  const refuse = (reason: string, hint: string): Error =>
    new MemoryRefusedError("option", "use a memory server over MCP", reason, hint);
  requireOptions(options, refuse, EXAMPLE, OPTIONS);
  const { server, timeout = 30_000 } = options;
  if (typeof server?.tools !== "function")
    throw refuse("`server` must be a server that mcp(...) returned", EXAMPLE);
  requireMilliseconds(timeout, "timeout", refuse);
  const graph = new GraphTools(server, timeout);
  return Object.freeze<Backend>({
    name: graph.name,
    addressOf: (id) => nameOf(id),
    keep: (memory, context) => graph.inTurn(() => keep(graph, memory, context)),
    async drop(address: string, context: BackendContext): Promise<void> {
      if (memoryOf(address) === undefined)
        throw new MemoryRefusedError(
          "refused",
          "take a memory away from a memory server",
          `${JSON.stringify(String(address).slice(0, 80))} is not an entity that was kept for a memory`,
          "give the address that keep gave",
        );
      const input = { entityNames: [address] };
      await graph.inTurn(() => graph.call("delete_entities", input, "take a memory away", context));
    },
    find: (query, { limit }, context) => find(graph, query, limit, context),
  });
}

/** What others have said about the entity, and how it is related, stays. */
async function keep(graph: GraphTools, memory: Memory, context: BackendContext): Promise<Kept> {
  const use = "keep a memory";
  const wanted = entityOf(memory);
  const { name } = wanted;
  const [there] = await entities(graph, "open_nodes", { names: [name] }, use, context);
  if (there === undefined) {
    await graph.call("create_entities", { entities: [wanted] }, use, context);
    return { address: name };
  }
  const ours = oursIn(there);
  const old = ours.filter((one) => !wanted.observations.includes(one));
  const fresh = wanted.observations.filter((one) => !there.observations.includes(one));
  // The newer first: if it ends in between, both are there, and the next keeping takes the older away.
  if (fresh.length > 0)
    await graph.call(
      "add_observations",
      { observations: [{ entityName: name, contents: fresh }] },
      use,
      context,
    );
  if (old.length > 0)
    await graph.call(
      "delete_observations",
      { deletions: [{ entityName: name, observations: old }] },
      use,
      context,
    );
  return { address: name };
}

async function find(
  graph: GraphTools,
  query: string,
  limit: number,
  context: BackendContext,
): Promise<readonly BackendFound[]> {
  const words = askedWords(query, WORDS);
  const byName = new Map<string, Entity>();
  for (const word of words)
    for (const one of await entities(graph, "search_nodes", { query: word }, "find something", context))
      byName.set(one.name, one);
  const all = [...byName.values()].map((entity) => ({ entity, said: saidIn(entity) }));
  const scores = overlaps(
    words,
    all.map(({ said }) => said.text),
  );
  return all
    .map(
      ({ entity, said: { text, memory, version } }, place): BackendFound => ({
        address: entity.name,
        text: text.toWellFormed(),
        score: scores[place] ?? 0,
        ...defined({ memory }),
        parts: { words: words.length, ...defined({ version }) },
      }),
    )
    .filter(({ score }) => score > 0)
    .sort((one, other) => other.score - one.score || (one.address < other.address ? -1 : 1))
    .slice(0, limit);
}

async function entities(
  graph: GraphTools,
  tool: "open_nodes" | "search_nodes",
  input: Json,
  use: string,
  context: BackendContext,
): Promise<readonly Entity[]> {
  const found = entitiesIn(await graph.call(tool, input, use, context));
  if (found === undefined) throw graph.malformed(use, "its answer has no entities");
  return found;
}
