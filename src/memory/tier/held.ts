import type { FactId, Json } from "../../session/index.js";
import type { Memory } from "../state.js";

/** What a memory says whose text is blank: a memory has words. */
const BLANK = "(empty)";

/** A text as a memory can hold it. One that is blank is kept beside words that say so. */
export function holding(
  text: string,
  meta: { readonly [field: string]: Json } = {},
): { readonly text: string; readonly meta: Json } {
  return text.trim() === "" ? { text: BLANK, meta: { ...meta, blank: text } } : { text, meta };
}

/** The text that a memory holds, blank or not. */
export function heldIn({ text, meta }: Pick<Memory, "text" | "meta">): string {
  const blank = fieldOf(meta, "blank");
  return text === BLANK && blank !== undefined ? blank : text;
}

/** A text among what is noted beside a memory, read without trust. */
export function fieldOf(meta: Json | undefined, field: string): string | undefined {
  const value =
    typeof meta === "object" && meta !== null && !Array.isArray(meta) && Object.hasOwn(meta, field)
      ? (meta as { readonly [field: string]: Json })[field]
      : undefined;
  return typeof value === "string" ? value : undefined;
}

/** Whether a memory was written or last changed by a call: then it is done, however often the call is made. */
export function isDoneBy({ because }: Pick<Memory, "because">, call: FactId): boolean {
  return because.includes(call);
}
