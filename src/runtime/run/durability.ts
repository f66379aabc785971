import { isObject, showValue } from "../../util/index.js";
import { RefusedError } from "../given.js";

/**
 * When the facts of a run are written to the disk. At every level the request of a `write` or `idempotent` effect is there before
 * the effect starts, and the outcome of a `write` at once.
 *
 * - "facts": as they are made, and every effect waits until all facts before it are there.
 * - "effects" (the default): at once with each outcome of a `write` and each model reply; the rest within a second.
 * - `{ every: 500 }`: within so many milliseconds, model replies too.
 */
export type Durability = "facts" | "effects" | { readonly every: number };

export const DEFAULT_DURABILITY: Durability = "effects";

/** Milliseconds after which what was made is durable, though nothing asked for it: a crash must not cost an hour of reading. */
const KEPT_WITHIN = 1_000;
const LONGEST = 3_600_000;

/** Milliseconds that a fact may be in memory alone; 0 where it is written at once. */
export function delayOf(durability: Durability): number {
  if (durability === "facts") return 0;
  return durability === "effects" ? KEPT_WITHIN : durability.every;
}

/** Whether a model reply is written at once: it cost money. */
export function keepsReplies(durability: Durability): boolean {
  return typeof durability === "string";
}

export function durabilityOf(given: unknown): Durability {
  if (given === undefined) return DEFAULT_DURABILITY;
  if (given === "facts" || given === "effects") return given;
  const { every, ...rest } = isObject(given) ? (given as { readonly every?: unknown }) : {};
  if (
    Number.isInteger(every) &&
    Number(every) >= 1 &&
    Number(every) <= LONGEST &&
    Object.keys(rest).length === 0
  )
    return Object.freeze({ every: Number(every) });
  throw new RefusedError(
    "open a runtime",
    `\`durability\` must be "facts", "effects" or { every: milliseconds }; got ${showValue(given)}`,
    `durability: { every: 500 }, from 1 to ${LONGEST} milliseconds`,
  );
}
