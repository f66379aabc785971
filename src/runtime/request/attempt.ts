import {
  type FactId,
  type FactOf,
  type Failure,
  readableError,
  Session,
  warnOf,
} from "../../session/index.js";
import { CancelledError, failureOf } from "../error.js";
import { RefusedError } from "../given.js";
import type { Reusable } from "../tape/tape.js";
import { EffectRecorder } from "./effect-recorder.js";
import { changeOf, type Evidence, withoutFiles } from "./evidence.js";
import type { FileLine } from "./files.js";
import { failedAs, failureOfRequest } from "./outcome.js";
import type { PendingRequest } from "./pending-request.js";
import { Pieces } from "./pieces.js";
import type { Attempt, Outcome, Request } from "./request.js";
import { delayOf, isRetryable, isUnanswered } from "./retry.js";
import { TimeoutError, timed } from "./timeout.js";
import type { BatchWork } from "./work.js";

/** The result of one attempt: an outcome, or an error. */
type Brought = {
  readonly attempt: number;
  readonly milliseconds: number;
  readonly outcome: Outcome | undefined;
  readonly thrown: { readonly error: unknown } | undefined;
};

/** Does what requests ask for: attempt after attempt, and what becomes of a write that nobody knows the outcome of. */
export class Attempts {
  readonly #work: BatchWork;
  readonly #files: FileLine;

  constructor(work: BatchWork, files: FileLine) {
    this.#work = work;
    this.#files = files;
  }

  /** Uses the recorded outcome of the same request in another run. False when there is none. */
  reuse(item: PendingRequest, request: Request): boolean {
    const { run, chain, goOn } = this.#work;
    // The tape knows the request under its first arguments; edited ones are another request.
    if (item.state.edited) return false;
    const { blobs } = Session.realmOf(run.options.base);
    const reuse = run.tape.reusable(run.secrets.conceal(request.fact).value, chain.tip, blobs);
    if (reuse === undefined) return false;
    run.turns.soon(() => {
      item.evidence.push(...reuse.evidence.map((fact) => withoutStamp(fact)));
      chain.end(item, { ...withoutStamp(reuse.fact), from: reuse.id });
      goOn();
    });
    return true;
  }

  /** Whether a write may have happened, and nobody knows. One that failed in the run that this one is a retry of did not. */
  isInDoubt(item: PendingRequest, request: Request): boolean {
    const { run } = this.#work;
    const { begun } = item;
    if (begun === undefined || request.effect !== "write") return false;
    return begun.run === run.nonce || !run.tape.redone.has(item.asked.id);
  }

  /** Makes one attempt. */
  async try(item: PendingRequest, request: Request): Promise<void> {
    const { run, scope, chain } = this.#work;
    const attempt = item.state.attempts + 1;
    const write = request.effect === "write";
    if (write) chain.append(item, { type: "effect-start", of: item.asked.id, attempt, key: item.key });
    else item.advance({ type: "attempt", attempt });
    const turn = ++item.turn;
    const controller = new AbortController();
    item.controller = controller;
    const release = run.turns.occupy();
    item.release = release;
    let outcome: Outcome | undefined;
    let thrown: { error: unknown } | undefined;
    const recorder = this.#effectRecorder(item, controller);
    const pieces = this.#piecesOf(item);
    const began = run.services.now();
    try {
      // A write is on the disk before it starts, so that it is never repeated unseen; so is the key of an idempotent effect.
      if (write || request.effect === "idempotent") await run.recorder.flush();
      // Stopped for a while, in that or before it: another process may have taken the run over, and done this.
      if (!run.lease.isHeld) await run.lease.hold();
      if (run.recorder.stopped !== undefined || item.turn !== turn) return;
      // Cancelled while that was being written: nothing has happened yet, and nothing will.
      if (scope.cancelled !== undefined) throw new CancelledError(scope.cancelled);
      outcome = await timed(
        request.act(this.#attemptOf(item, attempt, controller, recorder, pieces)),
        this.#patience(request),
        controller,
        write,
      );
    } catch (error) {
      thrown = { error: readableError(error) };
    }
    pieces.flush();
    try {
      await recorder.finish(thrown?.error instanceof TimeoutError && thrown.error.running);
    } catch (error) {
      // Its work is gone with its sandbox, whatever it said.
      outcome = undefined;
      thrown ??= { error };
    }
    const settle = (): void => {
      if (item.turn !== turn || item.isDone) return;
      const milliseconds = run.services.now() - began;
      this.#settle(item, request, { attempt, milliseconds, outcome, thrown });
    };
    if (changeOf(item.evidence) === undefined) run.turns.soon(settle);
    else this.#files.inTurn(() => this.#files.rebase(item), settle);
    release();
  }

  /** Milliseconds that an attempt may take. A `write` is not stopped because a budget is spent: nobody would know how it ended. */
  #patience({ effect, timeout = Number.POSITIVE_INFINITY }: Request): number {
    const { run, scope } = this.#work;
    const { ledger } = scope;
    const left =
      ledger === undefined || effect === "write" ? Number.POSITIVE_INFINITY : ledger.left(run.services.now());
    return Math.min(timeout, Math.max(1, left));
  }

  #piecesOf(item: PendingRequest): Pieces {
    const { run } = this.#work;
    return new Pieces(run.secrets, (delta) => run.recorder.emit(item.asked, delta));
  }

  #attemptOf(
    item: PendingRequest,
    attempt: number,
    controller: AbortController,
    recorder: EffectRecorder,
    pieces: Pieces,
  ): Attempt {
    const { run } = this.#work;
    return {
      attempt,
      number: attempt,
      signal: controller.signal,
      key: item.key,
      request: item.asked,
      emit: (delta) => pieces.take(delta),
      sandbox: async () => {
        this.#requireAlone(item);
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
  }

  #effectRecorder(item: PendingRequest, controller: AbortController): EffectRecorder {
    const { run, chain } = this.#work;
    const { name } = item.asked.fact as { readonly name?: string };
    return new EffectRecorder({
      pool: run.pool,
      tip: chain.tip,
      run: run.nonce,
      signal: controller.signal,
      evidence: item.evidence,
      ...(name !== undefined && name !== "" && { by: `tool:${name}` }),
    });
  }

  /** Of calls that go on side by side on the same files, nobody could say which of them changed what. */
  #requireAlone(item: PendingRequest): void {
    const { conflicts = [] } = item.request as Request;
    if (this.#work.size === 1 || conflicts.includes(WORKSPACE)) return;
    throw new RefusedError(
      "use the sandbox",
      "other calls may use it at the same time",
      `say that calls of this tool go one after the other: conflicts: [${JSON.stringify(WORKSPACE)}]`,
    );
  }

  #settle(item: PendingRequest, request: Request, brought: Brought): void {
    const { run, scope, chain, goOn } = this.#work;
    const { attempt, milliseconds, outcome, thrown } = brought;
    if (thrown !== undefined && leavesDoubt(request, thrown.error)) {
      const error = run.secrets.conceal(failureOfRequest(request, thrown.error)).value;
      chain.tell(item, withoutFiles(item.evidence));
      chain.append(item, { type: "effect-doubt", of: item.asked.id, attempt, error });
      run.recorder.flushSoon();
      // While it may still happen, nobody can find out that it did not.
      if (thrown.error instanceof TimeoutError && thrown.error.running) this.#work.wait(item, item.asked);
      else run.watch(this.reconcile(item, request, error));
      return;
    }
    if (thrown !== undefined && scope.cancelled === undefined) {
      const { retry } = request;
      if (retry !== undefined && attempt < (retry.attempts ?? 3) && isRetryable(thrown.error, retry)) {
        this.#backOff(item, attempt, {
          error: run.secrets.conceal(failureOfRequest(request, thrown.error)).value,
          wait: delayOf(thrown.error, attempt, retry, run.services),
        });
        return;
      }
    }
    const { cancelled } = scope;
    const body: Outcome =
      outcome ??
      // How a write failed is part of what became of it, cancelled or not.
      (cancelled === undefined || request.effect === "write"
        ? failedAs(request, thrown?.error)
        : request.failed(failureOf(new CancelledError(cancelled)), undefined));
    chain.end(item, { milliseconds, ...body });
    goOn();
  }

  /** It failed, and is tried again after a while. */
  #backOff(
    item: PendingRequest,
    attempt: number,
    { error, wait }: { readonly error: Failure; readonly wait: number },
  ): void {
    const { run, chain, goOn } = this.#work;
    chain.tell(item, withoutFiles(item.evidence));
    chain.append(item, { type: "effect-fail", of: item.asked.id, attempt, error, wait });
    item.release = run.turns.later(wait, () => {
      if (item.isDone) return;
      item.advance({ type: "let-go" });
      goOn();
    });
  }

  /** A write that was started and has no outcome: found out by its reconciler, or left to a person. Never repeated unseen. */
  async reconcile(item: PendingRequest, request: Request, error?: Failure): Promise<void> {
    const { run, chain, soon, goOn } = this.#work;
    let found: Outcome | "again" | "unknown" = "unknown";
    if (request.reconcile !== undefined) {
      const release = run.turns.occupy();
      const controller = new AbortController();
      const recorder = this.#effectRecorder(item, controller);
      const { attempts } = item.state;
      try {
        found = await request.reconcile(
          this.#attemptOf(item, attempts, controller, recorder, this.#piecesOf(item)),
        );
      } catch (failed) {
        // Nobody knows, then; but its owner should.
        warnOf(failed, "OPENRATH_RECONCILE");
      } finally {
        await recorder.finish(false).catch(() => {});
        release();
      }
    }
    soon(item, () => {
      if (found === "unknown") this.#work.wait(item, item.asked);
      else if (found === "again") this.#again(item, request, error);
      else {
        chain.end(item, found);
        goOn();
      }
    });
  }

  /** It certainly did not happen: then it failed, and is tried again as often as failures are. */
  #again(item: PendingRequest, request: Request, error: Failure | undefined): void {
    const { chain, goOn } = this.#work;
    item.advance({ type: "not-done" });
    // The reconciler's evidence is on the record before the next attempt, which then goes on in the same sandbox.
    chain.tell(item, withoutFiles(item.evidence));
    if (error !== undefined && item.state.attempts >= attemptsFor(request, error)) {
      chain.end(item, request.failed(error, undefined));
      goOn();
    } else if (!this.#givenUp(item, request)) {
      item.advance({ type: "let-go" });
      goOn();
    }
  }

  /** A person said what became of a write that nobody knew the outcome of. */
  settledBy(item: PendingRequest, request: Request, fact: FactOf<"effect-settle">): void {
    const { chain } = this.#work;
    const { by } = fact;
    if (fact.decision === "again") this.#givenUp(item, request);
    else if (fact.decision === "failed") {
      const error = fact.error ?? { name: "EffectFailed", message: fact.why ?? "it did not happen" };
      chain.end(item, { ...request.failed(error, undefined), by });
    } else {
      const value = fact.value ?? null;
      const ofTool = request.fact.type === "tool-call";
      chain.end(
        item,
        ofTool ? { type: "tool-result", output: value, by } : { type: "step-result", value, by },
      );
    }
  }

  /** Ends a request that would be repeated, once its scope is cancelled. */
  #givenUp(item: PendingRequest, request: Request): boolean {
    const { scope, chain, goOn } = this.#work;
    const { cancelled } = scope;
    if (cancelled === undefined) return false;
    chain.end(item, request.failed(failureOf(new CancelledError(cancelled)), undefined));
    goOn();
    return true;
  }
}

/** Whether a `write` may have happened though it failed; unless its owner wants it tried again whatever happened. */
function leavesDoubt({ effect, retry }: Request, error: unknown): boolean {
  if (effect !== "write" || !isUnanswered(error)) return false;
  return retry?.when === undefined || !isRetryable(error, retry);
}

/** The fact without its stamp and the request it belonged to. */
function withoutStamp<Stamped extends Evidence | Reusable["fact"]>(fact: Stamped): Stamped {
  const { of: _of, at: _at, run: _run, seq: _seq, ...body } = fact as Stamped & { of?: FactId };
  return body as Stamped;
}

/**
 * How often a call is tried that certainly did not happen. That its sandbox went away once says nothing about the call; that
 * a second one did says that the call is what ends them.
 */
function attemptsFor({ retry }: Request, { code }: Failure): number {
  return Math.max(retry?.attempts ?? 1, code === "sandbox-lost" ? WITH_LOST_SANDBOXES : 1);
}

const WITH_LOST_SANDBOXES = 2;

/** The key of calls that use the workspace: they go one after the other. */
const WORKSPACE = "workspace";
