import { digestOf, type FactId } from "../../session/index.js";
import { noSession } from "../error.js";
import type { FactTable, NewFact, Tail } from "../shelf.js";
import {
  Chains,
  chainOf,
  firstOf,
  isLastPlace,
  type Past,
  type Place,
  placeIn,
  type Range,
} from "./chain.js";
import type { Connection } from "./connection.js";
import { Lines } from "./lines.js";

/** How many lines are read at once. */
const BATCH = 1000;
const REMEMBERED_PLACES = 20_000;

/** The facts of a database: where each stands, its line, which were made from it, and its history from a snapshot on. */
export class Facts implements FactTable {
  readonly chains: Chains;
  readonly lines: Lines;
  readonly #connection: Connection;
  /** Where facts stand, for those used lately. Facts never move, so only a collection makes this stale. */
  readonly #known = new Map<FactId, Place>();
  /** How many collections there were, as far as this process has noticed. */
  #generation = 0;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.chains = new Chains(connection.database);
    this.lines = new Lines(connection.database);
  }

  /** Runs work that writes, all of it or nothing. */
  async transaction<Result>(work: () => Result): Promise<Result> {
    const whole = (): Result => {
      try {
        this.#noticeCollection();
        this.lines.begin();
        const result = work();
        this.lines.pack();
        return result;
      } finally {
        this.lines.end();
      }
    };
    return this.#connection.transaction(whole, () => this.#forget());
  }

  /** Looks at one state of the database, whatever others write meanwhile. */
  atOnce<Result>(look: () => Result): Result {
    return this.#connection.atOnce(() => {
      this.#noticeCollection();
      return look();
    });
  }

  /** Facts never move, but a collection, maybe by another process, makes room that others fill. */
  #noticeCollection(): void {
    const generation = this.#connection.get("SELECT collected FROM generation")?.collected as number;
    if (generation === this.#generation) return;
    this.#generation = generation;
    this.#forget();
  }

  #forget(): void {
    this.#known.clear();
    this.lines.forget();
  }

  forgetPlaces(): void {
    this.#known.clear();
  }

  add({ id, line, parents }: NewFact): void {
    const [first, ...others] = parents.map((parent) => this.place(parent) as Place);
    let place =
      first === undefined || isLastPlace(first) || this.lines.has(first + 1) ? undefined : first + 1;
    if (place === undefined) {
      const last = this.#connection.get("SELECT max(chain) AS chain FROM chains")?.chain as number | null;
      place = firstOf((last ?? 0) + 1);
      this.#connection.run("INSERT INTO chains VALUES (?, ?)", chainOf(place), first ?? null);
    }
    this.lines.add(id, place, line);
    for (const [index, parent] of others.entries())
      this.#connection.run("INSERT INTO merges VALUES (?, ?, ?)", place, index + 1, parent);
    this.#remember(id, place);
  }

  /** The places of the facts made directly from one. */
  childPlaces(place: Place): readonly Place[] {
    const elsewhere = this.#connection.all(
      "SELECT chain AS p, 1 AS begins FROM chains WHERE base = ?1 UNION ALL SELECT child, 0 FROM merges WHERE parent = ?1",
      place,
    );
    const places = elsewhere.map((row) => (row.begins === 1 ? firstOf(row.p as number) : (row.p as Place)));
    if (!isLastPlace(place) && this.lines.has(place + 1)) places.push(place + 1);
    return places;
  }

  *every(): Generator<readonly { readonly place: Place; readonly line: string }[]> {
    const batches = this.lines.every();
    for (;;) {
      const { value, done } = this.#connection.guard(() => batches.next());
      if (done) return;
      yield value;
    }
  }

  range(range: Range): readonly string[] {
    return this.#connection.guard(() => this.lines.lines(range));
  }

  *history(heads: readonly FactId[], without: readonly FactId[] = []): Iterable<readonly string[]> {
    const { places, ranges, generation } = this.atOnce(() => {
      const known = this.chains.reach(without.map((id) => this.placeOrFail(id)));
      const places = heads.map((id) => this.placeOrFail(id));
      return { places, ranges: this.chains.ranges(places, known), generation: this.#generation };
    });
    let rest: Range | undefined;
    const next = (): readonly string[] => {
      // A collection spares what something leads to; a session that was collected while it was read is no longer here.
      const gone =
        this.#generation === generation
          ? undefined
          : heads.find((head, index) => this.place(head) !== places[index]);
      if (gone !== undefined) throw noSession(gone, "it was collected while it was read; ");
      const batch: string[] = [];
      while (batch.length < BATCH) {
        const range: Range | undefined = rest ?? (ranges.next().value || undefined);
        if (range === undefined) break;
        const to = Math.min(range.to, range.from + BATCH - 1);
        for (const line of this.lines.lines({ from: range.from, to })) batch.push(line);
        rest = to < range.to ? { from: to + 1, to: range.to } : undefined;
      }
      return batch;
    };
    for (let batch = this.atOnce(next); batch.length > 0; batch = this.atOnce(next)) yield batch;
  }

  count(id: FactId): number {
    return this.atOnce(() => countOf(this.chains.reach([this.placeOrFail(id)])));
  }

  tail(head: FactId, most: number): Tail | undefined {
    return this.atOnce(() => this.#tail(head, most));
  }

  #tail(head: FactId, most: number): Tail | undefined {
    const place = this.placeOrFail(head);
    const whole = this.chains.reach([place]);
    let best: Place | undefined;
    for (const candidate of this.#snapshotsBefore(place)) {
      const before = this.chains.reach([candidate]);
      if (countOf(whole) - countOf(before) + 1 > most) break;
      if (this.#hangsFrom(candidate, whole, before)) best = candidate;
    }
    if (best === undefined) return undefined;
    const lines = [this.line(best)];
    for (const range of this.chains.ranges([place], this.chains.reach([best]))) {
      for (let from = range.from; from <= range.to; from += BATCH)
        lines.push(...this.range({ from, to: Math.min(range.to, from + BATCH - 1) }));
    }
    return {
      lines,
      snapshot: this.#connection.get("SELECT snapshot FROM snapshots WHERE p = ?", best)?.snapshot as string,
    };
  }

  /** Sessions with a snapshot on the way back along first parents, newest first. */
  *#snapshotsBefore(place: Place): Generator<Place> {
    for (let at: Place | null = place; at !== null; at = this.chains.base(chainOf(at))) {
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
      if (reached === undefined ? !inside(this.chains.base(chain)) : reached !== place) return false;
      const from = reached === undefined ? firstOf(chain) : reached + 1;
      if (this.chains.mergesIn({ from, to: last }).some((merge) => !inside(merge.parent))) return false;
    }
    return true;
  }

  has(id: FactId): boolean {
    return this.place(id) !== undefined;
  }

  descends(stored: readonly FactId[], ancestor: FactId): boolean {
    return this.chains.descends(
      stored.map((id) => this.placeOrFail(id)),
      this.placeOrFail(ancestor),
    );
  }

  place(id: FactId): Place | undefined {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    // The index holds 48 bits of the id; the line says whether it is the one.
    for (const place of this.#connection.guard(() => this.lines.like(id))) {
      if (digestOf(this.line(place)) === id) return this.#remember(id, place);
    }
    return undefined;
  }

  line(place: Place): string {
    return this.#connection.guard(() => this.lines.line(place)) ?? "";
  }

  placeOrFail(id: FactId): Place {
    const place = this.place(id);
    if (place === undefined) throw noSession(id);
    return place;
  }

  #remember(id: FactId, place: Place): Place {
    if (this.#known.size >= REMEMBERED_PLACES) this.#known.clear();
    this.#known.set(id, place);
    return place;
  }
}

function countOf(past: Past): number {
  let count = 0;
  for (const last of past.values()) count += placeIn(last) + 1;
  return count;
}
