import { saidLast } from "../agent/model/index.js";
import { hostServices, type Module } from "../runtime/index.js";
import type { FactId, Json, Session } from "../session/index.js";
import type { Store } from "../store/index.js";
import { defined, showValue } from "../util/index.js";
import type { Checks, Rebuilds, StepContext, StepResult } from "../workflow/index.js";
import {
  called,
  checkOptions,
  createModule,
  enter,
  optional,
  rebuild,
  refusing as refusingModule,
  requireFunction,
  requireModule,
  requireName,
  requireOptions,
  step,
} from "../workflow/index.js";
import { type Backend, foundIn } from "./backend.js";
import { countUpTo, QUESTION, requireBoolean, requireRoom, unchecked } from "./checks.js";
import { refusing } from "./error.js";
import type { MemorySpace } from "./memory.js";
import type { SpaceSettings } from "./operation.js";
import type { Recollection } from "./reading.js";
import { isSameReading, recollectionsIn, recollectionsOf, recordReading } from "./reading.js";
import type { Scope, ScopeGiven } from "./scope.js";
import type { Filter } from "./search/space-index.js";
import { shownOf } from "./shown.js";
import type { Space } from "./space.js";
import { checkedFilter, type FindOptions, type FoundIn, LIMIT, THRESHOLD } from "./view.js";

export type RecallOptions = Omit<FindOptions, "scope" | "under" | "now" | "signal" | "progress"> & {
  /** Whether the hits are shown to the model, as notes before the last message. Default true. */
  readonly show?: boolean;
  /** Maximum number of characters of the notes. Default 4,000. */
  readonly characters?: number;
  /** The space as it was at one of its ids. Default: as it is. */
  readonly asOf?: FactId;
  /** The scope of the reader. Memories of this scope and of wider ones are found. Default: the scope of the space. */
  readonly scope?: ScopeGiven;
};

/** The other options are those of a search, which checks them. */
const RECALL: Checks<RecallOptions> = {
  limit: optional(countUpTo(100)),
  show: optional(requireBoolean),
  characters: optional(requireRoom),
  ...unchecked("threshold asOf scope within sources trust since until by subject mode"),
};
export const RECALL_OPTIONS: readonly string[] = Object.keys(RECALL);

/** The recorded options of a recall: a second one as of then has the same result with them. */
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
): MemorySpace["recall"] {
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
      recordReading(
        context,
        {
          space: name,
          head,
          query,
          found,
          settings: {
            ...options,
            ...defined({ mode, without, backend: asker }),
            show,
            now,
            embedder: embedder.name,
          } as Json,
        },
        { to: request, notes: show ? shownOf(name, found, characters) : undefined },
      );
      return found.length;
    },
    // New texts that a backend finds are imported here, so the step must run once.
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

/** Repeats a recorded question to a memory as of then, and says whether the record has the same answer. */
export async function recallAgain(
  store: Store,
  read: FactId,
  space: Opens | Opens["open"],
): Promise<{ readonly same: boolean; readonly found: FoundIn; readonly recorded: readonly Recollection[] }> {
  const use = `ask a memory again as ${read.slice(0, 12)} did`;
  const { fact } = await store.load(read);
  if (fact.type !== "memory-read" || fact.head === undefined)
    throw refusing(use, "unknown")(
      fact.type === "memory-read" ? "the space was empty" : `that is a ${fact.type}`,
      "the id of a memory-read that names the head of the space",
    );
  const { backend, part } = (fact.settings ?? {}) as { readonly backend?: string; readonly part?: string };
  if (backend !== undefined || part !== undefined || typeof fact.query !== "string")
    throw refusing(use, "refused")(
      backend === undefined
        ? "it was not a question in words"
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
  const recorded = recollectionsOf(fact);
  return { same: isSameReading(found.found, recorded), found, recorded };
}

function checked(query: unknown, options: RecallOptions, home: Scope, name: string): Asked {
  const refuse = refusingModule(`recall from "${name}"`);
  if (typeof query !== "string")
    throw refuse(
      `what is asked for is ${showValue(query)}`,
      'notes.recall(session, "how are releases made?")',
    );
  checkOptions(options, RECALL, refuse, "{ limit: 5, threshold: 0.3 }");
  const { show = true, characters = 4_000, asOf, ...rest } = options;
  const {
    limit = LIMIT,
    threshold = THRESHOLD,
    scope = home,
    ...filter
  } = checkedFilter(rest as FindOptions, name);
  return { limit, threshold, show, characters, scope, ...filter, ...defined({ asOf }) } as Asked;
}

/** Asks a memory from a session: the same as its own `recall`, as a function of the session. */
export async function recall(
  session: Session,
  query: string,
  options: RecallOptions & { readonly from: Pick<MemorySpace, "recall"> },
): Promise<StepResult<readonly Recollection[]>> {
  const { from, ...rest } = options;
  if (typeof from?.recall !== "function")
    throw refusingModule("recall")("it does not say which memory", "recall(session, query, { from: notes })");
  return from.recall(session, query, rest);
}

type Opens = Pick<MemorySpace, "open">;

export type RememberingOptions = RecallOptions & {
  readonly from: MemorySpace;
  /** The query. Default: the last message of the person. */
  readonly query?: (session: Session) => string;
};

const KNOWN = [...RECALL_OPTIONS, "from", "query"];

/**
 * A module before which a memory is asked about what was said last: an agent inside it reads what was found as notes.
 *
 * ```ts
 * const helper = remembering("helper", agent({ name: "coder", model }), { from: notes, limit: 3 });
 * ```
 */
export function remembering(name: string, module: Module, options: RememberingOptions): Module & Rebuilds {
  requireName(name, "remembering", 'remembering("helper", coder, { from: notes })');
  const where = called("remembering", name);
  const refuse = refusingModule(where);
  const body = requireModule(module, where);
  requireOptions(options, refuse, "say which memory: { from: notes }", KNOWN);
  const { from, query = saidLast, ...recall } = options;
  if (typeof from?.recall !== "function")
    throw refuse("it does not say which memory", 'from: memory({ name: "notes", scope: "project:rath" })');
  requireFunction(query, "query", refuse, "query: (session) => the text to look for");
  return createModule<Omit<Module, "forward"> & Rebuilds>(
    {
      name,
      kind: "remembering",
      parts: Object.freeze({ [body.name]: body }),
      state: Object.freeze({ memory: from.name, ...(recall as { readonly [option: string]: Json }) }),
      [rebuild]: ({ memory: _, ...state }, parts) =>
        remembering(name, parts[body.name] as Module, { from, query, ...(state as RecallOptions) }),
    },
    async (entered) => {
      const asked = query(entered);
      if (asked.trim() === "") return enter(body, entered);
      const { session } = await from.recall(entered, asked, recall);
      return enter(body, session);
    },
  );
}
