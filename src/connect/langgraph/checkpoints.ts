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
import { canonical, type Json, jsonCopy } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { compareText, defined, mapValues } from "../../util/index.js";
import { CheckpointUnreadableError, SaverInputError, ThreadMismatchError } from "./error.js";
import { type Dumped, dumpedOf, type Entry, entryOf, type Held, heldOf } from "./held.js";
import type { Ledger } from "./ledger.js";
import { nameOfThread, type Put, type PutWrites, threadIn, threadOfName } from "./note.js";
import { lastOf, SILENCE, type Spot, type Write } from "./spot.js";
import { Thread, type ThreadSettings } from "./thread.js";

export type Peer = typeof import("@langchain/langgraph-checkpoint");
export type Config = Parameters<BaseCheckpointSaver["getTuple"]>[0];
export type Versions = Parameters<BaseCheckpointSaver["put"]>[3];

/** The parts of LangGraph's own saver that are used: its serializer and its versions. */
export type Host = {
  readonly peer: Peer;
  readonly serde: () => SerializerProtocol;
  readonly firstVersion: () => number | string;
};

/** A checkpoint that LangGraph wants to keep, and where. */
export type Given = {
  readonly config: Config;
  readonly checkpoint: Checkpoint;
  readonly metadata: CheckpointMetadata;
  readonly newVersions: Versions | undefined;
};

/** So many threads are held in memory; those that nobody asked for lately are read again when somebody does. */
const MOST_THREADS = 256;
const TASKS = "__pregel_tasks";

/** The threads of a store as LangGraph sees them: tuples of checkpoints, and the writes towards the next one. */
export class Checkpoints {
  readonly #store: Store;
  readonly #host: Host;
  readonly #prefix: string;
  readonly #settings: ThreadSettings;
  readonly #threads = new Map<string, Thread>();
  #closed = false;

  constructor(store: Store, host: Host, prefix: string, settings: ThreadSettings) {
    this.#store = store;
    this.#host = host;
    this.#prefix = prefix;
    this.#settings = settings;
  }

  nameOf(thread: string): string {
    return nameOfThread(thread, this.#prefix);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#threads.values()].map((thread) => thread.settle().catch(() => {})));
    this.#threads.clear();
  }

  thread(id: string): Thread {
    if (this.#closed)
      throw new SaverInputError(
        `use thread ${JSON.stringify(id)}`,
        "the saver is closed",
        "make another: await rathSaver(store)",
      );
    const known = this.#threads.get(id);
    this.#threads.delete(id);
    const thread = known ?? new Thread(this.#store, id, this.nameOf(id), this.#settings);
    this.#threads.set(id, thread);
    for (const [other, { idle }] of this.#threads) {
      if (this.#threads.size <= MOST_THREADS) break;
      if (idle && other !== id) this.#threads.delete(other);
    }
    return thread;
  }

  async get(config: Config): Promise<CheckpointTuple | undefined> {
    const { thread, namespace, id } = targetOf(config);
    if (thread === undefined) return undefined;
    const found = await this.thread(thread).read((ledger) => look(ledger, spotIn(ledger, namespace, id)));
    return found && this.#tuple(thread, found);
  }

  async *list(config: Config, options: CheckpointListOptions): AsyncGenerator<CheckpointTuple> {
    const { thread, id } = targetOf(config);
    const namespace = config.configurable?.checkpoint_ns as string | undefined;
    const before = options.before?.configurable?.checkpoint_id as string | undefined;
    const found: { readonly thread: string; readonly namespace: string; readonly id: string }[] = [];
    for (const each of thread === undefined ? await this.#all() : [thread]) {
      const reading = this.thread(each).read((ledger) =>
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
    found.sort((one, other) => compareText(other.id, one.id));
    let left = options.limit ?? Number.POSITIVE_INFINITY;
    for (const place of found) {
      if (left <= 0) return;
      const seen = await this.thread(place.thread).read((ledger) =>
        look(ledger, ledger.spot(place.namespace, place.id)),
      );
      // It may have been deleted since.
      if (seen === undefined || !(await this.#fits(seen.spot, options.filter))) continue;
      left--;
      yield await this.#tuple(place.thread, seen);
    }
  }

  async put(given: Given): Promise<Config> {
    const { config, checkpoint } = given;
    const { thread, namespace, id: parent } = targetOf(config);
    if (thread === undefined) throw missing("keep a checkpoint", "thread_id");
    if (typeof checkpoint?.id !== "string" || checkpoint.id === "")
      throw new SaverInputError(
        "keep a checkpoint",
        "it has no id",
        "pass what LangGraph made: emptyCheckpoint()",
      );
    // Everything is serialised now: the graph goes on and may change what it handed over.
    const preparing = this.#prepare(given, namespace, parent);
    await this.thread(thread).write(
      preparing.then((put) => ({ checkpoint: parent ?? put.id, run: (scribe) => scribe.put(put) })),
    );
    return configOf(thread, namespace, checkpoint.id);
  }

  async putWrites(config: Config, writes: PendingWrite[], task: string): Promise<void> {
    const { thread, namespace, id } = targetOf(config);
    if (thread === undefined) throw missing("keep writes", "thread_id");
    if (id === undefined) throw missing("keep writes", "checkpoint_id");
    const { WRITES_IDX_MAP: places } = this.#host.peer;
    const dumps = writes.map(async ([channel, value], index): Promise<PutWrites["writes"][number]> => {
      const place = Object.hasOwn(places, channel) ? places[channel] : undefined;
      return { place: place ?? index, channel, value: await this.#dump(value) };
    });
    const root = rootOf(config, undefined);
    await this.thread(thread).write(
      Promise.all(dumps).then((dumped) => ({
        checkpoint: id,
        after: { namespace, id },
        run: (scribe) => scribe.putWrites({ namespace, id, root, task, writes: dumped }),
      })),
    );
  }

  async delete(threadId: string): Promise<void> {
    const { thread } = targetOf({ configurable: { thread_id: threadId } });
    if (thread === undefined) throw missing("delete a thread", "thread_id");
    await this.thread(thread).delete();
  }

  /** The writes to channels on the way to a checkpoint, and no others. */
  async history(config: Config, channels: readonly string[]): Promise<Record<string, DeltaChannelHistory>> {
    const { thread, namespace, id } = targetOf(config);
    if (thread === undefined || channels.length === 0) return {};
    const found = await this.thread(thread).read((ledger) => {
      const target = spotIn(ledger, namespace, id);
      return channels.map((channel) => historyOf(ledger, target, channel));
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

  /** All threads there are. Long names are digests: then only the record knows. */
  async #all(): Promise<readonly string[]> {
    const threads: string[] = [];
    for (const { name } of await this.#store.names({ under: this.#prefix })) {
      if (name.includes("@")) continue;
      const thread = threadOfName(name, this.#prefix) ?? (await this.#recorded(name));
      if (thread !== undefined && this.nameOf(thread) === name) threads.push(thread);
    }
    return threads;
  }

  async #recorded(name: string): Promise<string | undefined> {
    for await (const { fact } of this.#store.history(name)) {
      const thread = threadIn(fact);
      if (thread !== undefined) return thread;
    }
    return undefined;
  }

  async #prepare(
    { config, checkpoint, metadata, newVersions }: Given,
    namespace: string,
    parent: string | undefined,
  ): Promise<Put> {
    const { v, id, ts, channel_values, channel_versions, versions_seen, ...rest } = checkpoint;
    const isNew = (channel: string): boolean =>
      newVersions === undefined || Object.hasOwn(newVersions, channel);
    const dumping = Object.entries(channel_values ?? {}).map(
      async ([channel, value]) => [channel, isNew(channel) ? await this.#dump(value) : null] as const,
    );
    const about = this.#dump(metadata ?? {});
    const extra = Object.keys(rest).length > 0 ? this.#dump(rest) : undefined;
    const { head, versions, seen } = jsonCopy({
      head: { v: v ?? null, ts: ts ?? null },
      versions: channel_versions ?? {},
      seen: versions_seen ?? {},
    }) as Pick<Put, "head" | "versions" | "seen">;
    return {
      namespace,
      id,
      parent,
      root: rootOf(config, metadata),
      head: extra === undefined ? head : { ...head, extra: entryOf(await extra).entry as Json },
      metadata: await about,
      versions,
      seen,
      values: new Map(await Promise.all(dumping)),
      dump: (channel) => this.#dump(channel_values[channel]),
    };
  }

  async #dump(value: unknown): Promise<Dumped> {
    const [type, bytes] = await this.#host.serde().dumpsTyped(value);
    return dumpedOf(type, bytes);
  }

  #load(held: Held): Promise<unknown> {
    const data = held.binary ? new Uint8Array(Buffer.from(held.text, "base64")) : held.text;
    return this.#host.serde().loadsTyped(held.type, data);
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
      const value = await this.#load(held);
      // An assignment to "__proto__" would set the prototype.
      Object.defineProperty(values, channel, { value, enumerable: true, configurable: true, writable: true });
      if (!warm) held.forget();
    }
    const versions = { ...(spot.versions as Record<string, number | string>) };
    if (sends !== undefined) {
      values[TASKS] = await Promise.all(sends.map(({ value }) => this.#load(value)));
      const { peer, firstVersion } = this.#host;
      const all = Object.values(versions);
      versions[TASKS] = all.length > 0 ? peer.maxChannelVersion(...all) : firstVersion();
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
        versions_seen: mapValues(spot.seen, (seen) => ({ ...seen })) as Checkpoint["versions_seen"],
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

type Found = {
  readonly spot: Spot;
  readonly pending: readonly Write[];
  /** Sends of the checkpoint before, which old versions of LangGraph kept among its writes. */
  readonly sends?: readonly Write[];
  readonly warm: boolean;
};

function spotIn(ledger: Ledger, namespace: string, id: string | undefined): Spot | undefined {
  return id === undefined ? ledger.newest(namespace) : ledger.spot(namespace, id);
}

function look(ledger: Ledger, spot: Spot | undefined): Found | undefined {
  if (spot === undefined) return undefined;
  const parent = spot.parent === undefined ? undefined : ledger.spot(spot.namespace, spot.parent);
  const old = typeof spot.head.v === "number" && spot.head.v < 4 && spot.parent !== undefined;
  const before = parent === undefined ? [] : ledger.pendingOf(parent);
  const sends = old ? before.filter(({ channel }) => channel === TASKS) : undefined;
  return {
    spot,
    pending: ledger.pendingOf(spot),
    warm: ledger.newest(spot.namespace) === spot,
    ...defined({ sends }),
  };
}

/** The writes to a channel on the way to a checkpoint, oldest first, from the last whole value. */
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
        .sort((one, other) => compareText(one.task, other.task) || one.place - other.place),
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

function isEqual(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  try {
    return canonical(jsonCopy(one)) === canonical(jsonCopy(other));
  } catch {
    return false;
  }
}
