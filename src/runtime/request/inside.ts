import { drafted, readableError, type Session } from "../../session/index.js";
import { Scope } from "../run/scope.js";
import type { FileLine } from "./files.js";
import { failedAs, outcomeBy } from "./outcome.js";
import type { Child, PendingRequest } from "./pending-request.js";
import type { Request } from "./request.js";
import type { BatchWork } from "./work.js";

/** Modules that run in the place of an effect, each on a fork of its request. */
export class Inside {
  readonly #work: BatchWork;
  readonly #files: FileLine;
  readonly #back: (item: PendingRequest) => void;

  /** @param back called when a module is back */
  constructor(work: BatchWork, files: FileLine, back: (item: PendingRequest) => void) {
    this.#work = work;
    this.#files = files;
    this.#back = back;
  }

  /** Runs a module on a fork of the request. It enters the run by itself, so it is entered again on a tape. */
  enter(item: PendingRequest, request: Request): void {
    const { scope: outer, chain } = this.#work;
    const { branch, body } = request.inside as NonNullable<Request["inside"]>;
    // A scope of its own knows where it has come to, should it fail: an error may be thrown in several places at once.
    const scope = new Scope(outer.run, outer);
    const fork = scope.next(
      [item.asked],
      drafted({ type: "branch-fork", name: branch, by: "runtime" }),
      scope.realm(chain.realm),
    );
    const child: Child = { scope, fork, head: undefined, failed: undefined };
    item.child = child;
    item.advance({ type: "enter" });
    void (async () => body(fork))()
      .then(
        (head) => {
          child.head = head;
        },
        (error: unknown) => {
          child.failed = { error: readableError(error) };
        },
      )
      .then(() => {
        scope.leave();
        this.#back(item);
      });
  }

  /** A module that ran inside came back: its head joins the chain, and its files those of the chain. */
  return(item: PendingRequest): void {
    const { run, chain } = this.#work;
    const { failed, head } = item.child as Child;
    const theirs = head?.files.tree ?? null;
    if (failed !== undefined || theirs === null || theirs === item.asked.files.tree) {
      run.turns.soon(() => this.#join(item));
      return;
    }
    this.#files.inTurn(
      async () => {
        try {
          item.evidence.push(...(await run.pool.join(item.asked.files.tree, chain.tip.files.tree, theirs)));
        } catch (error) {
          (item.child as Child).failed = { error };
        }
      },
      () => this.#join(item),
    );
  }

  #join(item: PendingRequest): void {
    if (item.isDone) return;
    const { chain, goOn } = this.#work;
    const request = item.request as Request;
    const { failed, head } = item.child as Child;
    const { outcome } = request.inside as NonNullable<Request["inside"]>;
    const made =
      failed === undefined
        ? outcomeBy(() => outcome(head as Session), request)
        : failedAs(request, failed.error);
    chain.end(item, made, [item.settledChild as Session]);
    goOn();
  }
}
