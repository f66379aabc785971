import type { FactId, Json } from "../../session/index.js";
import type { Held } from "./held.js";
import type { Pool } from "./words.js";

export type Versions = { readonly [channel: string]: Json };
export type Seen = { readonly [node: string]: Versions };

/** What a task wrote towards the next checkpoint. Errors, interrupts and their like have places below zero. */
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
  /** What was written towards it on the way from its parent: it is made of that, and of nothing that other branches wrote. */
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
  /** What was written since, towards the checkpoint after the one of this key. */
  readonly pending: ReadonlyMap<string, readonly Write[]>;
  readonly pool: Pool;
  /** What was said since the last checkpoint: with input, which the next step writes once more, and since then. */
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

/** What the next checkpoint was made of: of writes that were made twice, the last. */
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
