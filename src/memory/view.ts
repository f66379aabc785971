import type { FactId } from "../session/index.js";
import type { Store } from "../store/index.js";
import { defined, firstLine, optionNames, showValue } from "../util/index.js";
import { requireCount, requireOptions } from "../workflow/index.js";
import { derivedOf, type Progress } from "./derived.js";
import { timeOf } from "./draft.js";
import type { Embedder } from "./embedding/embedder.js";
import { EmbeddingError } from "./embedding/error.js";
import { MemoryRefusedError, refusing } from "./error.js";
import { storeNameOf } from "./name.js";
import { scopeOf } from "./scope.js";
import type { Filter, Found, SpaceIndex } from "./search/space-index.js";
import { SOURCES } from "./source.js";
import type { Memory, Status } from "./state.js";

export type ListOptions = Filter & {
  readonly statuses?: readonly Status[];
  /** The time by which is told what has expired. Default: now. */
  readonly now?: string;
};

export type FindOptions = Filter & {
  /** Maximum number of memories. Default 5. */
  readonly limit?: number;
  /** The score that a memory must have at least, from 0 to 1. */
  readonly threshold?: number;
  /** The time by which is told what has expired. Default: now. */
  readonly now?: string;
  /** What counts: words, meaning, or both (the default). */
  readonly mode?: "fused" | "words" | "meaning";
  readonly signal?: AbortSignal;
  readonly progress?: Progress;
};

/** What was found, and where the space stood then: the same question as of that id has the same answer. */
export type FoundIn = {
  readonly head: FactId | undefined;
  readonly now: string;
  readonly limit: number;
  readonly threshold: number;
  readonly found: readonly Found[];
  /** Words alone, because of this. */
  readonly mode?: "words";
  readonly without?: string;
};

export const LIMIT = 5;
/** Where the best answers to unrelated questions end, and most right ones begin (`search/find.ts` says how scores are made). */
export const THRESHOLD = 0.25;

/** A memory space to be read: as it is, or as it was at one id of it. */
export class SpaceView {
  readonly name: string;
  readonly store: Store;
  readonly embedder: Embedder;
  readonly #at: FactId | undefined;

  constructor(store: Store, name: string, embedder: Embedder, at?: FactId) {
    this.store = store;
    this.name = name;
    this.embedder = embedder;
    this.#at = at;
  }

  /** Where it stands; undefined when nothing was ever written to it. */
  async head(): Promise<FactId | undefined> {
    return this.#at ?? this.store.head(storeNameOf(this.name));
  }

  /** A memory by its id, or at least the first 8 digits of it, whatever became of it; undefined when it is not in the space. */
  async get(id: FactId): Promise<Memory | undefined> {
    const whole = await this.#whole(id);
    const memory = whole === undefined ? undefined : await this.use(async (index) => index.get(whole));
    return memory === undefined ? undefined : asOfNow(memory, new Date().toISOString());
  }

  /**
   * All memories that are live, or of other states, in the order in which they were written. Whoever opens a space sees what
   * is kept for anybody; with a scope, what holds there.
   */
  async list(options: ListOptions = {}): Promise<readonly Memory[]> {
    const {
      statuses = ["live"],
      now = new Date().toISOString(),
      ...filter
    } = checkedFilter(options, this.name);
    // What has expired by itself has no fact that says so.
    const more = statuses.includes("expired") || statuses.includes("held");
    const asked = more ? [...new Set([...statuses, "live" as const])] : statuses;
    const listed = await this.use(async (index) => index.list({ ...filter, statuses: asked }));
    // One that is told, and of which a revision waits for somebody's word, is for those who look for what waits too.
    const held = statuses.includes("held");
    return [...listed]
      .map((one) => asOfNow(one, now))
      .filter(({ status, waiting }) => statuses.includes(status) || (held && waiting !== undefined));
  }

  /**
   * The memories that answer a question best. Where whoever embeds does not answer, words are better than nothing, and it
   * says so.
   */
  async find(query: string, options: FindOptions = {}): Promise<FoundIn> {
    const {
      limit = LIMIT,
      threshold = THRESHOLD,
      now = new Date().toISOString(),
      ...rest
    } = checkedFilter(options, this.name);
    const { progress, ...asked } = rest;
    if (typeof query !== "string")
      throw new MemoryRefusedError(
        "option",
        `search "${this.name}"`,
        "it asks for no text",
        'find("how are releases made?")',
      );
    const look = (mode: FindOptions["mode"]): Promise<FoundIn> =>
      this.use(
        async (index) => ({
          head: index.head,
          now,
          limit,
          threshold,
          found: await index.find(query, {
            ...asked,
            ...defined({ mode }),
            limit,
            threshold,
            now,
          }),
        }),
        { progress, signal: options.signal },
      );
    try {
      return await look(asked.mode);
    } catch (error) {
      if (!(error instanceof EmbeddingError) || asked.mode === "meaning") throw error;
      return { ...(await look("words")), mode: "words", without: firstLine(error.message) };
    }
  }

  /** Makes the index now and not at the first question, and says how far it has come. */
  async prepare(progress?: Progress): Promise<void> {
    await this.use(async () => {}, { progress });
  }

  /** The whole of an id of which the beginning was given. */
  async #whole(id: unknown): Promise<FactId | undefined> {
    if (typeof id !== "string" || !/^[0-9a-f]{8,64}$/.test(id)) return undefined;
    if (id.length === 64) return id;
    return this.store.resolve(id).catch(() => undefined);
  }

  protected use<Value>(
    act: (index: SpaceIndex) => Promise<Value>,
    options: { readonly progress?: Progress | undefined; readonly signal?: AbortSignal | undefined } = {},
  ): Promise<Value> {
    const space = storeNameOf(this.name);
    return derivedOf(this.store).use({ ...options, space, at: this.#at, embedder: this.embedder }, act);
  }
}

/** Uses the index of a space as it is now. Nobody else uses it meanwhile. */
export function useIndex<Value>(
  space: SpaceView,
  act: (index: SpaceIndex) => Promise<Value>,
): Promise<Value> {
  return derivedOf(space.store).use({ space: storeNameOf(space.name), embedder: space.embedder }, act);
}

/** A memory whose time has passed is as one that was expired. */
function asOfNow(memory: Memory, now: string): Memory {
  const { status, expires } = memory;
  return status === "live" && expires !== undefined && expires <= now
    ? { ...memory, status: "expired", why: `it was to be told until ${expires}` }
    : memory;
}

const OPTIONS = optionNames<ListOptions & FindOptions>()(
  "scope within sources trust since until by subject under",
  "statuses now limit threshold mode signal progress",
);

/** For callers the compiler did not check: a filter that is misspelt would be none. */
export function checkedFilter<Options extends ListOptions & FindOptions>(
  options: Options,
  name: string,
): Options {
  const use = `search "${name}"`;
  const refuse = refusing(use);
  requireOptions(options, refuse, '{ scope: ["project:rath"], limit: 5 }', OPTIONS);
  const { scope, statuses, sources, mode, limit, threshold, trust } = options;
  if (statuses !== undefined && !(Array.isArray(statuses) && statuses.every((one) => STATUSES.includes(one))))
    throw refuse(`its \`statuses\` are ${showValue(statuses)}`, `a list of ${STATUSES.join(", ")}`);
  if (sources !== undefined && !(Array.isArray(sources) && sources.every((one) => SOURCES.includes(one))))
    throw refuse(`its \`sources\` are ${showValue(sources)}`, `a list of ${SOURCES.join(", ")}`);
  if (mode !== undefined && !["fused", "words", "meaning"].includes(mode))
    throw refuse(`its \`mode\` is ${showValue(mode)}`, '"fused", "words" or "meaning"');
  if (trust !== undefined && trust !== "trusted")
    throw refuse(`its \`trust\` is ${showValue(trust)}`, 'trust: "trusted"');
  if (limit !== undefined) requireCount(limit, "limit", refuse);
  if (threshold !== undefined && !(threshold >= 0 && threshold <= 1))
    throw refuse(`its \`threshold\` is ${showValue(threshold)}`, "from 0 to 1");
  const times = Object.fromEntries(
    (["since", "until", "now"] as const).flatMap((field) =>
      options[field] === undefined ? [] : [[field, timeOf(options[field], use, field)]],
    ),
  );
  return { ...options, ...times, ...(scope !== undefined && { scope: scopeOf(scope, use) }) };
}

const STATUSES: readonly Status[] = ["live", "held", "revoked", "expired", "merged"];
