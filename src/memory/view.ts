import type { FactId } from "../session/index.js";
import type { Store } from "../store/index.js";
import { defined, firstLine } from "../util/index.js";
import { type Checks, checkOptions, optional, requireCount } from "../workflow/index.js";
import { listOf, oneOf, requireShare, unchecked } from "./checks.js";
import { derivedOf, type Progress } from "./derived.js";
import type { Embedder } from "./embedding/embedder.js";
import { EmbeddingError } from "./embedding/table.js";
import { refusing } from "./error.js";
import { storeNameOf } from "./name.js";
import { timeOf } from "./operation.js";
import { scopeOf } from "./scope.js";
import type { Filter, Found, FindOptions as Search, SpaceIndex } from "./search/space-index.js";
import { SOURCES } from "./source.js";
import type { Memory, Status } from "./state.js";

export type ListOptions = Filter & {
  readonly statuses?: readonly Status[];
  /** The time at which memories count as expired. Default: now. */
  readonly now?: string;
};

export type FindOptions = Partial<Search> & { readonly progress?: Progress };

/** The hits, and the id of the space: the same question as of that id has the same answer. */
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

  /** All memories that are live, or in other states, in order of writing; a scope restricts them. */
  async list(options: ListOptions = {}): Promise<readonly Memory[]> {
    return (await this.listed(options)).memories;
  }

  /** The same, with the id of the space as of which they are listed. */
  async listed(
    options: ListOptions = {},
  ): Promise<{ readonly head: FactId | undefined; readonly memories: readonly Memory[] }> {
    const {
      statuses = ["live"],
      now = new Date().toISOString(),
      ...filter
    } = checkedFilter(options, this.name);
    // No fact records that a memory's time has passed.
    const more = statuses.includes("expired") || statuses.includes("held");
    const asked = more ? [...new Set([...statuses, "live" as const])] : statuses;
    const { head, listed } = await this.use(async (index) => ({
      head: index.head,
      listed: index.list({ ...filter, statuses: asked }),
    }));
    // A live memory with a revision that waits for approval is held too.
    const held = statuses.includes("held");
    const memories = listed
      .map((one) => asOfNow(one, now))
      .filter(({ status, waiting }) => statuses.includes(status) || (held && waiting !== undefined));
    return { head, memories };
  }

  /** The memories that answer a question best. Uses word search when the embedder fails (see `without`). */
  async find(query: string, options: FindOptions = {}): Promise<FoundIn> {
    const {
      limit = LIMIT,
      threshold = THRESHOLD,
      now = new Date().toISOString(),
      ...rest
    } = checkedFilter(options, this.name);
    const { progress, ...asked } = rest;
    if (typeof query !== "string")
      throw refusing(`search "${this.name}"`)("it asks for no text", 'find("how are releases made?")');
    const look = (mode: FindOptions["mode"]): Promise<FoundIn> =>
      this.use(
        async (index) => ({
          head: index.head,
          now,
          limit,
          threshold,
          found: await index.find(query, { ...asked, ...defined({ mode }), limit, threshold, now }),
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

const STATUSES: readonly Status[] = ["live", "held", "revoked", "expired", "merged"];

const FILTER: Checks<ListOptions & FindOptions> = {
  statuses: optional(listOf(STATUSES)),
  sources: optional(listOf(SOURCES)),
  mode: optional(oneOf(["fused", "words", "meaning"])),
  trust: optional(oneOf(["trusted"])),
  limit: optional(requireCount),
  threshold: optional(requireShare),
  ...unchecked("scope within since until by subject under now signal progress"),
};

/** For callers the compiler did not check: a misspelt filter would filter nothing. */
export function checkedFilter<Options extends ListOptions & FindOptions>(
  options: Options,
  name: string,
): Options {
  const use = `search "${name}"`;
  checkOptions(options, FILTER as Checks<Options>, refusing(use), '{ scope: ["project:rath"], limit: 5 }');
  const times = (["since", "until", "now"] as const).flatMap((field) =>
    options[field] === undefined ? [] : [[field, timeOf(options[field], use, field)]],
  );
  const { scope } = options;
  return {
    ...options,
    ...Object.fromEntries(times),
    ...(scope !== undefined && { scope: scopeOf(scope, use) }),
  };
}
