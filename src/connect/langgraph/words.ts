import { type Json, List } from "../../session/index.js";

/** The texts of a fact of the conversation, in order; null where the content is not there any more. */
export type Texts = readonly string[] | null;

/** What was said on the way to where a branch stands, by the place of its fact, and where a text may be found in it. */
export type Pool = {
  readonly said: List<Texts>;
  readonly known: ReadonlyMap<string, readonly Heard[]>;
};
/** A text of the fact of that number; on this branch only if the texts there are these. */
export type Heard = { readonly fact: number; readonly place: number; readonly texts: Texts };

/** Shorter texts are not worth pointing at. */
export const LEAST = 32;
const MARK = "$said";
/** Stands in a state where something stood that was erased. The graph goes on; the text does not come back. */
export const ERASED = "[erased from the record]";

type Fields = { readonly [key: string]: Json };

/**
 * The value with every text that was said just before left out and pointed at, so that the record holds it once;
 * undefined when there is none, or when the value has our mark in it already.
 */
export function hideSaid(value: Json, pool: Pool): Json | undefined {
  let found = false;
  let clash = false;
  const hidden = mapped(value, (part) => {
    if (typeof part === "string") {
      const heard =
        part.length < LEAST
          ? undefined
          : pool.known.get(part)?.findLast(({ fact, texts }) => pool.said.at(fact) === texts);
      if (heard === undefined) return part;
      found = true;
      return { [MARK]: [heard.fact, heard.place] };
    }
    clash ||= Object.hasOwn(part, MARK);
    return undefined;
  });
  return found && !clash ? hidden : undefined;
}

/** The value with the texts back in their places. */
export function showSaid(value: Json, pool: Pool): Json {
  return mapped(value, (part) => {
    if (typeof part === "string") return part;
    const place = Object.hasOwn(part, MARK) ? (part[MARK] as unknown) : undefined;
    if (!Array.isArray(place)) return undefined;
    return pool.said.at(place[0] as number)?.[place[1] as number] ?? ERASED;
  });
}

/** A copy in which `change` had its say about every text and object. Not deeper than the record can hold. */
function mapped(value: Json, change: (part: string | Fields) => Json | undefined): Json {
  if (typeof value === "string") return change(value) ?? value;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return (value as readonly Json[]).map((item) => mapped(item, change));
  const changed = change(value as Fields);
  if (changed !== undefined) return changed;
  const copy: { [key: string]: Json } = {};
  for (const [key, item] of Object.entries(value as Fields)) {
    const kept = mapped(item, change);
    if (key === "__proto__") Object.defineProperty(copy, key, { value: kept, enumerable: true });
    else copy[key] = kept;
  }
  return copy;
}

/** A pool that nothing was said in. */
export const SILENCE: Pool = Object.freeze({ said: List.empty, known: new Map() });
