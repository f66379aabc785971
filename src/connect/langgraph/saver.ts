import type {
  BaseCheckpointSaver,
  Checkpoint,
  CheckpointListOptions,
  CheckpointMetadata,
  CheckpointPendingWrite,
  CheckpointTuple,
  DeltaChannelHistory,
  PendingWrite,
  SerializerProtocol,
} from "@langchain/langgraph-checkpoint";
import { canonical, type Json, type Session } from "../../session/index.js";
import { openStore, type Store } from "../../store/index.js";
import { nearestOf } from "../../util/index.js";
import { type Entry, entryOf, heldOf } from "./entry.js";
import {
  CheckpointUnreadableError,
  PeerMissingError,
  SaverInputError,
  ThreadMismatchError,
} from "./error.js";
import type { Dumped, Held } from "./held.js";
import type { Ledger } from "./ledger.js";
import { nameOfThread, PREFIX, threadOfName } from "./name.js";
import { type Put, type PutWrites, threadIn } from "./note.js";
import { lastOf, type Spot, type Write } from "./spot.js";
import { Thread } from "./thread.js";
import { SILENCE } from "./words.js";

type Peer = typeof import("@langchain/langgraph-checkpoint");
type Config = Parameters<BaseCheckpointSaver["getTuple"]>[0];
type Versions = Parameters<BaseCheckpointSaver["put"]>[3];

export type RathSaverOptions = {
  /** How values become bytes. Default: LangGraph's own. */
  readonly serde?: SerializerProtocol;
  /** What the names of threads begin with. Default "langgraph/". */
  readonly prefix?: string;
  /**
   * Two graphs at work on one thread at once: "fork" (the default) keeps both, each on a branch of its own; "refuse"
   * stops the one that comes second with a `ThreadConflictError`.
   */
  readonly race?: "fork" | "refuse";
  /** Keeps every content in a salted blob, so that it can be erased. */
  readonly erasable?: boolean;
};

/** A checkpointer of LangGraph whose threads are sessions. */
export interface RathSaver extends BaseCheckpointSaver {
  readonly store: Store;
  /** The name that a thread has in the store. */
  nameOf(thread: string): string;
  /** The session of a thread where LangGraph would go on; undefined when there is no such thread. */
  session(thread: string): Promise<Session | undefined>;
  /** Waits for what is being written, and closes the store if the saver opened it. */
  close(): Promise<void>;
}

const OPTIONS: { readonly [option in keyof RathSaverOptions]-?: true } = {
  serde: true,
  prefix: true,
  race: true,
  erasable: true,
};
/** So many threads are held in memory; those that nobody asked for lately are read again when somebody does. */
const MOST_THREADS = 256;
const TASKS = "__pregel_tasks";

/**
 * A checkpointer for LangGraph over a store of ours, or over the URL of one.
 *
 * ```ts
 * const graph = builder.compile({ checkpointer: await rathSaver("sqlite:./rath.db") });
 * ```
 *
 * A step stores what is new in it; an `updateState` at an earlier checkpoint is a branch of the session; and what was
 * said, called and answered stands in the record as such.
 */
export async function rathSaver(store: Store | string, options: RathSaverOptions = {}): Promise<RathSaver> {
  requireOptions(options);
  const peer = await loadPeer();
  const opened = typeof store === "string" ? await openStore(store) : undefined;
  return new (saverClass(peer))(opened ?? (store as Store), opened !== undefined, options);
}

async function loadPeer(): Promise<Peer> {
  try {
    return await import("@langchain/langgraph-checkpoint");
  } catch (error) {
    throw new PeerMissingError("@langchain/langgraph-checkpoint", "make a checkpointer for LangGraph", error);
  }
}

type SaverClass = new (store: Store, owned: boolean, options: RathSaverOptions) => RathSaver;
const classes = new WeakMap<Peer, SaverClass>();

/** LangGraph's class is only known once its package is loaded, and ours extends it. */
function saverClass(peer: Peer): SaverClass {
  const known = classes.get(peer);
  if (known !== undefined) return known;
  class RathSaverClass extends peer.BaseCheckpointSaver implements RathSaver {
    readonly store: Store;
    readonly #owned: boolean;
    readonly #options: RathSaverOptions;
    readonly #threads = new Map<string, Thread>();
    #closed = false;

    constructor(store: Store, owned: boolean, options: RathSaverOptions) {
      super(options.serde);
      this.store = store;
      this.#owned = owned;
      this.#options = options;
    }

    override toJSON(): string {
      return "[RathSaver]";
    }

    nameOf(thread: string): string {
      return nameOfThread(thread, this.#prefix);
    }

    async session(thread: string): Promise<Session | undefined> {
      const name = this.nameOf(thread);
      await this.#thread(thread).read(() => {});
      return (await this.store.head(name)) === undefined ? undefined : this.store.load(name);
    }

    async close(): Promise<void> {
      this.#closed = true;
      await Promise.all([...this.#threads.values()].map((thread) => thread.settle().catch(() => {})));
      this.#threads.clear();
      if (this.#owned) await this.store.close();
    }

    async getTuple(config: Config): Promise<CheckpointTuple | undefined> {
      const { thread, namespace, id } = targetOf(config);
      if (thread === undefined) return undefined;
      const found = await this.#thread(thread).read((ledger) => {
        const spot = id === undefined ? ledger.newest(namespace) : ledger.spot(namespace, id);
        return spot && this.#look(ledger, spot);
      });
      return found && this.#tuple(thread, found);
    }

    async *list(config: Config, options: CheckpointListOptions = {}): AsyncGenerator<CheckpointTuple> {
      const { thread, id } = targetOf(config);
      const namespace = config.configurable?.checkpoint_ns as string | undefined;
      const before = options.before?.configurable?.checkpoint_id as string | undefined;
      const found: { readonly thread: string; readonly namespace: string; readonly id: string }[] = [];
      for (const each of thread === undefined ? await this.#all() : [thread]) {
        const reading = this.#thread(each).read((ledger) =>
          ledger.spots
            .filter((spot) => namespace === undefined || spot.namespace === namespace)
            .filter((spot) => (id === undefined || spot.id === id) && (!before || spot.id < before))
            .map((spot) => ({ thread: each, namespace: spot.namespace, id: spot.id })),
        );
        // Of all threads those are listed that are what their names say.
        const skipped = (error: unknown): [] => {
          if (thread === undefined && error instanceof ThreadMismatchError) return [];
          throw error;
        };
        found.push(...(await reading.catch(skipped)));
      }
      found.sort((one, other) => (one.id < other.id ? 1 : one.id > other.id ? -1 : 0));
      let left = options.limit ?? Number.POSITIVE_INFINITY;
      for (const place of found) {
        if (left <= 0) return;
        const seen = await this.#thread(place.thread).read((ledger) => {
          const spot = ledger.spot(place.namespace, place.id);
          return spot && this.#look(ledger, spot);
        });
        // It may have been deleted since.
        if (seen === undefined || !(await this.#fits(seen.spot, options.filter))) continue;
        left--;
        yield await this.#tuple(place.thread, seen);
      }
    }

    async put(
      config: Config,
      checkpoint: Checkpoint,
      metadata: CheckpointMetadata,
      newVersions: Versions,
    ): Promise<Config> {
      const { thread, namespace, id: parent } = targetOf(config);
      if (thread === undefined) throw missing("keep a checkpoint", "thread_id");
      if (typeof checkpoint?.id !== "string" || checkpoint.id === "")
        throw new SaverInputError(
          "keep a checkpoint",
          "it has no id",
          "pass what LangGraph made: emptyCheckpoint()",
        );
      // Everything is serialised now: the graph goes on and may change what it handed over.
      const act = this.#prepared(
        checkpoint,
        metadata,
        newVersions,
        namespace,
        parent,
        rootOf(config, metadata),
      );
      await this.#thread(thread).write(
        act.then((put) => ({ checkpoint: parent ?? put.id, run: (scribe) => scribe.put(put) })),
      );
      return configOf(thread, namespace, checkpoint.id);
    }

    async putWrites(config: Config, writes: PendingWrite[], taskId: string): Promise<void> {
      const { thread, namespace, id } = targetOf(config);
      if (thread === undefined) throw missing("keep writes", "thread_id");
      if (id === undefined) throw missing("keep writes", "checkpoint_id");
      const dumps = writes.map(async ([channel, value], index): Promise<PutWrites["writes"][number]> => {
        const place = Object.hasOwn(peer.WRITES_IDX_MAP, channel) ? peer.WRITES_IDX_MAP[channel] : undefined;
        return { place: place ?? index, channel, value: await this.#dump(value) };
      });
      const root = rootOf(config, undefined);
      await this.#thread(thread).write(
        Promise.all(dumps).then((dumped) => ({
          checkpoint: id,
          after: { namespace, id },
          run: (scribe) => scribe.putWrites({ namespace, id, root, task: taskId, writes: dumped }),
        })),
      );
    }

    async deleteThread(threadId: string): Promise<void> {
      const { thread } = targetOf({ configurable: { thread_id: threadId } });
      if (thread === undefined) throw missing("delete a thread", "thread_id");
      await this.#thread(thread).delete();
    }

    /** What a channel was made of, on the way to this checkpoint and nowhere else. */
    override async getDeltaChannelHistory(options: {
      config: Config;
      channels: string[];
    }): Promise<Record<string, DeltaChannelHistory>> {
      const { thread, namespace, id } = targetOf(options.config);
      if (thread === undefined || options.channels.length === 0) return {};
      const found = await this.#thread(thread).read((ledger) => {
        const target = id === undefined ? ledger.newest(namespace) : ledger.spot(namespace, id);
        return options.channels.map((channel) => historyOf(ledger, target, channel));
      });
      const histories = found.map(async ({ channel, writes, seed }) => {
        const history: DeltaChannelHistory = {
          writes: await Promise.all(writes.map((write) => this.#revived(write))),
          ...(seed !== undefined && { seed: await this.#load(seed) }),
        };
        return [channel, history] as const;
      });
      return Object.fromEntries(await Promise.all(histories));
    }

    get #prefix(): string {
      return this.#options.prefix ?? PREFIX;
    }

    #thread(id: string): Thread {
      if (this.#closed)
        throw new SaverInputError(
          `use thread ${JSON.stringify(id)}`,
          "the saver is closed",
          "make another: await rathSaver(store)",
        );
      const known = this.#threads.get(id);
      this.#threads.delete(id);
      const { race = "fork", erasable = false } = this.#options;
      const thread = known ?? new Thread(this.store, id, this.nameOf(id), { race, erasable });
      this.#threads.set(id, thread);
      for (const [other, { idle }] of this.#threads) {
        if (this.#threads.size <= MOST_THREADS) break;
        if (idle && other !== id) this.#threads.delete(other);
      }
      return thread;
    }

    /** All threads there are. Long names are digests: then only the record knows. */
    async #all(): Promise<readonly string[]> {
      const threads: string[] = [];
      for (const { name } of await this.store.names({ under: this.#prefix })) {
        if (name.includes("@")) continue;
        const thread = threadOfName(name, this.#prefix) ?? (await this.#recorded(name));
        if (thread !== undefined && this.nameOf(thread) === name) threads.push(thread);
      }
      return threads;
    }

    async #recorded(name: string): Promise<string | undefined> {
      for await (const { fact } of this.store.history(name)) {
        const thread = threadIn(fact);
        if (thread !== undefined) return thread;
      }
      return undefined;
    }

    async #prepared(
      checkpoint: Checkpoint,
      metadata: CheckpointMetadata,
      newVersions: Versions | undefined,
      namespace: string,
      parent: string | undefined,
      root: string | undefined,
    ): Promise<Put> {
      const { v, id, ts, channel_values, channel_versions, versions_seen, ...rest } = checkpoint;
      const values = Object.entries(channel_values ?? {});
      const isNew = (channel: string): boolean =>
        newVersions === undefined || Object.hasOwn(newVersions, channel);
      const dumping = values.map(
        async ([channel, value]) => [channel, isNew(channel) ? await this.#dump(value) : null] as const,
      );
      const about = this.#dump(metadata ?? {});
      const extra = Object.keys(rest).length > 0 ? this.#dump(rest) : undefined;
      const head = plain({ v: v ?? null, ts: ts ?? null }) as Put["head"];
      const [versions, seen] = plain([channel_versions ?? {}, versions_seen ?? {}]) as [
        Put["versions"],
        Put["seen"],
      ];
      return {
        namespace,
        id,
        parent,
        root,
        head: extra === undefined ? head : { ...head, extra: entryOf(await extra).entry as Json },
        metadata: await about,
        versions,
        seen,
        values: new Map(await Promise.all(dumping)),
        dump: (channel) => this.#dump(channel_values[channel]),
      };
    }

    async #dump(value: unknown): Promise<Dumped> {
      const [type, bytes] = await this.serde.dumpsTyped(value);
      const text = type === "json" ? textIn(bytes) : undefined;
      return text === undefined
        ? { type, text: Buffer.from(bytes).toString("base64"), binary: true }
        : { type, text };
    }

    #load(held: Held): Promise<unknown> {
      const data = held.binary ? new Uint8Array(Buffer.from(held.text, "base64")) : held.text;
      return this.serde.loadsTyped(held.type, data);
    }

    #look(ledger: Ledger, spot: Spot): Found {
      const parent = spot.parent === undefined ? undefined : ledger.spot(spot.namespace, spot.parent);
      const old = typeof spot.head.v === "number" && spot.head.v < 4 && spot.parent !== undefined;
      return {
        spot,
        pending: ledger.pendingOf(spot),
        warm: ledger.newest(spot.namespace) === spot,
        ...(old && {
          sends: (parent === undefined ? [] : ledger.pendingOf(parent)).filter(
            ({ channel }) => channel === TASKS,
          ),
        }),
      };
    }

    async #fits(spot: Spot, filter: CheckpointListOptions["filter"]): Promise<boolean> {
      const wanted = Object.entries(filter ?? {}).filter(([, value]) => value !== undefined);
      if (wanted.length === 0) return true;
      if (spot.metadata === undefined) return false;
      const metadata = (await this.#load(spot.metadata)) as { readonly [key: string]: unknown };
      return wanted.every(([key, value]) => Object.hasOwn(metadata, key) && isEqual(metadata[key], value));
    }

    async #tuple(thread: string, { spot, pending, sends, warm }: Found): Promise<CheckpointTuple> {
      if (spot.fault !== undefined)
        throw new CheckpointUnreadableError(
          spot.id,
          spot.fault,
          "bring the rest of the record: store.import, store.sync",
        );
      const values: Record<string, unknown> = {};
      for (const [channel, held] of spot.values) {
        define(values, channel, await this.#load(held));
        if (!warm) held.forget();
      }
      const versions: Record<string, number | string> = {
        ...(spot.versions as Record<string, number | string>),
      };
      if (sends !== undefined) {
        values[TASKS] = await Promise.all(sends.map(({ value }) => this.#load(value)));
        const all = Object.values(versions);
        versions[TASKS] = all.length > 0 ? peer.maxChannelVersion(...all) : this.getNextVersion(undefined);
      }
      const { v, ts, extra } = spot.head;
      const rest = extra === undefined ? undefined : heldOf(extra as Entry, undefined, SILENCE);
      return {
        config: configOf(thread, spot.namespace, spot.id),
        checkpoint: {
          v: v as number,
          id: spot.id,
          ts: ts as string,
          channel_values: values,
          channel_versions: versions,
          versions_seen: copied(spot.seen) as Checkpoint["versions_seen"],
          ...(rest !== undefined && ((await this.#load(rest)) as object)),
        },
        metadata: (await this.#load(spot.metadata)) as CheckpointMetadata,
        ...(spot.parent !== undefined && { parentConfig: configOf(thread, spot.namespace, spot.parent) }),
        pendingWrites: await Promise.all(pending.map((write) => this.#revived(write))),
      };
    }

    async #revived({ task, channel, value }: Write): Promise<CheckpointPendingWrite> {
      return [task, channel, await this.#load(value)];
    }
  }
  Object.defineProperty(RathSaverClass, "name", { value: "RathSaver" });
  classes.set(peer, RathSaverClass);
  return RathSaverClass;
}

type Found = {
  readonly spot: Spot;
  readonly pending: readonly Write[];
  /** Sends of the checkpoint before, which old versions of LangGraph kept among its writes. */
  readonly sends?: readonly Write[];
  readonly warm: boolean;
};

/** What was written to a channel on the way to a checkpoint, oldest first, from the last value that is whole. */
function historyOf(
  ledger: Ledger,
  target: Spot | undefined,
  channel: string,
): { readonly channel: string; readonly writes: readonly Write[]; readonly seed?: Held } {
  const steps: (readonly Write[])[] = [];
  // A record that was made by hand may go round in circles.
  const seen = new Set<Spot>();
  for (let spot = target; spot?.parent !== undefined && !seen.has(spot); ) {
    seen.add(spot);
    const parent: Spot | undefined = ledger.spot(spot.namespace, spot.parent);
    if (parent === undefined) break;
    steps.push(
      lastOf(spot.made)
        .filter((write) => write.channel === channel)
        .sort((one, other) =>
          one.task === other.task ? one.place - other.place : one.task < other.task ? -1 : 1,
        ),
    );
    const seed = parent.values.get(channel);
    if (seed !== undefined) return { channel, writes: steps.reverse().flat(), seed };
    spot = parent;
  }
  return { channel, writes: steps.reverse().flat() };
}

/** Which thread, namespace and checkpoint a config is about. */
function targetOf(config: Config): {
  readonly thread: string | undefined;
  readonly namespace: string;
  readonly id: string | undefined;
} {
  const { thread_id, checkpoint_ns, checkpoint_id, thread_ts } = config?.configurable ?? {};
  const thread = typeof thread_id === "number" ? String(thread_id) : thread_id;
  for (const [field, value] of Object.entries({ thread_id: thread, checkpoint_ns, checkpoint_id }))
    if (value !== undefined && value !== null && typeof value !== "string")
      throw new SaverInputError(
        "find a checkpoint",
        `configurable.${field} is ${Array.isArray(value) ? "a list" : `of type ${typeof value}`}, not a text`,
        `configurable: { ${field}: "…" }`,
      );
  return {
    thread: thread === null || thread === "" ? undefined : thread,
    namespace: checkpoint_ns ?? "",
    id: checkpoint_id || thread_ts || undefined,
  };
}

/** The checkpoint of the whole graph that a subgraph works for. */
function rootOf(config: Config, metadata: CheckpointMetadata | undefined): string | undefined {
  const map = config?.configurable?.checkpoint_map as { readonly [namespace: string]: unknown } | undefined;
  const root = metadata?.parents?.[""] ?? map?.[""];
  return typeof root === "string" ? root : undefined;
}

function configOf(thread: string, namespace: string, id: string): Config {
  return { configurable: { thread_id: thread, checkpoint_ns: namespace, checkpoint_id: id } };
}

function missing(attempt: string, field: string): SaverInputError {
  return new SaverInputError(
    attempt,
    `the config has no ${field} in its configurable`,
    'graph.invoke(input, { configurable: { thread_id: "my-thread" } })',
  );
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function textIn(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

function plain(value: unknown): Json {
  return JSON.parse(JSON.stringify(value)) as Json;
}

function copied(value: object): object {
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, { ...(inner as object) }]));
}

function define(target: object, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
}

function isEqual(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  try {
    return canonical(plain(one)) === canonical(plain(other));
  } catch {
    return false;
  }
}

function requireOptions(options: RathSaverOptions): void {
  if (typeof options !== "object" || options === null || Array.isArray(options))
    throw new SaverInputError(
      "make a saver",
      "its options are not an object",
      'rathSaver("sqlite:./rath.db", { race: "fork" })',
    );
  const known = Object.keys(OPTIONS);
  for (const option of Object.keys(options)) {
    if (known.includes(option)) continue;
    const meant = nearestOf(option, known);
    throw new SaverInputError(
      "make a saver",
      `it has no option ${JSON.stringify(option)}`,
      meant === undefined ? `the options are ${known.join(", ")}` : `did you mean "${meant}"?`,
    );
  }
  const { race, prefix } = options;
  if (race !== undefined && race !== "fork" && race !== "refuse")
    throw new SaverInputError(
      "make a saver",
      `its race is ${JSON.stringify(race)}`,
      'race: "fork" or race: "refuse"',
    );
  if (
    prefix !== undefined &&
    (typeof prefix !== "string" || prefix.length > 60 || /[@~\p{Cc}\p{Cs}]/u.test(prefix))
  )
    throw new SaverInputError(
      "make a saver",
      "its prefix cannot begin a name",
      'a prefix has at most 60 printable characters and no "@" or "~": prefix: "threads/"',
    );
}
