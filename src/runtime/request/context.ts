import type { RathError } from "../../session/index.js";
import type { Answers } from "../run/answers.js";
import type { RunLease } from "../run/lease.js";
import type { Recorder } from "../run/recorder.js";
import type { Turns } from "../run/turns.js";
import type { SandboxPool } from "../sandboxes/pool.js";
import type { Secrets } from "../secrets.js";
import type { Services } from "../services.js";
import type { TapeReader } from "../tape/reader.js";
import type { Entry } from "../tape/tape.js";
import type { RequestBatch } from "./batch.js";

/** What the requests of a run need of it. */
export interface RunContext {
  readonly nonce: string;
  readonly recorder: Recorder;
  readonly tape: TapeReader;
  readonly answers: Answers;
  readonly lease: RunLease;
  readonly turns: Turns;
  readonly pool: SandboxPool;
  readonly secrets: Secrets;
  readonly services: Services;
  /** A batch may have something else to be told than before. */
  look(batch: RequestBatch): void;
  /** A batch is done. */
  ended(batch: RequestBatch): void;
  /** The record goes another way than the program. */
  diverged(expected: Entry): RathError;
  /** The run cannot go on. */
  fail(error: unknown): void;
}
