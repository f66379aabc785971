import type { SandboxPool } from "../../sandbox/pool/index.js";
import type { FactInput, RathError, Session } from "../../session/index.js";
import type { RequestBatch } from "../request/batch.js";
import type { Secrets } from "../secrets.js";
import type { Services } from "../services.js";
import type { TapeReader } from "../tape/reader.js";
import type { Entry } from "../tape/tape.js";
import type { Answers } from "./answers.js";
import type { Beginning } from "./beginning.js";
import type { Cancellation } from "./cancellation.js";
import type { BodyOutcome, Ending } from "./ending.js";
import type { RunLease } from "./lease.js";
import type { RunOptions } from "./options.js";
import type { StartFact } from "./program.js";
import type { Recorder } from "./recorder.js";
import type { Scope } from "./scope.js";
import type { Turns } from "./turns.js";
import type { RunWriter } from "./writer.js";

/** A run as its parts see it. */
export interface RunContext {
  readonly options: RunOptions;
  readonly nonce: string;
  readonly secrets: Secrets;
  readonly services: Services;
  readonly pool: SandboxPool;
  /** The `run-start`: the tree of modules is walked once. */
  readonly program: StartFact;
  readonly root: Scope;
  readonly turns: Turns;
  readonly tape: TapeReader;
  readonly writer: RunWriter;
  readonly recorder: Recorder;
  readonly answers: Answers;
  readonly lease: RunLease;
  readonly cancellation: Cancellation;
  readonly beginning: Beginning;
  readonly ending: Ending;
  /** The batches that are not done. */
  readonly batches: ReadonlySet<RequestBatch>;
  /** How the body came out, once it has. */
  readonly body: BodyOutcome | undefined;
  /** Whether the body awaits something that is not ours. */
  readonly bodyAwaitsOutside: boolean;
  /** The body was cancelled, and is not waited for any longer. */
  abandonBody(why: string): void;
  /** A batch may have something else to be told than before. */
  look(batch: RequestBatch): void;
  /** A batch is done. */
  ended(batch: RequestBatch): void;
  /** The tape has ended, and the run goes on. */
  goLive(): void;
  /**
   * The error that says where the record goes another way than the program.
   *
   * @param ending what the program ended with, where it made nothing else that the record does not have
   */
  diverged(expected: Entry, ending?: FactInput): RathError;
  /** The run has come to rest with this session. */
  settle(how: "ended" | "suspended", session: Session): void;
  /** The run cannot go on, and what is durable can be resumed. */
  fail(error: unknown): void;
  /** Work whose error ends the run. */
  watch(work: Promise<unknown>): void;
}

/** A run first goes through its record, if it has one, and then goes on live. */
export interface Phase {
  /** One outcome at a time, then a look around. */
  turn(): void;
  /** A batch may have something else to be told than before. */
  look?(batch: RequestBatch): void;
  /** The run is over. */
  close?(): void;
}
