import type { Session } from "../../session/index.js";
import type { RequestBatch } from "../request/batch.js";
import type { Beginning } from "./beginning.js";
import type { BodyOutcome, Ending } from "./ending.js";

/** A run first goes through its record, if it has one, and then goes on live. */
export interface Phase {
  /** One outcome at a time, then a look around. */
  turn(): void;
  /** A batch may have something else to be told than before. */
  look(batch: RequestBatch): void;
  /** The run is over. */
  close(): void;
}

/** What a phase sees of its run, and what it can make of it. */
export interface Course {
  readonly beginning: Beginning;
  readonly ending: Ending;
  /** The batches that are not done. */
  readonly batches: ReadonlySet<RequestBatch>;
  /** How the body came out, once it has. */
  readonly body: BodyOutcome | undefined;
  /** Whether the body awaits something that is not ours. */
  readonly bodyAwaitsOutside: boolean;
  /** Why everything stops, if it does. */
  readonly cancelled: string | undefined;
  /** The body was cancelled, and is not waited for any longer. */
  abandonBody(why: string): void;
  /** The run has come to rest with this session. */
  settle(how: "ended" | "suspended", session: Session): void;
  /** The run cannot go on. */
  fail(error: unknown): void;
}
