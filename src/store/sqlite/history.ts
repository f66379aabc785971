import type { FactId } from "../../session/index.js";
import { NotFoundError } from "../error.js";
import type { Tail } from "../shelf.js";
import { chainOf, firstOf, type Past, type Place, placeIn, type Range } from "./chain.js";
import type { Connection } from "./connection.js";
import type { Facts } from "./facts.js";

/** How many lines are read at once. */
const BATCH = 1000;

/** Reads histories, whole or from their newest snapshot on. */
export class Histories {
  readonly #connection: Connection;
  readonly #facts: Facts;

  constructor(connection: Connection, facts: Facts) {
    this.#connection = connection;
    this.#facts = facts;
  }

  *read(heads: readonly FactId[], without: readonly FactId[] = []): Iterable<readonly string[]> {
    const { places, ranges, generation } = this.#facts.atOnce(() => {
      const known = this.#facts.chains.reach(without.map((id) => this.#facts.placeOrFail(id)));
      const places = heads.map((id) => this.#facts.placeOrFail(id));
      return { places, ranges: this.#facts.chains.ranges(places, known), generation: this.#facts.generation };
    });
    let rest: Range | undefined;
    const next = (): readonly string[] => {
      // A collection spares what something leads to; a session that was collected while it was read is no longer here.
      const gone =
        this.#facts.generation === generation
          ? undefined
          : heads.find((head, index) => this.#facts.place(head) !== places[index]);
      if (gone !== undefined)
        throw new NotFoundError(
          `the session ${gone}`,
          "it was collected while it was read; list what is there: await store.names()",
        );
      const batch: string[] = [];
      while (batch.length < BATCH) {
        const range: Range | undefined = rest ?? (ranges.next().value || undefined);
        if (range === undefined) break;
        const to = Math.min(range.to, range.from + BATCH - 1);
        for (const line of this.#facts.lines.lines({ from: range.from, to })) batch.push(line);
        rest = to < range.to ? { from: to + 1, to: range.to } : undefined;
      }
      return batch;
    };
    for (let batch = this.#facts.atOnce(next); batch.length > 0; batch = this.#facts.atOnce(next))
      yield batch;
  }

  count(id: FactId): number {
    return countOf(this.#facts.chains.reach([this.#facts.placeOrFail(id)]));
  }

  tail(head: FactId, most: number): Tail | undefined {
    const place = this.#facts.placeOrFail(head);
    const whole = this.#facts.chains.reach([place]);
    let best: Place | undefined;
    for (const candidate of this.#snapshotsBefore(place)) {
      const before = this.#facts.chains.reach([candidate]);
      if (countOf(whole) - countOf(before) + 1 > most) break;
      if (this.#hangsFrom(candidate, whole, before)) best = candidate;
    }
    if (best === undefined) return undefined;
    const lines = [this.#facts.line(best)];
    for (const range of this.#facts.chains.ranges([place], this.#facts.chains.reach([best]))) {
      for (let from = range.from; from <= range.to; from += BATCH)
        lines.push(...this.#facts.range({ from, to: Math.min(range.to, from + BATCH - 1) }));
    }
    return {
      lines,
      snapshot: this.#connection.get("SELECT snapshot FROM snapshots WHERE p = ?", best)?.snapshot as string,
    };
  }

  /** Sessions with a snapshot on the way back along first parents, newest first. */
  *#snapshotsBefore(place: Place): Generator<Place> {
    for (let at: Place | null = place; at !== null; at = this.#facts.chains.base(chainOf(at))) {
      for (const row of this.#connection.all(
        "SELECT p FROM snapshots WHERE p BETWEEN ? AND ? ORDER BY p DESC",
        firstOf(chainOf(at)),
        at,
      ))
        yield row.p as Place;
    }
  }

  /** Whether all of `whole` that is not in `before` comes from `place` alone, so that nothing else need be loaded. */
  #hangsFrom(place: Place, whole: Past, before: Past): boolean {
    const inside = (other: Place | null): boolean =>
      other === place || (other !== null && other > (before.get(chainOf(other)) ?? -1));
    for (const [chain, last] of whole) {
      const reached = before.get(chain);
      if (reached === last) continue;
      if (reached === undefined ? !inside(this.#facts.chains.base(chain)) : reached !== place) return false;
      const from = reached === undefined ? firstOf(chain) : reached + 1;
      if (this.#facts.chains.mergesIn({ from, to: last }).some((merge) => !inside(merge.parent)))
        return false;
    }
    return true;
  }
}

function countOf(past: Past): number {
  let count = 0;
  for (const last of past.values()) count += placeIn(last) + 1;
  return count;
}
