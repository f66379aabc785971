import { askedLast } from "../agent/model/index.js";
import { hostServices } from "../runtime/index.js";
import type { FactId, FactOf, Json, Session } from "../session/index.js";
import type { Store } from "../store/index.js";
import { defined, optionNames, showValue } from "../util/index.js";
import {
  refusing,
  requireCount,
  requireOptions,
  type StepContext,
  type StepResult,
  step,
} from "../workflow/index.js";
import type { Backend } from "./backend.js";
import { MemoryRefusedError } from "./error.js";
import { foundIn } from "./mirror.js";
import type { SpaceSettings } from "./operation.js";
import type { Scope, ScopeGiven } from "./scope.js";
import type { Filter, Found } from "./search/space-index.js";
import { shownOf } from "./shown.js";
import type { Source } from "./source.js";
import type { Space } from "./space.js";
import { checkedFilter, type FindOptions, type FoundIn, LIMIT, THRESHOLD } from "./view.js";

export type RecallOptions = {
  /** How many at most. Default 5. */
  readonly limit?: number;
  /** The score that a memory must have at least to be told, from 0 to 1. */
  readonly threshold?: number;
  /** Whether the model is told it, as notes before what was said last. Default true. */
  readonly show?: boolean;
  /** Characters that the notes have at most. Default 4,000. */
  readonly characters?: number;
  /** The space as it was at one of its ids. Default: as it is. */
  readonly asOf?: FactId;
  /** Where the reader is: what is kept for there, or for more than that, is found. Default: the scope of the space. */
  readonly scope?: ScopeGiven;
  /** Whether what is kept for less than that is found too. */
  readonly within?: boolean;
  readonly sources?: readonly Source[];
  /** Only what rests on evidence that is all trusted. */
  readonly trust?: "trusted";
  /** Written or revised in this time. */
  readonly since?: string;
  readonly until?: string;
  readonly by?: string;
  readonly subject?: string;
  readonly mode?: "fused" | "words" | "meaning";
};

/** A memory that was found, as it is on the record of who asked. */
export type Recollection = {
  readonly memory: FactId;
  readonly version: FactId;
  readonly text: string;
  readonly score: number;
  /** What the score is made of, where the memory comes from, and whether the model was told it. */
  readonly parts: {
    readonly words: number;
    readonly meaning: number;
    readonly [part: string]: Json;
  };
};

export const RECALL_OPTIONS = optionNames<RecallOptions>()(
  "limit threshold show characters asOf scope within sources trust since until by subject",
  "mode",
);
const CHARACTERS = 4_000;
const MOST = 100;
/** More of a question than this finds nothing more. */
export const QUESTION = 8_192;

/** What is put on the record of a recall, and what a second one as of then needs to come to the same. */
type Asked = Required<Pick<RecallOptions, "limit" | "threshold" | "show" | "characters">> &
  Omit<Filter, "scope"> & {
    readonly scope: Scope;
    readonly asOf?: FactId;
    readonly mode?: RecallOptions["mode"];
  };

export function recallFrom(
  { name, scope: home, embedder }: SpaceSettings,
  open: (store: Store) => Space,
  backend?: Backend,
): (
  session: Session,
  query: string,
  options?: RecallOptions,
) => Promise<StepResult<readonly Recollection[]>> {
  const look = step(
    `recall from ${name}`,
    async ({ query, ...asked }: { readonly query: string } & Asked, context: StepContext) => {
      const { request, signal } = context;
      const space = open(await context.store());
      const { asOf, show, characters, ...options } = asked;
      const view = asOf === undefined ? space : await space.at(asOf);
      const now = hostServices(request).time();
      const finding = { ...(options as Filter), ...options, now, signal } as FindOptions;
      // Another system knows only what is, not what was.
      const {
        found,
        head,
        mode,
        without,
        backend: asker,
      } = backend === undefined || asOf !== undefined
        ? { ...(await view.find(query, finding)), backend: undefined }
        : await foundIn(space, backend, query, finding, context, context.redact);
      const weakened = {
        ...defined({ mode, without, backend: asker }),
      };
      const told = show ? shownOf(name, found, characters) : undefined;
      const before = askedLast(request);
      context.record({
        type: "memory-read",
        space: name,
        ...defined({ head }),
        query,
        hits: found.map((one) => hitOf(one, told?.memories ?? [])),
        settings: { ...options, ...weakened, show, now, embedder: embedder.name } as unknown as Json,
        ...(told !== undefined && { shown: told.text }),
        ...(told !== undefined && before !== undefined && { before }),
      });
      return found.length;
    },
    // What a backend finds that nobody knew of is written down here: once.
    { effect: backend === undefined ? "read" : "idempotent", origin: "memory" },
  );
  return async (session, query, options = {}) => {
    const asked = checked(query, options, home, name);
    const { session: told } = await look.call(session, {
      query: query.slice(0, QUESTION).toWellFormed(),
      ...asked,
    } as never);
    return { session: told, value: recollectionsIn(told) };
  };
}

/** What the newest reading on the way to a session found. */
export function recollectionsIn(session: Session): readonly Recollection[] {
  for (let node: Session | undefined = session; node !== undefined; node = node.parents[0])
    if (node.fact.type === "memory-read") return hitsOf(node.fact);
  return [];
}

function hitsOf(read: FactOf<"memory-read">): readonly Recollection[] {
  // Content that was erased since is no list.
  if (!Array.isArray(read.hits)) return [];
  return read.hits.map(({ memory, version = memory, text = "", score, parts }) => ({
    memory,
    version,
    text,
    score,
    parts: (parts ?? { words: 0, meaning: 0 }) as Recollection["parts"],
  }));
}

export function hitOf(
  { memory, score, parts, alike }: Found,
  told: readonly FactId[],
): FactOf<"memory-read">["hits"][number] {
  const { id, version, text, source, by, at, trust, scope, contradicts } = memory;
  return {
    memory: id,
    version,
    score,
    text,
    parts: {
      ...parts,
      told: told.includes(id),
      source,
      by,
      at,
      trust,
      scope: scope as unknown as Json,
      ...(contradicts.length > 0 && { contradicts }),
      ...(alike.length > 0 && { alike }),
    },
  };
}

/**
 * Asks again what a session asked a memory, as of then: the same space, the same time, the same settings. Says what is found,
 * and whether it is what the record says.
 */
export async function recallAgain(
  store: Store,
  read: FactId,
  space: Opens | Opens["open"],
): Promise<{ readonly same: boolean; readonly found: FoundIn; readonly recorded: readonly Recollection[] }> {
  const { fact } = await store.load(read);
  if (fact.type !== "memory-read" || fact.head === undefined)
    throw new MemoryRefusedError(
      "unknown",
      `ask a memory again as ${read.slice(0, 12)} did`,
      fact.type === "memory-read" ? "the space was empty" : `that is a ${fact.type}`,
      "the id of a memory-read that names where the space stood",
    );
  const { backend, part } = (fact.settings ?? {}) as { readonly backend?: string; readonly part?: string };
  if (backend !== undefined || part !== undefined || typeof fact.query !== "string")
    throw new MemoryRefusedError(
      "refused",
      `ask a memory again as ${read.slice(0, 12)} did`,
      backend === undefined
        ? "it was no question in words"
        : "another system was asked, which knows only what it has now",
      "look at the hits of the memory-read: they are what was found",
    );
  const open = typeof space === "function" ? space : space.open;
  const view = await open(store).at(fact.head);
  const {
    embedder: _,
    without: __,
    show: ___,
    tool: ____,
    ...settings
  } = (fact.settings ?? {}) as { readonly [setting: string]: Json };
  const found = await view.find(String(fact.query), settings as object);
  const recorded = hitsOf(fact);
  const same =
    found.found.length === recorded.length &&
    found.found.every(({ memory, score }, place) => {
      const hit = recorded[place] as Recollection;
      return (
        hit?.memory === memory.id &&
        hit.version === memory.version &&
        hit.score === score &&
        hit.text === memory.text
      );
    });
  return { same, found, recorded };
}

function checked(query: unknown, options: RecallOptions, home: Scope, name: string): Asked {
  const refuse = refusing(`recall from "${name}"`);
  if (typeof query !== "string")
    throw refuse(
      `what is asked for is ${showValue(query)}`,
      'notes.recall(session, "how are releases made?")',
    );
  requireOptions(options, refuse, "{ limit: 5, threshold: 0.3 }", RECALL_OPTIONS);
  const { show = true, characters = CHARACTERS, asOf, ...rest } = options;
  const {
    limit = LIMIT,
    threshold = THRESHOLD,
    scope = home,
    ...filter
  } = checkedFilter(rest as FindOptions, name);
  if (limit > MOST) throw refuse(`its \`limit\` is more than ${MOST}`, `limit: ${MOST}`);
  requireCount(characters, "characters", refuse, 200);
  if (typeof show !== "boolean") throw refuse(`its \`show\` is ${showValue(show)}`, "show: false");
  return {
    limit,
    threshold,
    show,
    characters,
    scope,
    ...filter,
    ...defined({ asOf }),
  } as Asked;
}

/** Asks a memory from a session: the same as its own `recall`, for whoever thinks of the session first. */
export async function recall(
  session: Session,
  query: string,
  options: RecallOptions & { readonly from: Recalls },
): Promise<StepResult<readonly Recollection[]>> {
  const { from, ...rest } = options;
  if (typeof from?.recall !== "function")
    throw refusing("recall")("it does not say which memory", "recall(session, query, { from: notes })");
  return from.recall(session, query, rest);
}

type Opens = { readonly open: (store: Store) => Space };

type Recalls = {
  recall(
    session: Session,
    query: string,
    options?: RecallOptions,
  ): Promise<StepResult<readonly Recollection[]>>;
};
