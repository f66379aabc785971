import type { Digest } from "../../session/index.js";
import type { ExecResult } from "../sandbox.js";
import { activeAt, type Finish, type IndexState, isOver, type JobState } from "./job-state.js";
import type { CheckedPolicy } from "./policy.js";

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
  /** Attempts that were lost. */
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
