import { type FactId, type Json, List } from "../../session/index.js";
import { mapValues } from "../../util/index.js";
import type { Held } from "./held.js";

export type Versions = { readonly [channel: string]: Json };
export type Seen = { readonly [node: string]: Versions };

/** A write of a task towards the next checkpoint. Errors and interrupts have places below zero. */
export type Write = {
  readonly task: string;
  readonly place: number;
  readonly channel: string;
  readonly value: Held;
};

/** A checkpoint where it stands in the record. */
export type Spot = {
  readonly namespace: string;
  readonly id: string;
  readonly parent: string | undefined;
  /** Its fields but for id, values and versions: as they came. */
  readonly head: { readonly v: Json; readonly ts: Json; readonly extra?: Json };
  readonly metadata: Held;
  readonly values: ReadonlyMap<string, Held>;
  readonly versions: Versions;
  readonly seen: Seen;
  /** The writes that it was made of, on the way from its parent. Writes of other branches are not among them. */
  readonly made: readonly Write[];
  /** The checkpoint of the same namespace that stood before it on its branch. */
  readonly before: Spot | undefined;
  /** Where the session stood before it, with all that it is made of. */
  readonly from: Tip | undefined;
  /** Where the session stood after it. */
  readonly tip: Tip;
  /** Why it cannot be read, if it cannot. */
  readonly fault?: string;
};

/** The state of a branch at one of its facts. */
export type Tip = {
  readonly at: FactId;
  readonly branch: string;
  /** The newest checkpoint of each namespace on the way here. */
  readonly latest: ReadonlyMap<string, Spot>;
  /** The writes since then, by the key of the checkpoint before the one that they lead to. */
  readonly pending: ReadonlyMap<string, readonly Write[]>;
  readonly pool: Pool;
  /** The messages since the last checkpoint: with the input, which the next step writes once more, and after it. */
  readonly input: readonly string[];
  readonly said: readonly string[];
  /** Grows with every fact of the thread: the branch that was worked on last has the highest. */
  readonly turn: number;
};

export function keyOfSpot(namespace: string, id: string): string {
  return JSON.stringify([namespace, id]);
}

/** Of writes that were made twice the first counts, but of those below zero the last. */
export function firstOf(writes: readonly Write[]): readonly Write[] {
  return picked(writes, ({ place }) => place < 0);
}

/** The writes that the next checkpoint was made of: of equal places, the last. */
export function lastOf(writes: readonly Write[]): readonly Write[] {
  return picked(writes, () => true);
}

function picked(writes: readonly Write[], replaces: (write: Write) => boolean): readonly Write[] {
  const kept = new Map<string, Write>();
  for (const write of writes) {
    const key = JSON.stringify([write.task, write.place]);
    if (!kept.has(key) || replaces(write)) kept.set(key, write);
  }
  return [...kept.values()];
}

/** The texts of a fact of the conversation, in order; null where the content is gone. */
export type Texts = readonly string[] | null;

/** The texts on the way to the end of a branch, by fact, and where each text may be found. */
export type Pool = { readonly said: List<Texts>; readonly known: ReadonlyMap<string, readonly Heard[]> };
/** A text of the fact of that number; on this branch only if the texts there are these. */
export type Heard = { readonly fact: number; readonly place: number; readonly texts: Texts };

/** Shorter texts are not worth pointing at. */
export const LEAST = 32;
const MARK = "$said";
/** Stands in a state where something stood that was erased. The graph goes on; the text does not come back. */
export const ERASED = "[erased from the record]";

type Fields = { readonly [key: string]: Json };

/** The value with texts that were just said replaced by pointers; undefined without any, or with our mark. */
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
  return mapValues(value as Fields, (item) => mapped(item, change));
}

/** A pool that nothing was said in. */
export const SILENCE: Pool = Object.freeze({ said: List.empty, known: new Map() });
