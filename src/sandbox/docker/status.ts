import type { Condition, SandboxStatus } from "../spec.js";

/** What the engine says of a container, as far as it is asked. */
export type Inspected = {
  readonly Id: string;
  readonly Name?: string;
  readonly Created?: string;
  readonly Image?: string;
  readonly State: {
    readonly Status: string;
    readonly Paused?: boolean;
    readonly OOMKilled?: boolean;
    readonly ExitCode?: number;
    readonly StartedAt?: string;
    readonly FinishedAt?: string;
  };
  readonly Config: {
    readonly User?: string;
    readonly Image?: string;
    readonly Labels?: { readonly [name: string]: string } | null;
  };
  readonly Mounts?: readonly {
    readonly Type?: string;
    readonly Name?: string;
    readonly Destination: string;
  }[];
};

/** What only this process knows of a sandbox. */
export type Known = {
  /** When it was seen to be paused or not for the first time since that changed. */
  readonly paused?: { readonly now: boolean; readonly at: string };
  readonly expired?: { readonly now: boolean; readonly at: string };
};

/** The status of a sandbox from that of its container; undefined for one that is not there. */
export function statusOf(state: Inspected["State"] | undefined, known: Known = {}): SandboxStatus {
  const now = new Date().toISOString();
  const conditions: Condition[] = [];
  const say = (
    type: Condition["type"],
    is: Condition["status"],
    reason: string,
    at = now,
    message?: string,
  ) => {
    conditions.push(
      Object.freeze({ type, status: is, reason, ...(message !== undefined && { message }), at: moment(at) }),
    );
  };
  const phase = state === undefined ? "lost" : (PHASES.get(state.Status) ?? "lost");
  const started = state?.StartedAt ?? now;
  if (phase === "running") say("Ready", true, "Started", started);
  else if (phase === "suspended") say("Ready", false, "Suspended", known.paused?.at);
  else if (phase === "pending") say("Ready", false, "NotStarted");
  else if (state === undefined) say("Ready", false, "Gone", now, "its container is gone");
  else say("Ready", false, "Ended", state.FinishedAt, endOf(state));
  if (phase === "lost") say("Isolated", "unknown", "Lost");
  else say("Isolated", true, "Container", started);
  if (phase === "suspended" || known.paused !== undefined)
    say("Suspended", phase === "suspended", phase === "suspended" ? "Paused" : "Resumed", known.paused?.at);
  if (known.expired !== undefined)
    say("Expired", known.expired.now, known.expired.now ? "TimeOver" : "Renewed", known.expired.at);
  return Object.freeze({ phase, conditions: Object.freeze(conditions) });
}

/** The status of a sandbox that was destroyed. */
export function finishedOf({ expired }: Known): SandboxStatus {
  const at = new Date().toISOString();
  const conditions: Condition[] = [
    { type: "Ready", status: false, reason: "Destroyed", at },
    { type: "Finished", status: true, reason: "Destroyed", at },
  ];
  if (expired !== undefined)
    conditions.push({ type: "Expired", status: expired.now, reason: "TimeOver", at: expired.at });
  return Object.freeze({
    phase: "finished",
    conditions: Object.freeze(conditions.map((one) => Object.freeze(one))),
  });
}

/** How a container that has stopped came to its end. */
export function endOf({ Status, OOMKilled, ExitCode }: Inspected["State"]): string {
  if (OOMKilled === true) return "its container ran out of memory and ended";
  return `its container is ${Status}${ExitCode === undefined ? "" : ` with code ${ExitCode}`}`;
}

const PHASES: ReadonlyMap<string, SandboxStatus["phase"]> = new Map([
  ["running", "running"],
  ["paused", "suspended"],
  ["created", "pending"],
  ["configured", "pending"],
  ["initialized", "pending"],
]);

/** A time as we write times: the engine counts in billionths. */
function moment(at: string): string {
  const time = new Date(at);
  return (Number.isNaN(time.getTime()) ? new Date() : time).toISOString();
}
