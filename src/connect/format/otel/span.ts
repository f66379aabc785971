import type { FactId, Json } from "../../../session/index.js";
import { millisecondsOf, UNKNOWN_TIME } from "../intake.js";

export type Attributes = { [name: string]: string | number | boolean | readonly string[] };

/** A span on its way out. Times are nanoseconds since 1970 as text: numbers cannot hold them. */
export type Span = {
  readonly traceId: string;
  readonly spanId: string;
  parentSpanId?: string;
  name: string;
  readonly kind: typeof INTERNAL | typeof CLIENT;
  readonly start: string;
  end: string;
  readonly attributes: Attributes;
  readonly events: SpanEvent[];
  readonly links: SpanLink[];
  error?: { readonly message?: string };
};
export type SpanEvent = { readonly name: string; readonly time: string; readonly attributes: Attributes };
export type SpanLink = { readonly traceId: string; readonly spanId: string; readonly attributes: Attributes };

export const INTERNAL = 1;
export const CLIENT = 3;

/** The beginning of an id of a fact is enough to find the fact by. */
export function traceIdOf(id: FactId): string {
  return id.slice(0, 32);
}

export function spanIdOf(id: FactId): string {
  return id.slice(0, 16);
}

/** Nanoseconds of a time as it stands in a fact; 0 where it is not known. */
export function nanosecondsOf(at: string): string {
  if (at === UNKNOWN_TIME) return "0";
  const milliseconds = millisecondsOf(at);
  if (!Number.isFinite(milliseconds) || milliseconds < 0) return "0";
  const [, fraction = ""] = /T\d\d:\d\d:\d\d\.(\d+)/.exec(at) ?? [];
  const seconds = BigInt(Math.floor(milliseconds / 1_000));
  return String(seconds * 1_000_000_000n + BigInt(fraction.slice(0, 9).padEnd(9, "0")));
}

/** The time of so many nanoseconds, with all its digits; undefined when it is not a time or not known. */
export function timeOf(nanoseconds: Json | undefined): string | undefined {
  if (typeof nanoseconds === "number" && !(Number.isSafeInteger(nanoseconds) && nanoseconds > 0))
    return undefined;
  if (typeof nanoseconds !== "number" && (typeof nanoseconds !== "string" || !/^\d{1,19}$/.test(nanoseconds)))
    return undefined;
  const all = BigInt(nanoseconds);
  if (all === 0n) return undefined;
  const time = new Date(Number(all / 1_000_000n)).toISOString();
  const rest = all % 1_000_000n;
  return rest === 0n ? time : time.replace("Z", `${String(rest).padStart(6, "0")}Z`);
}

/** The later of two times. */
export function later(one: string, other: string): string {
  return BigInt(one) >= BigInt(other) ? one : other;
}
