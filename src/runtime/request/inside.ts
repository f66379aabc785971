import { drafted, readableError, requireSession, type Session } from "../../session/index.js";
import { Scope } from "../run/scope.js";
import type { Child, PendingRequest } from "./pending-request.js";
import { failedAs, type Outcome, type Request } from "./request.js";

/**
 * Runs a module in the place of an effect, on a fork of its request. The module enters the run by itself, so it is entered
 * again on a tape.
 */
export function enterModule(item: PendingRequest, request: Request): void {
  const { batch } = item;
  const { run, chain } = batch;
  const { branch, body } = request.inside as NonNullable<Request["inside"]>;
  // A scope of its own knows where it has come to, should it fail: an error may be thrown in several places at once.
  const scope = new Scope(run, batch.scope);
  const fork = scope.next(
    [item.asked],
    drafted({ type: "branch-fork", name: branch, by: "runtime" }),
    scope.realm(chain.realm),
  );
  const child: Child = { scope, fork, head: undefined, failed: undefined };
  item.child = child;
  item.advance({ type: "enter" });
  const work = async (): Promise<void> => {
    try {
      child.head = requireSession(await body(fork), `go on from ${JSON.stringify(branch)}`);
    } catch (error) {
      child.failed = { error: readableError(error) };
    }
    scope.leave();
    if (run.tape.adopting) run.look(batch);
    else returnModule(item);
  };
  run.watch(work());
}

/** A module that ran inside came back: its head joins the chain, and its files those of the chain. */
export function returnModule(item: PendingRequest): void {
  const { run, chain } = item.batch;
  const { asked } = item;
  const child = item.child as Child;
  const theirs = child.head?.files.tree ?? null;
  if (theirs === null || theirs === asked.files.tree) {
    item.soon(() => join(item, child));
    return;
  }
  chain.inTurn(
    async () => {
      try {
        item.evidence.push(...(await run.pool.join(asked.files.tree, chain.tip.files.tree, theirs)));
      } catch (error) {
        child.failed = { error };
      }
    },
    () => !item.isDone && join(item, child),
  );
}

function join(item: PendingRequest, { failed, head }: Child): void {
  const request = item.request as Request;
  let made: Outcome;
  try {
    if (failed !== undefined) throw failed.error;
    made = (request.inside as NonNullable<Request["inside"]>).outcome(head as Session);
  } catch (error) {
    made = failedAs(request, readableError(error));
  }
  item.end(made, [item.settledChild as Session]);
}
