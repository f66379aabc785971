import type { FactId } from "../session/index.js";

/** Says which session is due, and nothing of its content: that is in the record. */
export type Wake = {
  /** The name of the session. */
  readonly session: string;
  readonly module: string;
  /** The digest of the module. */
  readonly version: string;
  /** The id of the submission that began it. */
  readonly run: FactId;
};

/**
 * Decides which worker hears of a session that is due. It only wakes: the store has the queue, and a wake that is lost, late,
 * repeated or wrong changes nothing but the time.
 */
export interface Engine {
  readonly name: string;
  connect(host: EngineHost): Promise<EngineLink>;
}

/** A worker, as an engine knows it. */
export interface EngineHost {
  readonly worker: string;
  /** The modules that it has, as `name@version`. */
  readonly modules: readonly string[];
  /** Takes what is due, as long as there is room. */
  fill(): void;
  /**
   * Takes this session. Resolves when it has come to rest here: "rested"; or at once: "gone" when it is not due, "busy" when
   * there is no room, "refused" when this worker lacks its module or what it needs.
   */
  take(wake: Wake): Promise<"rested" | "gone" | "busy" | "refused">;
}

/** The way from a worker to its engine. */
export interface EngineLink {
  /** A session is due: some worker is to take it. */
  wake(wake: Wake): Promise<void>;
  close(): Promise<void>;
}

/** The engine of the store alone: every worker hears of names that move, and takes what is due. */
export const local: Engine = Object.freeze({
  name: "local",
  connect: async ({ fill }: EngineHost): Promise<EngineLink> => ({
    wake: async () => fill(),
    close: async () => {},
  }),
});
