import type { Digest } from "../../session/index.js";
import type { ExecResult } from "../sandbox.js";
import { actionFor, type CheckedPolicy, delayAfter } from "./policy.js";

/** The state of a job as a value. A step is a pure function to the next state, with what to start and end. */
export type JobState = {
  readonly policy: CheckedPolicy;
  readonly indexes: readonly IndexState[];
  readonly isSuspended: boolean;
  /** Set once; nothing is started from then on. It is over when nothing is under way either. */
  readonly finish: Finish | null;
  readonly failures: number;
  readonly lost: number;
  /** Milliseconds that it was active, up to `since`; from there it has been again, if that is not null. */
  readonly active: number;
  readonly since: number | null;
  /** When it was last suspended or resumed. */
  readonly turned: number | null;
};

export type IndexState = {
  /** `stopping` was told to end. `frozen` stands still until the job is resumed. */
  readonly state:
    | "waiting"
    | "active"
    | "frozen"
    | "stopping"
    | "succeeded"
    | "failed"
    | "lost"
    | "cancelled";
  /** How many attempts were begun. */
  readonly attempts: number;
  readonly failures: number;
  readonly lost: number;
  /** Tries that brought nothing, whatever they count as. */
  readonly tries: number;
  /** Not tried again before this time. */
  readonly notBefore: number;
};

export type Finish = {
  readonly type: "Complete" | "Failed";
  readonly reason:
    | "AllSucceeded"
    | "BackoffLimitExceeded"
    | "DeadlineExceeded"
    | "ExitRule"
    | "FailedIndexes"
    | "LostIndexes"
    | "Cancelled";
  readonly message?: string;
  readonly at: number;
};

/** The next state, and what follows from it. */
export type Turn = {
  readonly state: JobState;
  readonly start: readonly { readonly index: number; readonly attempt: number }[];
  /** Indexes whose attempt is to be ended. */
  readonly stop: readonly number[];
  /** When the state may change by itself; null when it does not. */
  readonly wake: number | null;
};

export type Ended = {
  readonly index: number;
  readonly outcome: ExecResult["outcome"];
  readonly code: number | null;
};

export function begin(policy: CheckedPolicy, at: number): Turn {
  const waiting: IndexState = Object.freeze({
    state: "waiting",
    attempts: 0,
    failures: 0,
    lost: 0,
    tries: 0,
    notBefore: at,
  });
  return tick(
    {
      policy,
      indexes: Array.from({ length: policy.completions }, () => waiting),
      isSuspended: policy.suspend,
      finish: null,
      failures: 0,
      lost: 0,
      active: 0,
      since: policy.suspend ? null : at,
      turned: policy.suspend ? at : null,
    },
    at,
  );
}

export function ended(before: JobState, { index, outcome, code }: Ended, at: number): Turn {
  const { state, stop } = overdue(before, at);
  const one = state.indexes[index];
  if (one === undefined || !isUnderWay(one)) return { ...tick(state, at), stop };
  const turn = tick(concluded(state, index, one, outcome, code, at), at);
  return { ...turn, stop: [...stop.filter((other) => other !== index), ...turn.stop] };
}

/** Suspends: what is under way stands still, or is ended and begun anew afterwards, which counts as no failure. */
export function suspend(before: JobState, how: "freeze" | "end", at: number): Turn {
  const { state, stop } = overdue(before, at);
  if (state.finish !== null || state.isSuspended) return { ...tick(state, at), stop };
  const indexes = state.indexes.map((one) =>
    one.state === "active"
      ? { ...one, state: how === "freeze" ? ("frozen" as const) : ("stopping" as const) }
      : one,
  );
  const turn = tick(
    { ...state, indexes, isSuspended: true, active: activeAt(state, at), since: null, turned: at },
    at,
  );
  return { ...turn, stop: how === "end" ? placesOf(state, "active") : [] };
}

export function resume(state: JobState, at: number): Turn {
  if (state.finish !== null || !state.isSuspended) return tick(state, at);
  const indexes = state.indexes.map((one) =>
    one.state === "frozen" ? { ...one, state: "active" as const } : one,
  );
  return tick({ ...state, indexes, isSuspended: false, since: at, turned: at }, at);
}

export function cancel(before: JobState, message: string, at: number): Turn {
  const { state, stop } = overdue(before, at);
  const turn = finished(state, { type: "Failed", reason: "Cancelled", message, at });
  return { ...turn, stop: [...stop, ...turn.stop] };
}

/** Whether nothing is left to happen. */
export function isOver({ finish, indexes }: JobState): boolean {
  return finish !== null && !indexes.some(isUnderWay);
}

/** Milliseconds that it was active up to a time. */
export function activeAt({ active, since }: JobState, at: number): number {
  return since === null ? active : active + Math.max(0, at - since);
}

function isUnderWay({ state }: IndexState): boolean {
  return state === "active" || state === "frozen" || state === "stopping";
}

function placesOf({ indexes }: JobState, ...states: readonly IndexState["state"][]): number[] {
  return indexes.flatMap(({ state }, index) => (states.includes(state) ? [index] : []));
}

/** The state after an attempt, before anything follows from it. */
function concluded(
  state: JobState,
  index: number,
  one: IndexState,
  outcome: ExecResult["outcome"],
  code: number | null,
  at: number,
): JobState {
  const set = (next: Partial<IndexState>, more: Partial<JobState> = {}): JobState => ({
    ...state,
    ...more,
    indexes: state.indexes.map((other, place) => (place === index ? { ...other, ...next } : other)),
  });
  if (outcome === "ok") return set({ state: "succeeded" });
  // Told to end: how it did says nothing about the task.
  if (state.finish !== null) return set({ state: "cancelled" });
  if (
    one.state === "stopping" ||
    (one.state === "frozen" && (outcome === "killed" || outcome === "unstarted"))
  )
    return set({ state: "waiting", notBefore: at });
  const tries = one.tries + 1;
  const again = { state: "waiting", tries, notBefore: at + delayAfter(state.policy, tries) } as const;
  if (outcome === "lost") {
    const lost = one.lost + 1;
    const more = { lost: state.lost + 1 };
    return lost > state.policy.lostLimit
      ? set({ state: "lost", lost, tries }, more)
      : set({ ...again, lost }, more);
  }
  const action = actionFor(state.policy, code);
  if (action === "ignore") return set(again);
  const failures = one.failures + 1;
  const more = { failures: state.failures + 1 };
  const { backoffLimit, backoffLimitPerIndex } = state.policy;
  const failed = { state: "failed", failures, tries } as const;
  if (action === "fail-job")
    return finishing(set(failed, more), "ExitRule", `index ${index} ended with code ${code}`, at);
  if (backoffLimit !== null && more.failures > backoffLimit)
    return finishing(
      set(failed, more),
      "BackoffLimitExceeded",
      `${more.failures} failures, and ${backoffLimit} are allowed`,
      at,
    );
  const isTooMany = backoffLimitPerIndex !== null && failures > backoffLimitPerIndex;
  return action === "fail-index" || isTooMany ? set(failed, more) : set({ ...again, failures }, more);
}

/** Time has passed. The consequences of a state: an end, attempts to start, or a time to wait for. */
export function tick(given: JobState, at: number): Turn {
  // Finished on the way here: what is under way is told to end, and what waits has waited in vain.
  if (given.finish !== null) return finished(given, given.finish);
  const { state, stop } = overdue(given, at);
  if (state.finish !== null) return { state, start: [], stop, wake: null };
  if (!state.indexes.some((one) => one.state === "waiting" || isUnderWay(one)))
    return finished(state, verdict(state, at));
  if (state.isSuspended) return { state, start: [], stop: [], wake: null };
  const { policy } = state;
  let free = policy.parallelism - state.indexes.filter(isUnderWay).length;
  const start: { index: number; attempt: number }[] = [];
  const later: number[] = [];
  const indexes = state.indexes.map((one, index) => {
    if (one.state !== "waiting") return one;
    if (one.notBefore > at) {
      later.push(one.notBefore);
      return one;
    }
    if (free <= 0) return one;
    free -= 1;
    start.push({ index, attempt: one.attempts + 1 });
    return { ...one, state: "active" as const, attempts: one.attempts + 1 };
  });
  const deadline = policy.activeDeadline === null ? [] : [at + policy.activeDeadline - activeAt(state, at)];
  const wakes = [...(free > 0 ? later : []), ...deadline];
  return {
    state: { ...state, indexes },
    start,
    stop: [],
    wake: wakes.length === 0 ? null : Math.min(...wakes),
  };
}

/** The state once its time is looked at. */
function overdue(
  state: JobState,
  at: number,
): { readonly state: JobState; readonly stop: readonly number[] } {
  const { activeDeadline } = state.policy;
  if (state.finish !== null || activeDeadline === null || activeAt(state, at) < activeDeadline)
    return { state, stop: [] };
  const message = `it was active for more than ${activeDeadline} ms`;
  const turn = finished(state, { type: "Failed", reason: "DeadlineExceeded", message, at });
  return { state: turn.state, stop: turn.stop };
}

function finishing(state: JobState, reason: Finish["reason"], message: string, at: number): JobState {
  return { ...state, finish: { type: "Failed", reason, message, at } };
}

function finished(state: JobState, finish: Finish): Turn {
  const stop = placesOf(state, "active", "frozen");
  const indexes = state.indexes.map((one) => {
    if (one.state === "waiting") return { ...one, state: "cancelled" as const };
    return one.state === "active" || one.state === "frozen" ? { ...one, state: "stopping" as const } : one;
  });
  const next: JobState = {
    ...state,
    indexes,
    finish: state.finish ?? finish,
    active: activeAt(state, finish.at),
    since: null,
  };
  return { state: next, start: [], stop, wake: null };
}

function verdict({ indexes }: JobState, at: number): Finish {
  const failed = indexes.filter(({ state }) => state === "failed").length;
  const lost = indexes.filter(({ state }) => state === "lost").length;
  if (failed > 0)
    return { type: "Failed", reason: "FailedIndexes", message: `${failed} of ${indexes.length} failed`, at };
  if (lost > 0)
    return { type: "Failed", reason: "LostIndexes", message: `${lost} of ${indexes.length} are lost`, at };
  return { type: "Complete", reason: "AllSucceeded", at };
}

/** One try of an index: in which sandbox, from which files, and what became of it. */
export type JobAttempt = {
  /** Counts from 1. */
  readonly attempt: number;
  /** Absent when there was never one. */
  readonly sandbox?: { readonly id: string; readonly incarnation: number };
  readonly outcome: ExecResult["outcome"];
  readonly code: number | null;
  readonly why?: string;
  readonly milliseconds: number;
  readonly before: Digest | null;
  /** null when nobody knows what files it left. */
  readonly after: Digest | null;
};

export type JobIndex = {
  readonly index: number;
  readonly state: IndexState["state"];
  readonly attempts: readonly JobAttempt[];
  /** The files of the attempt that succeeded. */
  readonly tree: Digest | null;
};

export type JobCondition = {
  readonly type: "Complete" | "Failed" | "Suspended";
  readonly status: boolean;
  readonly reason: Finish["reason"] | "Asked" | "Resumed";
  readonly message?: string;
  readonly at: string;
};

/** How a job stands, or stood when it ended: plain data, to be put on a session. */
export type JobStatus = {
  readonly id: string;
  readonly policy: CheckedPolicy;
  /** The files that every attempt begins with. */
  readonly before: Digest | null;
  readonly indexes: readonly JobIndex[];
  readonly succeeded: number;
  /** Attempts that failed and count. */
  readonly failed: number;
  readonly lost: number;
  /** Attempts that are under way. */
  readonly active: number;
  /** Indexes that wait for their turn, or until they may be tried again. */
  readonly ready: number;
  readonly conditions: readonly JobCondition[];
  /** Milliseconds that it was not suspended. */
  readonly milliseconds: number;
  /** Nothing is under way and nothing will be. */
  readonly isOver: boolean;
  /** Sandboxes that could not be destroyed, and why. */
  readonly left: readonly { readonly id: string; readonly incarnation: number; readonly why: string }[];
};

export type JobRecord = {
  readonly id: string;
  readonly before: Digest | null;
  readonly attempts: ReadonlyMap<number, readonly JobAttempt[]>;
  readonly left: JobStatus["left"];
};

export function statusOf(state: JobState, record: JobRecord, at: number): JobStatus {
  const indexes = state.indexes.map((one, index): JobIndex => {
    const attempts = record.attempts.get(index) ?? [];
    const won = one.state === "succeeded" ? attempts.find(({ outcome }) => outcome === "ok") : undefined;
    return Object.freeze({
      index,
      state: one.state,
      attempts: Object.freeze([...attempts]),
      tree: won?.after ?? null,
    });
  });
  const count = (...states: readonly IndexState["state"][]): number =>
    state.indexes.filter((one) => states.includes(one.state)).length;
  return Object.freeze({
    id: record.id,
    policy: state.policy,
    before: record.before,
    indexes: Object.freeze(indexes),
    succeeded: count("succeeded"),
    failed: state.failures,
    lost: state.lost,
    active: count("active", "stopping"),
    ready: count("waiting"),
    conditions: conditionsOf(state),
    milliseconds: activeAt(state, at),
    isOver: isOver(state),
    left: Object.freeze([...record.left]),
  });
}

function conditionsOf({ isSuspended, turned, finish }: JobState): readonly JobCondition[] {
  const conditions: JobCondition[] = [];
  if (turned !== null)
    conditions.push({
      type: "Suspended",
      status: isSuspended,
      reason: isSuspended ? "Asked" : "Resumed",
      at: new Date(turned).toISOString(),
    });
  if (finish !== null) {
    const { type, reason, message, at } = finish;
    conditions.push({
      type,
      status: true,
      reason,
      ...(message !== undefined && { message }),
      at: new Date(at).toISOString(),
    });
  }
  return Object.freeze(conditions.map((one) => Object.freeze(one)));
}
