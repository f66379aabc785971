import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type FactOf, openRath, Session, workflow } from "openrath";
import { type Embedder, type MemorySpace, memory } from "openrath/memory";
import { memoryStream, type StreamRecallOptions } from "openrath/memory/tiers";
import { digestOf } from "openrath/session";
import { describe, expect, it } from "vitest";

const folder = fileURLToPath(new URL("../../../shared/data/genagents/", import.meta.url));
const missing = existsSync(`${folder}nodes.json`)
  ? undefined
  : "the published memory stream is not here: it belongs into ../shared/data/genagents";

type Node = {
  readonly node_id: number;
  readonly content: string;
  readonly importance: number;
  readonly created: number;
};
type Query = {
  readonly query_node: number;
  readonly hp: readonly [number, number, number];
  readonly top10: readonly number[];
};
type Data = {
  readonly text: string;
  readonly nodes: readonly Node[];
  readonly queries: readonly Query[];
  readonly embedder: Embedder;
};

/** The published stream with the vectors that belong to it, or a skipped test that says why. */
function published(context: { skip(note?: string): void }): Data {
  if (missing !== undefined) context.skip(missing);
  const text = readFileSync(`${folder}nodes.json`, "utf8");
  const nodes = JSON.parse(text) as readonly Node[];
  const { dim, order, queries } = JSON.parse(readFileSync(`${folder}expected-retrieval.json`, "utf8")) as {
    readonly dim: number;
    readonly order: readonly number[];
    readonly queries: readonly Query[];
  };
  const bytes = readFileSync(`${folder}embeddings.f32`);
  const contents = new Map(nodes.map(({ node_id, content }) => [node_id, content]));
  const vectors = new Map(
    order.map((id, row) => [
      contents.get(id) as string,
      Float32Array.from({ length: dim }, (_, at) => bytes.readFloatLE((row * dim + at) * 4)),
    ]),
  );
  const embedder: Embedder = {
    name: "published-1",
    dimensions: dim,
    embed: (texts) =>
      texts.map((one) => {
        const vector = vectors.get(one);
        if (vector === undefined)
          throw new Error(`there is no vector of ${JSON.stringify(one.slice(0, 40))}`);
        return vector;
      }),
  };
  return { text, nodes, queries, embedder };
}

/** A space with every node of the stream as a memory that cites the record of the import. */
async function imported(
  store: Parameters<MemorySpace["open"]>[0],
  { text, nodes, embedder }: Data,
): Promise<MemorySpace> {
  const life = memory({ name: "life", scope: "agent:joon", embedding: embedder, contradicts: false });
  const session = Session.start(undefined, { nonce: digestOf(text) }).append({
    type: "record-import",
    format: "genagents",
    source: "nodes.json",
    digest: digestOf(text),
  });
  const space = life.open(store);
  for (const { content, importance, created, node_id } of nodes)
    await space.write(
      {
        text: content,
        because: [session.id],
        source: "import",
        by: "service:genagents",
        importance,
        meta: { node: node_id, stream: { kind: "observation", depth: 0, step: created } },
      },
      { from: session },
    );
  return life;
}

describe("the published stream of genagents", () => {
  it("[D1] is retrieved from as its own code did, for every question and weighting", async (context) => {
    const data = published(context);
    const rath = openRath({ store: "memory:" });
    const store = await rath.store();
    const life = await imported(store, data);
    const numbers = new Map(
      (await life.open(store).list()).map(({ id, meta }) => [id, (meta as { node: number }).node]),
    );
    expect(numbers.size).toBe(116);
    const stream = memoryStream({ memory: life, profile: "genagents", limit: 10 });
    const content = new Map(data.nodes.map((node) => [node.node_id, node.content]));
    const all = workflow("ask everything", async (entered) => {
      let session = entered;
      for (const { query_node, hp } of data.queries) {
        const [recency, relevance, importance] = hp;
        const options: StreamRecallOptions = { weights: { recency, relevance, importance }, show: false };
        ({ session } = await stream.recall(session, content.get(query_node) as string, options));
      }
      return session;
    });
    const session = await rath.run(all, rath.start("Retrieve."), { name: "questions" });
    const reads = [...session.history()].filter(({ fact }) => fact.type === "memory-read");
    const found = reads.map(({ fact }) =>
      (fact as FactOf<"memory-read">).hits.map((hit) => numbers.get(hit.memory)),
    );
    expect(data.queries.length).toBe(30);
    expect(found).toEqual(data.queries.map(({ top10 }) => top10));
    // And again from the record alone, as of then; and with nobody left to ask.
    for (const { id } of reads.slice(0, 3)) expect((await stream.recallAgain(store, id)).same).toBe(true);
    expect((await rath.replay("questions", all, { mode: "verify" })).id).toBe(session.id);
    await rath.close();
  });
});
