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
 * The answer of a worker to a wake. "taken": it runs the session. "gone": the session is not due. "busy": the worker has no room.
 * "refused": it lacks the module, or a property that the session needs.
 */
export type Taken = "taken" | "gone" | "busy" | "refused";

/**
 * Decides which worker hears of a session that is due. It only wakes: the store has the queue, and a wake that is lost, late,
 * repeated or wrong changes nothing but the time.
 */
export interface Engine {
  readonly name: string;
  /** Milliseconds that a wake usually needs: other workers wake a session again after that. Default: 40. */
  readonly patience?: number;
  connect(host: EngineHost): Promise<EngineLink>;
}

/** A worker, as an engine knows it. */
export interface EngineHost {
  /** The workers of one pool have the same store, and can run the same sessions. Engines keep the wakes of pools apart. */
  readonly pool: string;
  readonly worker: string;
  /** The number of sessions that it runs at a time. */
  readonly concurrency: number;
  /** Takes this session, if it is due, and if this worker can run it now. */
  take(wake: Wake): Promise<Taken>;
  /** Resolves when this session has come to rest on this worker; at once if it does not run there. */
  rested(wake: Wake): Promise<void>;
}

/** The way from a worker to its engine. */
export interface EngineLink {
  /** A session is due: some worker is to take it. */
  wake(wake: Wake): Promise<void>;
  /** A worker of the store has died. Its sessions are woken again, so the engine may discard the wakes that this worker had. */
  left?(worker: string): Promise<void>;
  close(): Promise<void>;
}

/** The engine of the store alone: every worker hears of names that move, and takes what is due. */
export const local: Engine = Object.freeze({
  name: "local",
  connect: async ({ take }: EngineHost): Promise<EngineLink> => ({
    wake: async (wake) => void (await take(wake)),
    close: async () => {},
  }),
});
