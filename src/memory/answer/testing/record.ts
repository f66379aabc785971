import { blobOf } from "../../../session/blob.js";
import {
  digestOf,
  type Fact,
  type FactId,
  INLINE_BYTES,
  type Principal,
  writeLine,
} from "../../../session/index.js";
import type { Store } from "../../../store/index.js";

export type Recorded = { readonly id: FactId; readonly parents: readonly FactId[]; readonly fact: Fact };

type Body = {
  readonly type: Fact["type"];
  readonly by?: Principal;
  readonly at?: string;
  readonly [field: string]: unknown;
};

/** A record that is written by hand, fact by fact, and the store that it goes to. */
export class HandRecord {
  readonly facts = new Map<FactId, Recorded>();
  readonly #lines: string[] = [];
  readonly #inline: number;
  #count = 0;

  constructor(inline = INLINE_BYTES) {
    this.#inline = inline;
  }

  add(parents: readonly FactId[], { type, by = "agent", at = this.#time(), ...body }: Body): FactId {
    const fact = { type, at, by, ...body } as unknown as Fact;
    const line = writeLine(parents, fact, { inline: this.#inline });
    for (const value of Object.values(body)) {
      const { ref, bytes } = blobOf(value as never, undefined);
      if (line.includes(ref.digest))
        this.#lines.push(JSON.stringify({ blob: ref.digest, data: Buffer.from(bytes).toString("base64") }));
    }
    this.#lines.push(line);
    const id = digestOf(line);
    this.facts.set(id, { id, parents, fact });
    return id;
  }

  start(text?: string): FactId {
    return this.add([], {
      type: "session-start",
      by: "user",
      nonce: String(this.#count),
      ...(text !== undefined && { text }),
    });
  }

  detach(from: FactId): FactId {
    return this.add([], {
      type: "session-detach",
      by: "user",
      nonce: String(this.#count),
      from,
      messages: [],
    });
  }

  /** A reading that found these. */
  read(parent: FactId, memories: readonly FactId[], more: object = {}): FactId {
    const hits = memories.map((memory) => ({ memory, score: 0.5, text: "…" }));
    return this.add([parent], { type: "memory-read", space: "notes", query: "?", hits, shown: "…", ...more });
  }

  /** A memory of a space that stands at `parent`. */
  write(parent: FactId, because: readonly FactId[], more: object = {}): FactId {
    return this.add([parent], {
      type: "memory-write",
      space: "notes",
      text: `memory ${this.#count}`,
      scope: "user:ada",
      source: "reflection",
      because,
      ...more,
    });
  }

  say(parent: FactId, content: string, by: Principal = "user"): FactId {
    return this.add([parent], { type: "message-say", by, role: "user", content });
  }

  reply(parent: FactId, content = "so"): FactId {
    const call = this.add([parent], { type: "model-call", model: "m" });
    return this.add([call], {
      type: "model-reply",
      by: "service",
      of: call,
      content,
      finish: "stop",
      usage: { input: 1, output: 1 },
    });
  }

  tool(parent: FactId, output: unknown = "done"): FactId {
    const call = this.add([parent], { type: "tool-call", name: "look", input: { at: this.#count } });
    return this.add([call], { type: "tool-result", by: "tool:look", of: call, output });
  }

  /** Brings what was written since the last time to a store. */
  async to(store: Store, names: { readonly [name: string]: FactId | null } = {}): Promise<void> {
    await store.import(this.#lines.splice(0));
    for (const [name, id] of Object.entries(names)) {
      if (id !== null) await store.point(name, id, { force: true });
      else if ((await store.head(name)) !== undefined) await store.forget(name);
    }
  }

  #time(): string {
    return new Date(Date.UTC(2026, 0, 1) + this.#count++ * 1_000).toISOString();
  }
}
