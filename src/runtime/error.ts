import {
  drafted,
  type Fact,
  type FactId,
  type Failure,
  type Json,
  RathError,
  type Session,
  type Withheld,
} from "../session/index.js";
import { defined } from "../util/index.js";
import type { Status } from "./status.js";

/** The program did something other than the record says, and nothing was called to find out. */
export class DivergenceError extends RathError {
  /** @param declared what the program declares differently, where that is all that is known */
  constructor(
    run: string,
    expected: Side | undefined,
    actual: Side | undefined,
    declared: readonly string[] = [],
  ) {
    const path = expected && actual && firstDifference(expected.fact, actual.fact);
    const where = declared.length > 0 ? declared.join(", ") : path;
    super(
      "divergence",
      `Run ${run} does not go the way it was recorded.${where ? ` What differs is ${where}.` : ""}\n  recorded: ${renderSide(expected)}\n  now:      ${renderSide(actual)}`,
      {
        hint: 'run the program that made this record, or go on from here on a branch: replay(name, module, { mode: "what-if" })',
        data: {
          run,
          expected: expected ?? null,
          actual: actual ?? null,
          ...(declared.length > 0 && { declared }),
          ...(path && { path }),
        },
      },
    );
  }
}

/** One side of a divergence: a fact, and the sessions it was made from. */
export type Side = {
  readonly fact: Json;
  readonly parents: readonly FactId[];
  readonly id?: FactId;
  /** The modules in which it was made, the outermost first. */
  readonly module?: readonly string[];
};

/** The record ends before the program does: it was interrupted here. */
export class TapeEndedError extends RathError {
  constructor(run: string, frontiers: readonly { readonly id: FactId; readonly type: string }[]) {
    super("tape-ended", `The record of run ${run} ends before its program does.`, {
      hint: "go on from there: resume(name, module)",
      data: { run, frontiers },
    });
  }
}

/** A replay that was to end in the recorded id ended in another one. */
export class VerificationError extends RathError {
  constructor(run: string, expected: FactId, actual: FactId) {
    super("verification-failed", `Run ${run} was recorded to end in ${expected}, and ends in ${actual}.`, {
      hint: "compare the two sessions with diff(a, b)",
      data: { run, expected, actual },
    });
  }
}

/** The record says something that was erased since, so the run cannot be gone through again. */
export class ErasedContentError extends RathError {
  constructor(id: FactId, content: Withheld) {
    super(
      "content-erased",
      `Cannot go through the record again: content of ${id.slice(0, 12)} was ${content.reason}.`,
      {
        hint: "a run whose content was erased can be read and verified line by line, not replayed",
        data: { fact: id, digest: content.digest, reason: content.reason },
      },
    );
  }
}

/** Something of a run that is over tried to go on: its body was cut off by a suspension, or its process lost the lease. */
export class RunClosedError extends RathError {
  constructor(run: string, why: string) {
    super("run-closed", `Run ${run} is over: ${why}.`, {
      hint: "a body awaits only modules, steps, sleep and signals; take the session up again with rath.load(id)",
      data: { run, why },
    });
  }
}

/** Why a run stops whose process ends, or whose lease another process holds: it is not over, and may be resumed. */
export const GIVEN_UP = "the run was given up";

/** Stopped on purpose: by the caller's signal, by the winner of a race, by a sibling that failed. */
export class CancelledError extends RathError {
  /** Where the run ended, when all of it was cancelled. */
  readonly session: Session | undefined;

  /** @param abandoned its body awaited something of its own, and was not waited for */
  constructor(why: string, session?: Session, abandoned = false) {
    super("cancelled", `Cancelled: ${why}.`, {
      hint: "what was done before is in the record; run or fork it again to go on",
      data: { why, ...(abandoned && { abandoned }) },
    });
    this.session = session;
  }
}

/** Whether the work that a signal stops may be taken up again: its run was given up here, not cancelled. */
export function isGivenUp({ reason }: AbortSignal): boolean {
  return reason instanceof CancelledError && Object(reason.data).why === GIVEN_UP;
}

/** The next call would exceed a budget, so it was not made. */
export class BudgetError extends RathError {
  /** Ends with the `budget-stop` that says which limit. */
  readonly session: Session;

  constructor(
    session: Session,
    { limit, allowed, spent, asked }: { limit: string; allowed: number; spent: number; asked: number },
  ) {
    // Only these, though a recorded stop has a stamp too: the error ends up in the record, live and on a tape alike.
    const stop = { limit, allowed, spent, asked };
    super(
      "budget-exceeded",
      `The budget of ${stop.allowed} ${stop.limit} does not allow this call: ${stop.spent} are spent and it asks for ${stop.asked}.`,
      { hint: "raise the budget, or go on from error.session", data: stop },
    );
    this.session = session;
  }
}

/** A budget limits money, and the model has no price: nothing could be counted, so the call was not made. */
export class UnpricedModelError extends RathError {
  constructor(model: string, allowed: number) {
    super(
      "price-unknown",
      `The budget of ${allowed} money does not allow a call to ${JSON.stringify(model)}: its price is not known.`,
      {
        hint: `give its price in dollars per million tokens: openRath({ prices: { ${JSON.stringify(model)}: { input: 1, output: 2 } } })`,
        data: { model, allowed },
      },
    );
  }
}

/** The body of a run threw. The record is complete: `session` is the `run-end` that holds the error. */
export class RunFailedError extends RathError {
  readonly session: Session;

  constructor(module: string, failure: Failure, session: Session, cause: unknown) {
    const hint = hintOf(cause);
    const message = hint === undefined ? failure.message : failure.message.replace(` (${hint})`, "");
    super("run-failed", `${module} failed: ${message}`, {
      hint: hint === undefined ? resumeHint(session) : `${hint} (${resumeHint(session)})`,
      data: { module, error: failure },
      cause,
    });
    this.session = session;
  }
}

/** How to go on after a run that failed. Without a runtime the run is not kept, so nothing can go on with it. */
function resumeHint({ host }: Session): string {
  const left = "error.session has the whole record, error.cause what was thrown";
  return host === undefined
    ? left
    : `${left}; finished work is kept: go on with rath.retry(error.session.id, module)`;
}

/**
 * The next thing to type that somebody on the way knew: of what stood in the way of a place, if that is what it was, else of
 * the outermost error of ours.
 */
function hintOf(thrown: unknown): string | undefined {
  const met = new Set<unknown>();
  const hints: string[] = [];
  try {
    for (let error = thrown; error instanceof Error && !met.has(error); error = error.cause) {
      met.add(error);
      // Another run's error has the hint of its cause already, and how to go on with that run, which is not this one.
      if (!(error instanceof RathError) || error instanceof RunFailedError) continue;
      const { hint } = splitFailure(Object(error.data).failure);
      if (hint !== undefined) return hint;
      if (MENDABLE.test(error.code)) return String(error.hint);
      hints.push(String(error.hint));
    }
  } catch {
    // Whatever an error carries, also what throws when it is looked at, the run ends with it.
  }
  return hints[0];
}

/** A recorded failure taken apart again: what it says, and the next thing to type, where the record has it. */
export function splitFailure(failure: unknown): { readonly message: string; readonly hint?: string } {
  const { message = "", code, data } = Object(failure) as Partial<Failure>;
  const { hint, failure: inner } = Object(data) as { readonly hint?: unknown; readonly failure?: unknown };
  const told =
    typeof code === "string" && MENDABLE.test(code)
      ? hint
      : inner === undefined
        ? undefined
        : splitFailure(inner).hint;
  const text = String(message);
  return typeof told === "string"
    ? { message: text.replace(` (${told})`, ""), hint: told }
    : { message: text };
}

/** The session waits for something, so nothing new may be built on it. */
export class PendingWorkError extends RathError {
  constructor(pending: readonly { readonly id: FactId; readonly type: string; readonly what: string }[]) {
    const [first] = pending;
    super(
      "work-pending",
      `Cannot run on a session with unfinished work: ${pending.length} pending, first a ${first?.type} (${first?.what}).`,
      {
        hint: "resume its run, answer what is awaited, or fork the session before the request",
        data: { pending: pending.map(({ id, type, what }) => ({ id, type, what })) },
      },
    );
  }
}

/** Nothing waits for this answer, somebody has given one already, or it is for other content than was shown. */
export class AnswerError extends RathError {
  constructor(reason: string, hint: string, data: { [key: string]: Json } = {}) {
    super("answer-refused", `Cannot answer: ${reason}.`, { hint, data });
  }
}

/** The session or name is not that of a run. */
export class NotARunError extends RathError {
  constructor(what: string, use: string) {
    super("not-a-run", `Cannot ${use} ${what}: it was not made by a run.`, {
      hint: "run a module on it: rath.run(module, session, { name })",
      data: { what },
    });
  }
}

/** The runtime was closed. */
export class NotOpenError extends RathError {
  constructor() {
    super("runtime-closed", "Cannot use a runtime that was closed.", {
      hint: "open another: openRath({ store })",
    });
  }
}

/** Something that must be on the record was asked for where nothing is recorded. */
export class OutsideRunError extends RathError {
  constructor(use: string) {
    super("outside-run", `Cannot ${use} here: no run is under way on this session.`, {
      hint: "do it in the body of a module: workflow(name, async (session) => …), or call forward on a step",
      data: { use },
    });
  }
}

/** A module returned a session that does not descend from its input: evidence would be lost. */
export class DescentError extends RathError {
  constructor(module: string, given: FactId, returned: FactId) {
    super("descent-broken", `${module} returned a session that does not descend from the one it was given.`, {
      hint: "return what append, fork, merge or another module's forward made of it",
      data: { module, given, returned },
    });
  }
}

/** An error as the record holds it. */
export function failureOf(error: unknown): Failure {
  try {
    if (!(error instanceof Error)) return { name: "Thrown", message: describeThrown(error) };
    const { name, code } = error as Error & { readonly code?: unknown };
    // Some libraries put objects there, which the record cannot hold.
    if (!(error instanceof RathError))
      return {
        name: describeThrown(name),
        message: describeThrown(error.message),
        ...(typeof code === "string" && { code }),
      };
    const { code: known, hint } = error;
    // The first line: the hint follows it.
    const [message = ""] = error.message.split("\n  hint: ");
    const data = jsonDataOf(error.data);
    // A reader of the outcome, a model too, can fix the place that the error names: so the hint belongs to the message.
    return MENDABLE.test(known)
      ? { name, message: `${message} (${hint})`, code: known, data: { ...Object(data), hint } }
      : { name, message, code: known, ...defined({ data }) };
  } catch {
    // Getters and proxies are other people's code.
    return { name: "Thrown", message: "an error that cannot be read" };
  }
}

const MENDABLE =
  /^(sandbox|place|path|file|files|secret|patch|git|conflicts?|memory(?!-file))-|^(not-placed|run-refused|export-conflicted)$/;

/** Data that somebody else gave their error, as far as JSON has words for it: an error must not keep a run from ending. */
function jsonDataOf(data: unknown): Json | undefined {
  try {
    drafted({ type: "note", kind: "error", data: data as Json });
    return data as Json;
  } catch {
    try {
      return JSON.parse(JSON.stringify(data)) as Json;
    } catch {
      return undefined;
    }
  }
}

/** Anything can be thrown, also what JSON has no words for. */
function describeThrown(thrown: unknown): string {
  if (typeof thrown === "string") return thrown;
  try {
    return JSON.stringify(thrown) ?? String(thrown);
  } catch {
    return typeof thrown === "object" ? Object.prototype.toString.call(thrown) : String(thrown);
  }
}

/** A fact without its stamp, for people. */
export function bodyOf(fact: Fact): Json {
  const { at, run, seq, ...body } = fact as { readonly [field: string]: Json };
  return body;
}

function renderSide(side: Side | undefined): string {
  if (side === undefined) return "nothing";
  const text = JSON.stringify(side.fact);
  const where = side.module === undefined ? "" : ` in ${side.module.join(" › ")}`;
  return `${text.length > 400 ? `${text.slice(0, 400)}…` : text}${where}`;
}

/** A name stands at something else than the run that would move it. */
export class NameTakenError extends RathError {
  constructor(
    name: string,
    id: FactId,
    use: "begin a run as" | "begin a what-if as" | "resume",
    status?: Status,
  ) {
    super("name-conflict", `Cannot ${use} ${JSON.stringify(name)}: ${describeHolder(id, use, status)}.`, {
      hint: hintFor(name, id, use, status),
      data: { name, actual: id, ...defined({ status }) },
    });
  }
}

function describeHolder(id: FactId, use: string, status: Status | undefined): string {
  if (status !== undefined && status !== "open") {
    const how = status === "cancelled" ? "was cancelled" : status === "waiting" ? "waits" : status;
    return `a run has this name that ${how} (${id.slice(0, 12)})`;
  }
  return `it stands at ${id.slice(0, 12)}, which is ${use === "resume" ? "no part of the run" : "something else"}`;
}

function hintFor(name: string, id: FactId, use: string, status: Status | undefined): string {
  const quoted = JSON.stringify(name);
  if (use === "resume")
    return `give that another name: await store.point("another", "${id.slice(0, 12)}"); then await store.forget(${quoted})`;
  if (use === "begin a what-if as") return "give it another name, or none";
  return status === "waiting" || status === "open"
    ? `go on with it: rath.resume(${quoted}, module); or take another name`
    : `go on from where it ended: rath.run(module, (await rath.load(${quoted})).say("…"), { name: ${quoted} }); or take another name`;
}

type Fields = { readonly [key: string]: Json };

/** The path of the first value that two values of JSON differ in, such as `input.to[1]`; undefined when they are equal. */
function firstDifference(one: Json | undefined, other: Json | undefined, path = ""): string | undefined {
  if (!isNested(one) || !isNested(other) || Array.isArray(one) !== Array.isArray(other))
    return one === other ? undefined : path;
  for (const key of new Set([...Object.keys(one), ...Object.keys(other)])) {
    const inner = Array.isArray(one) ? `[${key}]` : `${path === "" ? "" : "."}${key}`;
    const found = firstDifference(one[key], other[key], path + inner);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Lists count too: their items are fields named by place. */
function isNested(value: Json | undefined): value is Fields {
  return typeof value === "object" && value !== null;
}
