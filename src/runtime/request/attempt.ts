import {
  canonical,
  type FactId,
  type FactOf,
  type Failure,
  type Json,
  readableError,
  Session,
  warnOf,
} from "../../session/index.js";
import { CancelledError, failureOf } from "../error.js";
import { RefusedError } from "../given.js";
import type { Secrets } from "../secrets.js";
import type { Reusable } from "../tape/tape.js";
import { takenOver } from "./approval.js";
import { EffectRecorder } from "./effect-recorder.js";
import { changeOf, type Evidence, withoutFiles } from "./evidence.js";
import type { PendingRequest } from "./pending-request.js";
import { type Attempt, failedAs, type Outcome, type Request } from "./request.js";
import { delayOf, isRetryable, isUnanswered } from "./retry.js";
import { TimeoutError, timed } from "./timeout.js";

type Brought = {
  readonly attempt: number;
  readonly milliseconds: number;
  readonly outcome: Outcome | undefined;
  readonly thrown: { readonly error: unknown } | undefined;
};

/** Uses the recorded outcome of the same request in another run. False if none is recorded. */
export function reuseOutcome(item: PendingRequest, request: Request): boolean {
  const { run, chain } = item.batch;
  // The tape knows the request under its first arguments; edited ones are another request.
  if (item.state.edited) return false;
  const { blobs } = Session.realmOf(run.options.base);
  const reuse = run.tape.reusable(run.secrets.conceal(request.fact).value, chain.tip, blobs);
  if (reuse === undefined) return false;
  run.turns.soon(() => {
    item.evidence.push(...reuse.evidence.map((fact) => withoutStamp(fact)));
    item.end({ ...withoutStamp(reuse.fact), from: reuse.id });
  });
  return true;
}

/** Whether a write may have happened, and nobody knows. One that failed in the run that this one is a retry of did not. */
export function isInDoubt({ batch, asked, begun }: PendingRequest, { effect }: Request): boolean {
  if (begun === undefined || effect !== "write") return false;
  return begun.run === batch.run.nonce || !batch.run.tape.redone.has(asked.id);
}

export async function tryEffect(item: PendingRequest, request: Request): Promise<void> {
  const { run, scope, chain } = item.batch;
  if (run.lease.isLeaving) {
    run.leave();
    return;
  }
  const number = item.state.attempts + 1;
  const write = request.effect === "write";
  if (write) item.append({ type: "effect-start", of: item.asked.id, attempt: number, key: item.key });
  else item.advance({ type: "attempt", attempt: number });
  const turn = ++item.turn;
  const { attempt, controller, recorder, pieces } = beginAttempt(item, number);
  item.controller = controller;
  const release = run.turns.occupy();
  item.release = release;
  let outcome: Outcome | undefined;
  let thrown: { error: unknown } | undefined;
  const began = run.services.now();
  try {
    // A write is on the disk before it starts, so that it is never repeated unseen; so is the key of an idempotent effect.
    const isKept = write || request.effect === "idempotent" || run.options.durability === "facts";
    if (isKept) await run.recorder.flush();
    // Stopped for a while, in that or before it: another process may have taken the run over, and done this.
    if (!run.lease.isHeld) await run.lease.hold();
    if (run.recorder.stopped !== undefined || item.turn !== turn) return;
    // Cancelled while that was being written: nothing has happened yet, and nothing will.
    if (scope.cancelled !== undefined) throw new CancelledError(scope.cancelled);
    // A `write` is not stopped because a budget is spent: nobody would know how it ended.
    const left = (write ? undefined : scope.ledger?.left(run.services.now())) ?? Number.POSITIVE_INFINITY;
    const patience = Math.min(request.timeout ?? Number.POSITIVE_INFINITY, Math.max(1, left));
    const acting = request.act(attempt);
    outcome = await (patience === Number.POSITIVE_INFINITY
      ? acting
      : timed(acting, patience, controller, write));
  } catch (error) {
    thrown = { error: readableError(error) };
  }
  pieces.flush();
  try {
    const finishing = recorder.finish(isRunning(thrown?.error));
    if (finishing !== undefined) await finishing;
  } catch (error) {
    // Its work is gone with its sandbox, whatever it said.
    outcome = undefined;
    thrown ??= { error };
  }
  const settle = (): void => {
    if (item.turn !== turn || item.isDone) return;
    const milliseconds = run.services.now() - began;
    settleAttempt(item, request, { attempt: number, milliseconds, outcome, thrown });
  };
  if (changeOf(item.evidence) === undefined) run.turns.soon(settle);
  else chain.inTurn(() => chain.rebase(item), settle);
  release();
}

/** Whether an attempt ran out of time and goes on all the same. */
function isRunning(error: unknown): boolean {
  return error instanceof TimeoutError && error.running;
}

/** The argument of an effect for one attempt, and the objects that follow it. */
function beginAttempt(item: PendingRequest, number: number) {
  const { run, chain } = item.batch;
  const controller = new AbortController();
  const since = chain.tip;
  const pieces = new Pieces(run.secrets, (delta) => run.recorder.emit(item.asked, delta, since));
  const recorder = new EffectRecorder(item, controller);
  const attempt: Attempt = {
    attempt: number,
    number,
    // Node makes it when it is first asked for, and most tools never do.
    get signal() {
      return controller.signal;
    },
    key: item.key,
    request: item.asked,
    emit: (delta) => pieces.take(delta),
    sandbox: async () => {
      // Of calls that go on side by side on the same files, nobody could say which of them changed what.
      if (item.batch.items.length > 1 && !item.effect?.conflicts?.includes(WORKSPACE))
        throw new RefusedError(
          "use the sandbox",
          "other calls may use it at the same time",
          `say that calls of this tool go one after the other: conflicts: [${JSON.stringify(WORKSPACE)}]`,
        );
      return recorder.sandbox();
    },
    secret: (name) => run.secrets.get(name),
    redact: (value) => {
      const { value: redacted, names } = run.secrets.conceal(value);
      for (const name of names) item.redacted.add(name);
      return redacted;
    },
    trees: () => run.pool.trees(),
    store: () => run.pool.store(),
    record: (fact) => recorder.record(fact),
  };
  return { attempt, controller, recorder, pieces };
}

function settleAttempt(
  item: PendingRequest,
  request: Request,
  { attempt, milliseconds, outcome, thrown }: Brought,
): void {
  const { run, scope } = item.batch;
  const { cancelled } = scope;
  const { retry, effect } = request;
  const { error } = thrown ?? {};
  const mayPass = () => retry !== undefined && isRetryable(error, retry);
  const isUnknown = thrown !== undefined && effect === "write" && isUnanswered(error);
  // A `write` may have happened though it failed; unless its owner wants it tried again whatever happened.
  if (isUnknown && (retry?.when === undefined || !mayPass())) {
    const failure = noteAttempt(item, request, "effect-doubt", { attempt }, error);
    run.recorder.flushSoon();
    // While it may still happen, nobody can find out that it did not.
    if (isRunning(error)) item.wait();
    else run.watch(reconcile(item, request, failure));
  } else if (
    thrown !== undefined &&
    cancelled === undefined &&
    attempt < (retry?.attempts ?? 3) &&
    mayPass()
  ) {
    const wait = delayOf(error, attempt, retry ?? {}, run.services);
    noteAttempt(item, request, "effect-fail", { attempt, wait }, error);
    item.release = run.turns.later(wait, () => {
      if (!item.isDone) item.letGo();
    });
  } else {
    // How a write failed is part of what became of it, cancelled or not.
    const body =
      outcome ??
      (cancelled === undefined || effect === "write"
        ? failedAs(request, error)
        : givenUp(request, cancelled));
    item.end({ milliseconds, ...body });
  }
}

/** Records an attempt that failed and is not the end of its request. */
function noteAttempt(
  item: PendingRequest,
  request: Request,
  type: "effect-doubt" | "effect-fail",
  { attempt, wait }: { readonly attempt: number; readonly wait?: number },
  thrown: unknown,
): Failure {
  const { run, chain } = item.batch;
  const { error: own } = failedAs(request, thrown) as { readonly error?: Failure };
  const error = run.secrets.conceal(own ?? failureOf(thrown)).value;
  chain.tell(item, withoutFiles(item.evidence));
  const noted = { of: item.asked.id, attempt, error };
  item.append(type === "effect-doubt" ? { type, ...noted } : { type, ...noted, wait: wait as number });
  return error;
}

/** The outcome of a request that is not made, or not repeated, because its scope is cancelled. */
function givenUp(request: Request, why: string): Outcome {
  return request.failed(failureOf(new CancelledError(why)), undefined);
}

/** A write that was started and has no outcome: found out by its reconciler, or left to a person. Never repeated unseen. */
export async function reconcile(item: PendingRequest, request: Request, error?: Failure): Promise<void> {
  const { run } = item.batch;
  let found: Outcome | "again" | "unknown" = "unknown";
  if (request.reconcile !== undefined) {
    const release = run.turns.occupy();
    const { attempt, recorder } = beginAttempt(item, item.state.attempts);
    try {
      found = await request.reconcile(attempt);
    } catch (failed) {
      // Nobody knows, then; but its owner should.
      warnOf(failed, "OPENRATH_RECONCILE");
    } finally {
      await recorder.finish(false)?.catch(() => {});
      release();
    }
  }
  item.soon(() => {
    if (found === "unknown") item.wait();
    else if (found === "again") repeat(item, request, error);
    else item.end(found);
  });
}

/** It certainly did not happen: then it failed, and is tried again as often as failures are. */
function repeat(item: PendingRequest, request: Request, error: Failure | undefined): void {
  const { scope, chain } = item.batch;
  item.advance({ type: "not-done" });
  // The reconciler's evidence is on the record before the next attempt, which then goes on in the same sandbox.
  chain.tell(item, withoutFiles(item.evidence));
  // That its sandbox went away once says nothing about the call; that a second one did says that the call ends them.
  const attempts = Math.max(request.retry?.attempts ?? 1, error?.code === "sandbox-lost" ? 2 : 1);
  if (error !== undefined && item.state.attempts >= attempts) item.end(request.failed(error, undefined));
  else if (scope.cancelled !== undefined) item.end(givenUp(request, scope.cancelled));
  else item.letGo();
}

/** A person said what became of a write that nobody knew the outcome of. */
export function settleDoubt(item: PendingRequest, request: Request, fact: FactOf<"effect-settle">): void {
  const { batch } = item;
  const { cancelled } = batch.scope;
  const { by, decision, why = "it did not happen" } = fact;
  if (decision === "again") {
    if (cancelled === undefined) batch.goOn();
    else item.end(givenUp(request, cancelled));
  } else if (decision === "failed")
    item.end({ ...request.failed(fact.error ?? { name: "EffectFailed", message: why }, undefined), by });
  else item.end(takenOver(request, fact));
}

/** The fact without its stamp and the request it belonged to. */
function withoutStamp<Stamped extends Evidence | Reusable["fact"]>(fact: Stamped): Stamped {
  const { of: _of, at: _at, run: _run, seq: _seq, ...body } = fact as Stamped & { of?: FactId };
  return body as Stamped;
}

/** The key of calls that use the workspace: they go one after the other. */
const WORKSPACE = "workspace";

/**
 * The output of a call on the way, in pieces, without the values of secrets: the end of a piece that may be the beginning of one is
 * kept back until the next piece tells.
 */
export class Pieces {
  readonly #secrets: Secrets;
  readonly #tell: (delta: Json) => void;
  readonly #held = new Map<string, Held>();

  constructor(secrets: Secrets, tell: (delta: Json) => void) {
    this.#secrets = secrets;
    this.#tell = tell;
  }

  take(delta: Json): void {
    const field = FIELDS.find((one) => typeof (delta as Fields | null)?.[one] === "string");
    if (field === undefined || Array.isArray(delta)) {
      this.flush();
      this.#tell(this.#secrets.conceal(delta).value);
      return;
    }
    const { [field]: piece, ...rest } = delta as Fields;
    const stream = canonical({ field, rest });
    const text = `${this.#held.get(stream)?.text ?? ""}${piece as string}`;
    const cut = this.#secrets.cutIn(text);
    this.#held.delete(stream);
    if (cut < text.length) this.#held.set(stream, { rest, field, text: text.slice(cut) });
    if (cut > 0) this.#say({ rest, field, text: text.slice(0, cut) });
  }

  /** The end of the stream: held text was not a secret. */
  flush(): void {
    for (const held of this.#held.values()) this.#say(held);
    this.#held.clear();
  }

  #say({ rest, field, text }: Held): void {
    this.#tell(this.#secrets.conceal({ ...rest, [field]: text }).value);
  }
}

type Fields = { readonly [field: string]: Json };
type Held = { readonly rest: Fields; readonly field: string; readonly text: string };

/** Where the words of a piece stand: of a model's stream, of a command's output. */
const FIELDS: readonly string[] = ["text", "delta"];
