import type {
  BaseCheckpointSaver,
  Checkpoint,
  CheckpointListOptions,
  CheckpointMetadata,
  CheckpointTuple,
  DeltaChannelHistory,
  PendingWrite,
  SerializerProtocol,
} from "@langchain/langgraph-checkpoint";
import type { Session } from "../../session/index.js";
import { openStore, type Store } from "../../store/index.js";
import { optionNames, showValue } from "../../util/index.js";
import { requireOptions } from "../../workflow/index.js";
import { Checkpoints, type Config, type Peer, type Versions } from "./checkpoints.js";
import { PeerMissingError, SaverInputError } from "./error.js";
import { PREFIX } from "./note.js";

export type RathSaverOptions = {
  /** How values become bytes. Default: LangGraph's own. */
  readonly serde?: SerializerProtocol;
  /** The prefix of the names of threads. Default "langgraph/". */
  readonly prefix?: string;
  /** Two graphs on one thread: "fork" (default) keeps both on branches; "refuse": a `ThreadConflictError`. */
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

const OPTIONS = optionNames<RathSaverOptions>()("serde prefix race erasable");

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
  checkSaver(options);
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
    readonly #checkpoints: Checkpoints;

    constructor(store: Store, owned: boolean, options: RathSaverOptions) {
      const { prefix = PREFIX, race = "fork", erasable = false } = options;
      super(options.serde);
      this.store = store;
      this.#owned = owned;
      const firstVersion = () => this.getNextVersion(undefined);
      const host = { peer, serde: () => this.serde, firstVersion };
      this.#checkpoints = new Checkpoints(store, host, prefix, { race, erasable });
    }

    override toJSON(): string {
      return "[RathSaver]";
    }

    nameOf(thread: string): string {
      return this.#checkpoints.nameOf(thread);
    }

    async session(thread: string): Promise<Session | undefined> {
      const name = this.nameOf(thread);
      await this.#checkpoints.thread(thread).read(() => {});
      return (await this.store.head(name)) === undefined ? undefined : this.store.load(name);
    }

    async close(): Promise<void> {
      await this.#checkpoints.close();
      if (this.#owned) await this.store.close();
    }

    getTuple(config: Config): Promise<CheckpointTuple | undefined> {
      return this.#checkpoints.get(config);
    }

    list(config: Config, options: CheckpointListOptions = {}): AsyncGenerator<CheckpointTuple> {
      return this.#checkpoints.list(config, options);
    }

    put(
      config: Config,
      checkpoint: Checkpoint,
      metadata: CheckpointMetadata,
      newVersions: Versions,
    ): Promise<Config> {
      return this.#checkpoints.put({ config, checkpoint, metadata, newVersions });
    }

    putWrites(config: Config, writes: PendingWrite[], taskId: string): Promise<void> {
      return this.#checkpoints.putWrites(config, writes, taskId);
    }

    deleteThread(threadId: string): Promise<void> {
      return this.#checkpoints.delete(threadId);
    }

    override getDeltaChannelHistory(options: {
      config: Config;
      channels: string[];
    }): Promise<Record<string, DeltaChannelHistory>> {
      return this.#checkpoints.history(options.config, options.channels);
    }
  }
  Object.defineProperty(RathSaverClass, "name", { value: "RathSaver" });
  classes.set(peer, RathSaverClass);
  return RathSaverClass;
}

function checkSaver(options: RathSaverOptions): void {
  const refuse = (reason: string, hint: string) => new SaverInputError("make a saver", reason, hint);
  requireOptions(options, refuse, 'rathSaver("sqlite:./rath.db", { race: "fork" })', OPTIONS);
  const { race, prefix } = options;
  if (race !== undefined && race !== "fork" && race !== "refuse")
    throw refuse(
      `its \`race\` must be "fork" or "refuse"; got ${showValue(race)}`,
      'race: "fork" or race: "refuse"',
    );
  if (prefix === undefined) return;
  if (typeof prefix !== "string" || prefix.length > 60 || /[@~\p{Cc}\p{Cs}]/u.test(prefix))
    throw refuse(
      "its `prefix` cannot begin a name",
      'a prefix has at most 60 printable characters and no "@" or "~": prefix: "threads/"',
    );
}
