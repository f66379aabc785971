import { type Json, RathError } from "../../session/index.js";
import { optionNames } from "../../util/index.js";
import { checksFor } from "../check.js";

/** A policy of a job that makes no sense. */
export class JobPolicyError extends RathError {
  constructor(setting: string, reason: string, hint: string, data: { [name: string]: Json } = {}) {
    super("job-policy-refused", `Cannot run a job with this ${setting}: ${reason}.`, {
      hint,
      data: { setting, reason, ...data },
    });
  }
}

/** How a job runs: how often, how many at a time, and what is done about what fails. Modelled on the Jobs of Kubernetes. */
export type JobPolicy = {
  /** How many times the task must succeed, each time as another index, counted from 0. Default 1. */
  readonly completions?: number;
  /** How many attempts are under way at a time. Default 1. */
  readonly parallelism?: number;
  /** How many failures the job bears, of all indexes together; the next one ends it. Default 6, none with a limit per index. */
  readonly backoffLimit?: number;
  /** How many failures each index bears; the next one makes it fail, and the others go on. */
  readonly backoffLimitPerIndex?: number;
  /** How many times an index may be lost and tried again, which counts as no failure. Default 3. */
  readonly lostLimit?: number;
  /** How long an index waits before it is tried again: `first` milliseconds, then `factor` times as long each time, up to `most`. */
  readonly backoff?: { readonly first?: number; readonly factor?: number; readonly most?: number };
  /** Milliseconds that the job may take, not counting those while it is suspended. */
  readonly activeDeadline?: number;
  /** The meaning of a failure with a certain code; the first rule that fits counts. */
  readonly onExit?: readonly ExitRule[];
  readonly suspend?: boolean;
  /** Milliseconds that each index's last sandbox stays after the job; then `onExpire`. Default: none. */
  readonly ttlAfterFinished?: number;
  /** Whether it is deleted then, or stays until somebody destroys it. Default "delete". */
  readonly onExpire?: "delete" | "retain";
};

/** Codes that it is about, or all but some. `count` is what happens without a rule; `ignore` tries again and counts nothing. */
export type ExitRule = { readonly action: ExitAction } & (
  | { readonly codes: readonly number[] }
  | { readonly not: readonly number[] }
);
export type ExitAction = "fail-job" | "fail-index" | "ignore" | "count";

/** A policy with nothing left open; a limit that is null does not limit. */
export type CheckedPolicy = Required<Omit<JobPolicy, Open | "backoff">> & {
  readonly [Setting in Open]: number | null;
} & { readonly backoff: Required<NonNullable<JobPolicy["backoff"]>> };
type Open = "backoffLimit" | "backoffLimitPerIndex" | "activeDeadline" | "ttlAfterFinished";

const ACTIONS: readonly ExitAction[] = ["fail-job", "fail-index", "ignore", "count"];
const SETTINGS: readonly string[] = optionNames<JobPolicy>()(
  "completions parallelism backoffLimit backoffLimitPerIndex lostLimit backoff activeDeadline",
  "onExit suspend ttlAfterFinished onExpire",
);
const LONGEST = 2 ** 31 - 1;
const RULE = '{ codes: [3], action: "fail-job" }';
const { number, oneOf, recordOf, requireKnown } = checksFor(
  (setting, reason, hint, data) => new JobPolicyError(setting, reason, hint, data),
);

/** A policy that callers the compiler did not check have given, filled up and frozen, or a `JobPolicyError`. */
export function checkPolicy(given: JobPolicy = {}): CheckedPolicy {
  requireKnown("", recordOf("policy", given, "give an object: { completions: 3 }"), SETTINGS);
  const whole = (setting: keyof JobPolicy, from: number, usual: number, to = LONGEST): number =>
    number(setting, given[setting] ?? usual, from, to);
  const optional = (setting: keyof JobPolicy, from: number): number | null =>
    given[setting] === undefined ? null : number(setting, given[setting], from, LONGEST);
  const backoff = recordOf("backoff", given.backoff ?? {}, "give an object: { backoff: { first: 500 } }");
  requireKnown("backoff.", backoff, ["first", "factor", "most"]);
  const { first = 1_000, factor = 2, most = 360_000 } = given.backoff ?? {};
  if (!(Number.isFinite(factor) && factor >= 1))
    throw new JobPolicyError("backoff.factor", `it is ${String(factor)}`, "give a number from 1 on: 2");
  const { onExit = [], suspend = false } = given;
  if (!Array.isArray(onExit))
    throw new JobPolicyError("onExit", "it is not a list", `give a list: { onExit: [${RULE}] }`);
  if (typeof suspend !== "boolean")
    throw new JobPolicyError("suspend", `it is ${String(suspend)}`, "give true or false");
  const perIndex = optional("backoffLimitPerIndex", 0);
  return Object.freeze({
    completions: whole("completions", 1, 1, 10_000),
    parallelism: whole("parallelism", 1, 1, 1_000),
    backoffLimit: optional("backoffLimit", 0) ?? (perIndex === null ? 6 : null),
    backoffLimitPerIndex: perIndex,
    lostLimit: whole("lostLimit", 0, 3),
    backoff: Object.freeze({
      first: number("backoff.first", first, 0, LONGEST),
      factor,
      most: number("backoff.most", most, 0, LONGEST),
    }),
    activeDeadline: optional("activeDeadline", 1),
    onExit: Object.freeze(onExit.map(rule)),
    suspend,
    ttlAfterFinished: optional("ttlAfterFinished", 0),
    onExpire: oneOf("onExpire", given.onExpire ?? "delete", ["delete", "retain"] as const),
  });
}

/** The meaning of a failure. Only a command that ended by itself has a code, so no rule is about one that was ended. */
export function actionFor({ onExit }: CheckedPolicy, code: number | null): ExitAction {
  if (code === null) return "count";
  const found = onExit.find((each) =>
    "codes" in each ? each.codes.includes(code) : !each.not.includes(code),
  );
  return found?.action ?? "count";
}

/** How long an index waits that was tried in vain so many times. */
export function delayAfter({ backoff }: CheckedPolicy, times: number): number {
  const { first, factor, most } = backoff;
  return Math.min(most, Math.round(first * factor ** Math.max(0, times - 1)));
}

function rule(given: ExitRule, place: number): ExitRule {
  const name = `onExit[${place}]`;
  requireKnown(`${name}.`, recordOf(name, given, `write ${RULE}`), ["action", "codes", "not"]);
  const action = oneOf(`${name}.action`, given.action, ACTIONS);
  const codes = "codes" in given ? given.codes : given.not;
  if ("codes" in given === "not" in given || !Array.isArray(codes) || codes.length === 0)
    throw new JobPolicyError(name, "it must have codes, or not, and not both", `write ${RULE}`);
  const checked = Object.freeze(codes.map((code) => number(`${name}.codes`, code, 0, 255)));
  if ("codes" in given && checked.includes(0))
    throw new JobPolicyError(name, "0 is not a failure", "leave it out");
  return Object.freeze("codes" in given ? { codes: checked, action } : { not: checked, action });
}
