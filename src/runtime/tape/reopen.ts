import { randomBytes } from "node:crypto";
import { type FactId, type FactOf, type Failure, parentsOf, readFact } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { NotARunError } from "../error.js";
import type { Budget } from "../request/request.js";
import { DEFAULT_DURABILITY, type Durability } from "../run/durability.js";
import { unnamed } from "../run/names.js";
import type { RunOptions } from "../run/options.js";
import { nameOf, type Recorded, startsOf } from "./recorded.js";
import { type Entry, Tape } from "./tape.js";

/** A recorded run as it is run again: under its own nonce, or under a new one that comes from it. */
type Reopened = Pick<
  RunOptions,
  "nonce" | "name" | "starts" | "own" | "origin" | "stale" | "budget" | "for"
> & {
  /** The level that the run began with; a what-if begins with that of its runtime. */
  readonly durability?: Durability;
  /** The session that it begins with. */
  readonly base: FactId;
  readonly tape: Tape;
};

/**
 * Reads everything that a run needs of its record.
 *
 * @param fork whether it becomes a run of its own, with this name, that comes from the recorded one
 * @param again whether the failures that ended it are done again
 * @param upTo the fact at which the record ends for this purpose
 */
export async function reopen(
  store: Store,
  recorded: Recorded,
  {
    fork,
    name,
    again,
    upTo,
  }: {
    readonly fork: boolean;
    readonly name: string | undefined;
    readonly again: boolean;
    readonly upTo: FactId | undefined;
  },
): Promise<Reopened> {
  const nonce = fork ? newNonce() : recorded.nonce;
  const leaves = upTo === undefined ? recorded.leaves : [upTo];
  const origin = fork
    ? { run: recorded.nonce, start: recorded.root, leaves, ...(again && { again }) }
    : recorded.fact.from;
  const starts = await startsOf(store, recorded);
  const [first] = starts;
  const [base] = first === undefined ? [] : parentsOf(first.line);
  if (first === undefined || base === undefined) throw new NotARunError(recorded.head, "replay");
  const runs = starts.map(({ line }) => (readFact(line, undefined) as FactOf<"run-start">).nonce);
  const origins = runs.filter((run) => run !== nonce);
  const tape = new Tape(nonce, origins);
  // The beginning of a what-if lies aside.
  const heads = new Set(fork || upTo === undefined ? leaves : [...leaves, recorded.start]);
  // Where only this run was brought here, what it did not take from the other one is not needed either.
  for (const id of fork || upTo !== undefined ? [] : (origin?.leaves ?? []))
    if ((await store.line(id)) !== undefined) heads.add(id);
  for await (const batch of store.lines([...heads], { without: [base] }))
    for (const { id, line } of batch) tape.add(id, line);
  if (origin?.again === true) redo(tape, origin.run);
  if (fork && upTo !== undefined) forgetOpenDecisions(tape);
  const entries = tape.entries.filter(
    ({ id, type }) => type === "run-start" && starts.some((start) => start.id === id),
  );
  const { digests, for: behalf } = readFact(first.line, undefined) as FactOf<"run-start">;
  return {
    nonce,
    name: fork ? (name ?? unnamed(nonce)) : nameOf(recorded),
    base,
    tape,
    starts: entries.filter(({ run }) => fork || run !== nonce || origin === undefined),
    ...(!fork && origin !== undefined && { own: entries.find(({ run }) => run === nonce) }),
    ...(origin !== undefined && { origin }),
    stale: fork ? [] : recorded.names,
    budget: (digests as { readonly budget?: Budget } | undefined)?.budget,
    for: behalf,
    ...(!fork && { durability: recorded.fact.durability ?? DEFAULT_DURABILITY }),
  };
}

/**
 * The failures that ended a run are not taken over: the last failure on each of its branches is to be done again. Failures
 * that the program went on from stay as they are.
 */
function redo(tape: Tape, run: string): void {
  const byId = new Map(tape.entries.map((entry) => [entry.id, entry]));
  const end = tape.endOf(run);
  const ids = new Set(end === undefined ? [] : [end.id]);
  const late = new Set<FactId>();
  for (const id of ids) {
    const entry = byId.get(id);
    if (entry === undefined) continue;
    const parents = parentsOf(entry.line);
    if (LEAVING.has(entry.type)) for (const parent of parents) ids.add(parent);
    else if (FAILED.has(entry.type)) {
      entry.used = true;
      tape.redone.add(entry.of);
      const { error } = readFact(entry.line, undefined) as { readonly error?: Failure };
      if (error?.code === "approval-expired") late.add(entry.of);
      // A module that ran inside failed by what failed last in it. The cause may also stand before the failure: a wait was
      // cancelled, or a person said no and is asked again.
      for (const [place, parent] of parents.entries())
        if (place > 0 || isStopped(tape, byId.get(parent))) ids.add(parent);
    }
  }
  for (const entry of tape.entries)
    if (
      entry.run === run &&
      (entry.type === "run-cancel" ||
        // The policies decide again; a person who had no time left is asked again.
        (entry.type === "policy-decide" && tape.redone.has(entry.of)) ||
        (entry.type === "approval-ask" && late.has(entry.of)))
    )
      entry.used = true;
}

/**
 * A what-if from a fact inside a request does that request anew, and what was decided about the first execution does not hold
 * for a second: the policies decide and people are asked again.
 */
function forgetOpenDecisions(tape: Tape): void {
  const done = new Set(tape.entries.filter(({ type }) => OUTCOMES.has(type)).map(({ of }) => of));
  const open = new Set(
    tape.entries.filter(({ id, type }) => REQUESTS.has(type) && !done.has(id)).map(({ id }) => id),
  );
  for (const entry of tape.entries) {
    if (!DECISIONS.has(entry.type) || !open.has(entry.of)) continue;
    entry.used = true;
    if (entry.type === "approval-ask") open.add(entry.id);
  }
}

const REQUESTS: ReadonlySet<string> = new Set(["tool-call", "step-call", "model-call"]);
const OUTCOMES: ReadonlySet<string> = new Set([
  "tool-result",
  "tool-failure",
  "step-result",
  "step-failure",
  "model-reply",
  "model-failure",
]);
const DECISIONS: ReadonlySet<string> = new Set(["policy-decide", "approval-ask", "answer-take"]);

function isStopped(tape: Tape, entry: Entry | undefined): boolean {
  if (entry?.type === "wait-cancel") return true;
  const answer = entry?.type === "answer-take" ? tape.others.get(parentsOf(entry.line)[1] ?? "") : undefined;
  const fact = answer === undefined ? undefined : readFact(answer, undefined);
  return fact?.type === "approval-give" && fact.decision !== "approve";
}

/** Facts on the way from a failure to the end of a run. */
const LEAVING: ReadonlySet<string> = new Set(["run-end", "module-exit", "branch-merge"]);
const FAILED: ReadonlySet<string> = new Set([
  "model-failure",
  "tool-failure",
  "step-failure",
  "wait-cancel",
  "answer-take",
  "budget-stop",
]);

/** A unique id for a run. */
export function newNonce(): string {
  return randomBytes(9).toString("base64url");
}
