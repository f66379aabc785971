import type { Backend, BackendContext, BackendFound, Kept, Memory } from "../../memory/index.js";
import { MemoryRefusedError } from "../../memory/index.js";
import { digestOf, type FactId, type Json } from "../../session/index.js";
import { defined, optionNames } from "../../util/index.js";
import { requireMilliseconds, requireOptions } from "../../workflow/index.js";
import type { McpServer } from "../mcp/index.js";
import { GraphTools } from "./tools.js";

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

/** Memories as entities of an MCP memory server. It only finds single words, so each word is asked. */
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

/** Observations of others about the entity, and its relations, stay. */
async function keep(graph: GraphTools, memory: Memory, context: BackendContext): Promise<Kept> {
  const use = "keep a memory";
  const wanted = entityOf(memory);
  const { name } = wanted;
  const [there] = await entities(graph, "open_nodes", { names: [name] }, use, context);
  if (there === undefined) {
    await graph.call("create_entities", { entities: [wanted] }, use, context);
    return { address: name };
  }
  const old = oursIn(there).filter((one) => !wanted.observations.includes(one));
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

/** A node of the server's graph. */
export type Entity = {
  readonly name: string;
  readonly entityType: string;
  readonly observations: readonly string[];
};

const NAME = /^openrath:([0-9a-f]{64})$/;
/** Names the memory, its version and the observation that is its text: others may have added their own to the entity. */
const TAG = /^openrath memory=([0-9a-f]{64}) version=([0-9a-f]{64}) text=([0-9a-f]{64})$/;
const LONGEST = 4_000;

export function nameOf(memory: FactId): string {
  return `openrath:${memory}`;
}

export function memoryOf(name: string): FactId | undefined {
  return NAME.exec(name)?.[1];
}

export function entityOf({ id, version, text }: Pick<Memory, "id" | "version" | "text">): Entity {
  const said = text.toWellFormed();
  return {
    name: nameOf(id),
    entityType: "openrath-memory",
    observations: [said, `openrath memory=${id} version=${version} text=${digestOf(said)}`],
  };
}

/** The observations of an entity that we have made: tags, and the texts that they name. */
export function oursIn(entity: Entity): readonly string[] {
  const memory = memoryOf(entity.name);
  const tags = entity.observations.filter((one) => memory !== undefined && TAG.exec(one)?.[1] === memory);
  const texts = new Set(tags.map((one) => TAG.exec(one)?.[3]));
  return entity.observations.filter((one) => tags.includes(one) || texts.has(digestOf(one)));
}

/** The text of an entity: our newest text, or the observations of others, cut to a readable length. */
export function saidIn(entity: Entity): {
  readonly text: string;
  readonly memory?: FactId;
  readonly version?: FactId;
} {
  const [, memory, version, text] =
    entity.observations.map((one) => TAG.exec(one)).findLast((tag) => tag?.[1] === memoryOf(entity.name)) ??
    [];
  const said = entity.observations.find((one) => text !== undefined && digestOf(one) === text);
  if (memory !== undefined && version !== undefined && said !== undefined)
    return { text: said, memory, version };
  const known = entity.observations.filter((one) => !TAG.test(one));
  return { text: `${entity.name}: ${known.join("; ")}`.slice(0, LONGEST).toWellFormed() };
}

/** The entities of an answer; undefined where it is malformed. */
export function entitiesIn(answer: unknown): readonly Entity[] | undefined {
  const list = (answer as { readonly entities?: Json } | null)?.entities;
  if (!Array.isArray(list)) return undefined;
  const fits = list.every(
    (one) =>
      typeof one?.name === "string" &&
      typeof one.entityType === "string" &&
      Array.isArray(one.observations) &&
      one.observations.every((said: unknown) => typeof said === "string"),
  );
  return fits ? (list as readonly Entity[]) : undefined;
}

const SEGMENTER = new Intl.Segmenter(undefined, { granularity: "word" });
/** A query is a question, not a book. */
const LONGEST_QUERY = 1_000;

/** The words of a text, also of one whose language has no spaces; each once. */
export function wordsOf(text: string): ReadonlySet<string> {
  const words = new Set<string>();
  for (const { segment, isWordLike } of SEGMENTER.segment(text.toLowerCase()))
    if (isWordLike === true) words.add(segment);
  return words;
}

/** The words that are asked for one by one: the longest say most, and each is a request. */
export function askedWords(query: string, most: number): readonly string[] {
  const words = [...wordsOf(query.slice(0, LONGEST_QUERY).toWellFormed())];
  const telling = words.filter((word) => word.length > 2 || /[^\p{ASCII}]/u.test(word));
  return (telling.length > 0 ? telling : words)
    .sort((one, other) => other.length - one.length || (one < other ? -1 : 1))
    .slice(0, most);
}

/** The share (0 to 1) of a question in each text. Rare words count more, parts of words half. */
export function overlaps(asked: readonly string[], texts: readonly string[]): readonly number[] {
  const known = texts.map((text) => ({ text: text.toLowerCase(), words: wordsOf(text) }));
  const weights = asked.map((word) => {
    const having = known.filter(({ text }) => text.includes(word)).length;
    return Math.log(1 + texts.length / Math.max(having, 0.5));
  });
  const whole = weights.reduce((sum, weight) => sum + weight, 0);
  return known.map(({ text, words }) => {
    const sum = asked.reduce((total, word, place) => {
      const part = words.has(word) ? 1 : text.includes(word) ? 0.5 : 0;
      return total + part * (weights[place] ?? 0);
    }, 0);
    return whole === 0 ? 0 : sum / whole;
  });
}
