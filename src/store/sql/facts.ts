import { digestOf, type FactId } from "../../session/index.js";
import { DamageError, noSession } from "../error.js";
import type { FactTable, Part, Tail } from "../shelf.js";
import {
  type Chains,
  chainOf,
  firstOf,
  isLastPlace,
  type Past,
  type Place,
  placeIn,
  type Range,
} from "./chain.js";
import { Orders } from "./order.js";
import type { Rows } from "./rows.js";

/** How many lines are read at once. */
const BATCH = 1000;
const REMEMBERED_PLACES = 20_000;

/** The lines of a database by their places. */
export interface LineTable {
  /** Places of ids that may be this one. */
  like(id: FactId): readonly Place[];
  /** Places whose ids begin with these digits, and maybe a few more. */
  startingWith(prefix: string, most: number): readonly Place[];
  has(place: Place): boolean;
  line(place: Place): string | undefined;
  /** The lines of stretches of chains, one stretch after the other. */
  stretches(ranges: readonly Range[]): readonly string[];
  /** All lines with their places, in batches; nothing is held open while the caller thinks. */
  every(): Generator<readonly { readonly place: Place; readonly line: string }[]>;
  /** The first of these lines that is not the one that was written: the index does not lead from its id back to its place. */
  altered(places: readonly Place[], lines: readonly string[]): string | undefined;
  /** Forgets what is held in memory: a transaction was undone, or facts were removed. */
  forget(): void;
}

/** The facts of a database: where each stands, its line, which were made from it, and its history from a snapshot on. */
export abstract class FactReader<Lines extends LineTable = LineTable> implements Omit<FactTable, "add"> {
  readonly chains: Chains;
  readonly lines: Lines;
  protected readonly rows: Rows;
  /** Where facts stand, for those used lately. Facts never move, so only a collection makes this stale. */
  readonly #known = new Map<FactId, Place>();
  readonly #orders = new Orders();
  /** How many collections there were, as far as this process has noticed. */
  #generation = 0;

  constructor(rows: Rows, lines: Lines, chains: Chains) {
    this.rows = rows;
    this.lines = lines;
    this.chains = chains;
  }

  /** Looks at one state of the database, whatever others write meanwhile. */
  abstract atOnce<Result>(look: () => Result): Result;

  /** Facts never move, but a collection, maybe by another process, makes room that others fill. */
  protected noticeCollection(generation: number): void {
    if (generation === this.#generation) return;
    this.#generation = generation;
    this.forget();
  }

  protected forget(): void {
    this.#known.clear();
    this.#orders.forget();
    this.lines.forget();
  }

  forgetPlaces(): void {
    this.#known.clear();
  }

  /** The places of the facts made directly from one. */
  childPlaces(place: Place): readonly Place[] {
    const elsewhere = this.rows.all(
      "SELECT chain AS p, 1 AS begins FROM chains WHERE base = ?1 UNION ALL SELECT child, 0 FROM merges WHERE parent = ?1",
      place,
    );
    const places = elsewhere.map((row) => (row.begins === 1 ? firstOf(row.p as number) : (row.p as Place)));
    if (!isLastPlace(place) && this.lines.has(place + 1)) places.push(place + 1);
    return places;
  }

  *history(heads: readonly FactId[], without: readonly FactId[] = []): Iterable<readonly string[]> {
    const { places, ranges, generation } = this.atOnce(() => {
      const known = this.chains.reach(without.map((id) => this.placeOrFail(id)));
      const places = heads.map((id) => this.placeOrFail(id));
      return { places, ranges: this.chains.ranges(places, known), generation: this.#generation };
    });
    let rest: readonly Range[] = [];
    const next = (): readonly string[] => {
      // A collection spares what something leads to; a session that was collected while it was read is no longer here.
      const gone =
        this.#generation === generation
          ? undefined
          : heads.find((head, index) => this.place(head) !== places[index]);
      if (gone !== undefined) throw noSession(gone, "it was collected while it was read; ");
      const { stretch, left } = cut(rest, ranges);
      // Kept until they are read: a look that failed may be tried again.
      rest = [...stretch, ...left];
      const lines = this.lines.stretches(stretch);
      rest = left;
      return lines;
    };
    for (let batch = this.atOnce(next); batch.length > 0; batch = this.atOnce(next)) yield batch;
  }

  *every(): Generator<readonly { readonly place: Place; readonly line: string }[]> {
    const batches = this.lines.every();
    for (;;) {
      const { value, done } = this.rows.guard(() => batches.next());
      if (done) return;
      yield value;
    }
  }

  part(head: FactId, without: readonly FactId[], from: number, to: number): Part {
    return this.atOnce(() => {
      const { order, count } = this.#order(head, without);
      const ranges = to > from ? [...order.between(from, Math.min(to, count))] : [];
      const lines = this.lines.stretches(ranges);
      // A page does not hold the parents that would tell an altered line, so the index is asked.
      const altered = this.lines.altered(ranges.flatMap(placesOf), lines);
      if (altered !== undefined) throw new DamageError(`the fact ${digestOf(altered)}`, "it is altered");
      return { count, lines };
    });
  }

  placeIn(head: FactId, without: readonly FactId[], id: FactId): number | undefined {
    return this.atOnce(() => {
      const { order, count } = this.#order(head, without);
      const place = this.place(id);
      const index = place === undefined ? undefined : order.indexOf(place);
      return index !== undefined && index < count ? index : undefined;
    });
  }

  #order(head: FactId, without: readonly FactId[]): ReturnType<Orders["of"]> {
    return this.#orders.of(
      this.chains,
      this.placeOrFail(head),
      without.map((id) => this.placeOrFail(id)),
    );
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
    const ranges = this.chains.ranges([place], this.chains.reach([best]));
    for (let { stretch, left } = cut([], ranges); stretch.length > 0; { stretch, left } = cut(left, ranges))
      for (const line of this.lines.stretches(stretch)) lines.push(line);
    return {
      lines,
      snapshot: this.rows.get("SELECT snapshot FROM snapshots WHERE p = ?", best)?.snapshot as string,
    };
  }

  /** Sessions with a snapshot on the way back along first parents, newest first. */
  *#snapshotsBefore(place: Place): Generator<Place> {
    for (let at: Place | null = place; at !== null; at = this.chains.base(chainOf(at))) {
      for (const row of this.rows.all(
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
    const known = this.knownPlace(id);
    if (known !== undefined) return known;
    // The index holds 48 bits of the id; the line says whether it is the one.
    for (const place of this.rows.guard(() => this.lines.like(id))) {
      if (digestOf(this.line(place)) === id) return this.remember(id, place);
    }
    return undefined;
  }

  /** Where a fact stands that was used lately. */
  protected knownPlace(id: FactId): Place | undefined {
    return this.#known.get(id);
  }

  line(place: Place): string {
    return this.rows.guard(() => this.lines.line(place)) ?? "";
  }

  /** Finds out where facts stand, all at once where that is quicker. */
  lookUp(_ids: readonly FactId[]): void {}

  placeOrFail(id: FactId): Place {
    const place = this.place(id);
    if (place === undefined) throw noSession(id);
    return place;
  }

  protected remember(id: FactId, place: Place): Place {
    if (this.#known.size >= REMEMBERED_PLACES) this.#known.clear();
    this.#known.set(id, place);
    return place;
  }
}

/** The next lines to read: as many stretches as hold a batch of them, and what is left of the last one. */
function cut(
  first: readonly Range[],
  ranges: Iterator<Range>,
): { readonly stretch: readonly Range[]; readonly left: readonly Range[] } {
  const stretch: Range[] = [];
  const open = [...first];
  for (let room = BATCH; room > 0; ) {
    const range: Range | undefined = open.shift() ?? (ranges.next().value || undefined);
    if (range === undefined) break;
    const to = Math.min(range.to, range.from + room - 1);
    stretch.push({ from: range.from, to });
    room -= to - range.from + 1;
    if (to < range.to) open.unshift({ from: to + 1, to: range.to });
  }
  return { stretch, left: open };
}

function placesOf({ from, to }: Range): readonly Place[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

function countOf(past: Past): number {
  let count = 0;
  for (const last of past.values()) count += placeIn(last) + 1;
  return count;
}
