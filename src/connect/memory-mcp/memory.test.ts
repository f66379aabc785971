import { mkdtempSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import type { Backend, BackendContext } from "../../memory/backend.js";
import { BackendError } from "../../memory/backend.js";
import type { Memory } from "../../memory/state.js";
import { type McpOptions, type McpServer, mcp } from "../mcp/index.js";
import { mcpMemory } from "./index.js";

const program = found("@modelcontextprotocol/server-memory/dist/index.js");
const unavailable =
  program === undefined ? "the npm package of the memory server is not installed" : undefined;

function found(path: string): string | undefined {
  try {
    return createRequire(import.meta.url).resolve(path);
  } catch {
    return undefined;
  }
}

const open: McpServer[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});
const kept = (server: McpServer): McpServer => {
  open.push(server);
  return server;
};
const world = (options: McpOptions = {}): { backend: Backend; server: McpServer; graph: () => string } => {
  const file = join(mkdtempSync(join(tmpdir(), "openrath-memory-")), "memory.jsonl");
  const server = kept(
    mcp(
      { name: "memory", command: process.execPath, args: [program ?? ""], env: { MEMORY_FILE_PATH: file } },
      options,
    ),
  );
  return { server, backend: mcpMemory({ server }), graph: () => readFileSync(file, "utf8") };
};
const told = async (server: McpServer, tool: string, input: object): Promise<void> => {
  const one = (await server.tools()).find(({ name }) => name === `memory_${tool}`);
  await one?.run(input, { signal: new AbortController().signal, emit: () => {} } as never);
};
const context = (signal = new AbortController().signal): BackendContext => ({ signal, secret: () => "" });
const id = (digit: string): string => digit.repeat(64 / digit.length);
const memory = (digit: string, text: string, version = digit): Memory =>
  ({ id: id(digit), version: id(version), text, space: "notes" }) as Memory;
const failure = async (work: Promise<unknown>): Promise<string> => {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(BackendError);
  expect(error).toMatchObject({ code: "memory-backend" });
  return (error as BackendError).fault;
};

describe.skipIf(unavailable !== undefined)(
  `a memory server over stdio${unavailable ? ` (${unavailable})` : ""}`,
  () => {
    it("[M1] one entity for each memory, and what others said of it stays", async () => {
      const { backend, server, graph } = world();
      const { address } = await backend.keep(memory("a", "the tap drips"), context());
      expect(address).toBe(`openrath:${id("a")}`);
      expect(backend.addressOf(id("a"), "notes")).toBe(address);
      const first = graph();
      await backend.keep(memory("a", "the tap drips"), context());
      expect(graph()).toBe(first);
      await told(server, "add_observations", {
        observations: [{ entityName: address, contents: ["seen by Bob"] }],
      });
      await told(server, "create_entities", {
        entities: [{ name: "Bob", entityType: "person", observations: [] }],
      });
      await told(server, "create_relations", {
        relations: [{ from: "Bob", to: address, relationType: "saw" }],
      });
      await backend.keep(memory("a", "the tap is mended", "b"), context());
      const now = graph();
      expect(now).toContain("the tap is mended");
      expect(now).toContain("seen by Bob");
      expect(now).toContain('"relationType":"saw"');
      expect(now).not.toContain("drips");
      expect(await backend.find("tap", { limit: 5 }, context())).toEqual([
        {
          address,
          memory: id("a"),
          text: "the tap is mended",
          score: 1,
          parts: { words: 1, version: id("b") },
        },
      ]);
    });

    it("[M2] many at once are all there", async () => {
      const { backend } = world();
      const digits = [..."0123456789abcdef"];
      await Promise.all(
        digits.map((digit) => backend.keep(memory(digit, `apple number ${digit}`), context())),
      );
      const all = await backend.find("apple", { limit: 100 }, context());
      expect(all.map((one) => one.memory).sort()).toEqual(digits.map(id));
    });

    it("[M3] word by word, the best first", async () => {
      const { backend } = world();
      await backend.keep(memory("a", "the red bicycle is in the cellar"), context());
      await backend.keep(memory("b", "a bicycle needs oil"), context());
      await backend.keep(memory("c", "bicycles are quick"), context());
      await backend.keep(memory("d", "我的自行车在地下室"), context());
      await backend.keep(memory("e", "lone \ud800 surrogate"), context());
      const found = await backend.find("Where is my red bicycle?", { limit: 10 }, context());
      expect(found.map((one) => one.memory)).toEqual([id("a"), id("b"), id("c")]);
      expect(found.every(({ score }) => score > 0 && score <= 1)).toBe(true);
      expect((await backend.find("red bicycle", { limit: 1 }, context())).map(({ score }) => score)).toEqual([
        1,
      ]);
      expect((await backend.find("自行车在哪里", { limit: 1 }, context()))[0]).toMatchObject({
        memory: id("d"),
      });
      expect((await backend.find("surrogate", { limit: 1 }, context()))[0]).toMatchObject({
        memory: id("e"),
      });
      // Words that stand in every name, tag and type.
      for (const word of ["openrath", "aaaa", "version", "memory"])
        expect(await backend.find(word, { limit: 5 }, context())).toEqual([]);
      for (const nothing of ["", "  ", "?!", "\ud800"])
        expect(await backend.find(nothing, { limit: 5 }, context())).toEqual([]);
      expect(await backend.find(`bicycle ${"word ".repeat(100_000)}`, { limit: 1 }, context())).toHaveLength(
        1,
      );
    });

    it("[M4] others' entries stay theirs", async () => {
      const { backend, server } = world();
      await backend.keep(memory("a", "tea is ready"), context());
      const tag = `openrath memory=${id("a")} version=${id("a")} text=${id("0")}`;
      await told(server, "create_entities", {
        entities: [
          { name: "Ada", entityType: "person", observations: ["drinks tea", tag] },
          { name: `openrath:${id("b")}`, entityType: "person", observations: ["poisoned tea", tag] },
        ],
      });
      const found = await backend.find("tea", { limit: 5 }, context());
      expect(found.map(({ address, memory }) => [address, memory]).sort()).toEqual(
        [
          ["Ada", undefined],
          [`openrath:${id("a")}`, id("a")],
          [`openrath:${id("b")}`, undefined],
        ].sort(),
      );
      expect(found.find(({ address }) => address === "Ada")?.text).toBe("Ada: drinks tea");
    });

    it("[M5] a dropped memory is gone, and others' entries are refused", async () => {
      const { backend, server, graph } = world();
      const { address } = await backend.keep(memory("a", "one"), context());
      await told(server, "create_entities", {
        entities: [{ name: "Ada", entityType: "person", observations: [] }],
      });
      await backend.drop(address, context());
      await backend.drop(address, context());
      await expect(backend.drop("Ada", context())).rejects.toMatchObject({ code: "memory-refused" });
      expect(graph()).toContain("Ada");
      expect(await backend.find("one", { limit: 5 }, context())).toEqual([]);
    });

    it("[M6] an answer that is too long, a call that is stopped, a server that was closed in between", async () => {
      const { backend } = world({ frame: 20_000 });
      for (const digit of ["a", "b", "c"])
        await backend.keep(memory(digit, `apple ${"x".repeat(9_000)}`), context());
      expect(await failure(backend.find("apple", { limit: 5 }, context()))).toBe("too-large");
      const stop = new AbortController();
      stop.abort();
      expect(await failure(backend.find("apple", { limit: 5 }, context(stop.signal)))).toBe("stopped");
      // The connection is made anew for the next one.
      expect(await backend.find("orange", { limit: 5 }, context())).toEqual([]);
    });
  },
);

describe("other servers", () => {
  it("[M6] no program, no memory, no answer", async () => {
    const server = kept(mcp({ name: "none", command: "/no/such/program" }));
    expect(await failure(mcpMemory({ server }).find("x", { limit: 1 }, context()))).toBe("unreachable");
    const files = found("@modelcontextprotocol/server-everything/dist/index.js");
    if (files !== undefined) {
      const other = kept(mcp({ name: "everything", command: process.execPath, args: [files] }));
      expect(await failure(mcpMemory({ server: other }).keep(memory("a", "x"), context()))).toBe("refused");
    }
    const silent = fileURLToPath(new URL("./testing/silent.mjs", import.meta.url));
    const hanging = kept(
      mcp({ name: "silent", command: process.execPath, args: [silent] }, { connect: 1_500 }),
    );
    expect(
      await failure(mcpMemory({ server: hanging, timeout: 300 }).keep(memory("a", "x"), context())),
    ).toBe("timeout");
    const stop = new AbortController();
    const waiting = mcpMemory({ server: hanging }).find("x", { limit: 1 }, context(stop.signal));
    setTimeout(() => stop.abort(), 50);
    expect(await failure(waiting)).toBe("stopped");
  });

  it("[M7] options are checked when it is made", () => {
    const server = mcp({ name: "x", command: "x" });
    expect(() => mcpMemory({ server, timeuot: 1 } as never)).toThrow('did you mean "timeout"?');
    expect(() => mcpMemory({ server, timeout: -1 })).toThrow("its `timeout` is");
    expect(() => mcpMemory({ server: {} as never })).toThrow("`server` must be a server");
    expect(() => mcpMemory(undefined as never)).toThrow("not an object");
  });
});
