import { constants } from "node:os";
import type { ExecResult } from "../sandbox.js";

export type Ending = Omit<ExecResult, "stdout" | "stderr" | "cut" | "milliseconds" | "network">;
/** Why we ended a command. */
export type Reason = { readonly outcome: "timeout" | "killed" | "disk"; readonly why: string };

/** What is known of a command when it is over. */
export type Evidence = {
  /** As shells count: 128 and the number of the signal, if one ended it. */
  readonly status: number;
  readonly signalled: boolean;
  readonly reason: Reason | undefined;
  /** The signals that it was sent by us. */
  readonly sent: ReadonlySet<string>;
  /** Whether the kernel ended a process of the sandbox for want of memory while it ran. */
  readonly outOfMemory: boolean;
};

/** How a command ended, and why. */
export function endingOf({ status, signalled, reason, sent, outOfMemory }: Evidence): Ending {
  const signal = signalName(status - 128);
  const how = signalled && signal !== undefined ? { code: null, signal } : { code: status };
  // One that was over by itself when our signal came was not ended by it.
  if (reason !== undefined && signalled) return { ...how, ...reason };
  if (status !== 0 && outOfMemory)
    return { ...how, outcome: "oom", why: "the sandbox has used up its memory" };
  if (signal !== undefined && sent.has(signal))
    return { ...how, outcome: "killed", why: `it was sent ${signal}` };
  return { ...how, outcome: status === 0 ? "ok" : "error" };
}

function signalName(number: number): string | undefined {
  return Object.entries(constants.signals).find(([, one]) => one === number)?.[0];
}
