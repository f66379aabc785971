import type { Checkpoint, CheckpointMetadata, SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { uuid6 } from "@langchain/langgraph-checkpoint";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { campaign } from "../../session/testing/campaign.js";
import { openStore } from "../../store/index.js";
import { rathSaver } from "./index.js";
import { folder, KINDS } from "./testing/stores.js";

const metadata = { source: "loop", step: 0, parents: {} } as CheckpointMetadata;

/** Remembers every text and every list of bytes that it made, and that it was given back. */
class Witness implements SerializerProtocol {
  readonly given: string[] = [];
  readonly #kind: string;

  constructor(kind: string) {
    this.#kind = kind;
  }

  async dumpsTyped(value: unknown): Promise<[string, Uint8Array]> {
    return [this.#kind, new TextEncoder().encode(JSON.stringify(value))];
  }

  async loadsTyped(kind: string, data: Uint8Array | string): Promise<unknown> {
    expect(kind).toBe(this.#kind);
    const text = typeof data === "string" ? data : new TextDecoder("utf-8", { ignoreBOM: true }).decode(data);
    this.given.push(text);
    return JSON.parse(text);
  }
}

const item = fc.oneof(
  fc.string({ unit: "binary", maxLength: 60 }),
  fc.json({ maxDepth: 3 }).map((text) => JSON.parse(text)),
  fc.constantFrom("\ud800", "__proto__", "$said", { $said: [0, 0] }, "x".repeat(5_000), "é".repeat(40)),
);
const channel = fc.oneof(
  fc.constantFrom("messages", "__proto__", "constructor", "1", "0", "b", "toString"),
  fc.string({ maxLength: 5 }),
);
/** What a step does to a state: sets, appends, edits, drops, brings back. */
const change = fc.record({
  channel,
  how: fc.constantFrom("set", "append", "edit", "drop", "keep"),
  item,
});
const steps = fc.array(fc.record({ back: fc.nat(3), changes: fc.array(change, { maxLength: 4 }) }), {
  minLength: 1,
  maxLength: 12,
});

describe.each(KINDS)("values over $kind", ({ url }) => {
  const { path, remove } = folder();
  afterAll(remove);
  let count = 0;

  it.each(["json", "other"])(
    "[V2] a value comes back byte for byte, serialised as %s",
    { timeout: 120_000 },
    async (kind) => {
      await fc.assert(
        fc.asyncProperty(steps, async (list) => {
          const where = url(path, `${kind}-${++count}`);
          const store = await openStore(where);
          const saver = await rathSaver(store, { serde: new Witness(kind) });
          const kept: {
            id: string;
            parent: string | undefined;
            text: string;
            state: Map<string, unknown>;
            versions: Record<string, number>;
          }[] = [];
          for (const [index, { back, changes }] of list.entries()) {
            const parent = kept[Math.max(0, kept.length - 1 - back)];
            const state = new Map(parent?.state);
            const versions: Record<string, number> = Object.assign(Object.create(null), parent?.versions);
            const fresh: Record<string, number> = Object.create(null);
            for (const { channel: name, how, item: value } of changes) {
              const before = state.get(name);
              if (how === "drop") state.delete(name);
              else if (how === "append") state.set(name, [...(Array.isArray(before) ? before : []), value]);
              else if (how === "edit" && Array.isArray(before))
                state.set(
                  name,
                  before.map((one, place) => (place === 1 ? value : one)),
                );
              else if (how !== "keep") state.set(name, value);
              versions[name] = (versions[name] ?? 0) + 1;
              fresh[name] = versions[name];
            }
            const values = Object.create(null) as Record<string, unknown>;
            for (const [name, value] of state) values[name] = value;
            const checkpoint = {
              v: 4,
              id: uuid6(index),
              ts: new Date(0).toISOString(),
              channel_values: values,
              channel_versions: versions,
              versions_seen: { node: versions },
            } as Checkpoint;
            const config = {
              configurable: {
                thread_id: "t",
                checkpoint_ns: "",
                ...(parent && { checkpoint_id: parent.id }),
              },
            };
            await saver.put(config, checkpoint, { ...metadata, step: index }, fresh);
            kept.push({
              id: checkpoint.id,
              parent: parent?.id,
              text: JSON.stringify(checkpoint),
              state,
              versions,
            });
          }
          const again = await rathSaver(store, { serde: new Witness(kind) });
          for (const reader of [saver, again])
            for (const { id, parent, text } of kept) {
              const tuple = await reader.getTuple({ configurable: { thread_id: "t", checkpoint_id: id } });
              expect(JSON.stringify(tuple?.checkpoint)).toBe(text);
              expect(tuple?.parentConfig?.configurable?.checkpoint_id).toBe(parent);
            }
          await store.close();
        }),
        { numRuns: Number(process.env.OPENRATH_LANGGRAPH_RUNS ?? campaign(25)) },
      );
    },
  );

  it("[V2] bytes, values that JSON has no word for, and long texts come back, also from a store that was opened again", async () => {
    const where = url(path, "special");
    const values = {
      bytes: new Uint8Array([0, 255, 128]),
      map: new Map([["a", new Set([1, undefined])]]),
      nothing: undefined,
      error: new Error("no"),
      deep: JSON.parse(`${"[".repeat(600)}${"]".repeat(600)}`),
      long: "ü".repeat(100_000),
      many: Array.from({ length: 500 }, (_, index) => ({ index })),
    };
    const store = await openStore(where);
    const saver = await rathSaver(store);
    const versions = Object.fromEntries(Object.keys(values).map((name) => [name, 1]));
    const checkpoint = {
      v: 4,
      id: uuid6(0),
      ts: "",
      channel_values: values,
      channel_versions: versions,
      versions_seen: {},
    };
    const at = await saver.put({ configurable: { thread_id: "t" } }, checkpoint, metadata, versions);
    await saver.putWrites(at, Object.entries(values), "task");
    const again = await rathSaver(store);
    for (const reader of [saver, again]) {
      const tuple = await reader.getTuple(at);
      expect(tuple?.checkpoint).toEqual(checkpoint);
      expect(tuple?.pendingWrites).toEqual(
        Object.entries(values).map(([name, value]) => ["task", name, value]),
      );
    }
    expect((await store.check()).findings).toEqual([]);
    await store.close();
  });

  it("[V2] writes that were made twice count as LangGraph counts them: the first, and the last of errors and interrupts", async () => {
    const saver = await rathSaver(url(path, "twice"));
    const empty = { v: 4, id: uuid6(0), ts: "", channel_values: {}, channel_versions: {}, versions_seen: {} };
    const at = await saver.put({ configurable: { thread_id: "t" } }, empty, metadata, {});
    await saver.putWrites(at, [["a", 1]], "task");
    await saver.putWrites(at, [["a", 2]], "task");
    await saver.putWrites(at, [["__interrupt__", 1]], "task");
    await saver.putWrites(at, [["__interrupt__", 2]], "task");
    expect((await saver.getTuple(at))?.pendingWrites).toEqual([
      ["task", "a", 1],
      ["task", "__interrupt__", 2],
    ]);
    await saver.close();
  });

  it("[V2] a checkpoint that is put again is read as it was put last, and nothing is stored when it is the same", async () => {
    const saver = await rathSaver(url(path, "again"));
    const put = (value: string) => ({
      v: 4,
      id: "1",
      ts: "",
      channel_values: { a: value },
      channel_versions: { a: 1 },
      versions_seen: {},
    });
    const config = { configurable: { thread_id: "t", checkpoint_ns: "" } };
    const at = await saver.put(config, put("x"), metadata, { a: 1 });
    const head = await saver.store.head(saver.nameOf("t"));
    await saver.put(config, put("x"), metadata, { a: 1 });
    expect(await saver.store.head(saver.nameOf("t"))).toBe(head);
    await saver.put(config, put("y"), metadata, { a: 1 });
    expect((await saver.getTuple(at))?.checkpoint.channel_values).toEqual({ a: "y" });
    await saver.close();
  });
});
