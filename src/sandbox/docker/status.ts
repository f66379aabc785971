import { defined } from "../../util/index.js";
import type { Condition, SandboxStatus } from "../spec.js";

/** The engine's description of a container, as far as it is used here. */
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

/** The status of a sandbox from that of its container; undefined for one that is not there. */
export function statusOf(state: Inspected["State"] | undefined): SandboxStatus {
  const now = new Date().toISOString();
  const phase = state === undefined ? "lost" : (PHASES.get(state.Status) ?? "lost");
  const started = momentOf(state?.StartedAt ?? now);
  const [status, reason, at, message] = {
    running: [true, "Started", started, undefined] as const,
    suspended: [false, "Suspended", now, undefined] as const,
    pending: [false, "NotStarted", now, undefined] as const,
    lost:
      state === undefined
        ? ([false, "Gone", now, "its container is gone"] as const)
        : ([false, "Ended", momentOf(state.FinishedAt ?? now), endOf(state)] as const),
  }[phase];
  const conditions: Condition[] = [
    { type: "Ready", status, reason, ...defined({ message }), at },
    phase === "lost"
      ? { type: "Isolated", status: "unknown", reason: "Lost", at: now }
      : { type: "Isolated", status: true, reason: "Container", at: started },
  ];
  if (phase === "suspended") conditions.push({ type: "Suspended", status: true, reason: "Asked", at: now });
  return Object.freeze({ phase, conditions: Object.freeze(conditions.map((one) => Object.freeze(one))) });
}

/** How a container that has stopped came to its end. */
export function endOf({ Status, OOMKilled, ExitCode }: Inspected["State"]): string {
  if (OOMKilled === true) return "its container ran out of memory and ended";
  return `its container is ${Status}${ExitCode === undefined ? "" : ` with code ${ExitCode}`}`;
}

const PHASES: ReadonlyMap<string, "running" | "suspended" | "pending"> = new Map([
  ["running", "running"],
  ["paused", "suspended"],
  ["created", "pending"],
  ["configured", "pending"],
  ["initialized", "pending"],
]);

/** A time as we write times: the engine counts in billionths. */
function momentOf(at: string): string {
  const time = new Date(at);
  return (Number.isNaN(time.getTime()) ? new Date() : time).toISOString();
}
