import type { FactId, Principal } from "../../session/index.js";
import type { SqliteRow } from "../../store/index.js";
import { holdsIn, type Scope } from "../scope.js";
import type { Source } from "../source.js";
import { idOf } from "./fold.js";
import { Neighbours } from "./nearest.js";

/** The columns of a row that `put` takes, of `memory m` and `vector v`. */
export const LIVE_COLUMNS =
  "m.row, m.id, m.status, m.scope, m.source, m.trust, m.by, m.at, m.expires, m.subject, m.digest, v.value";

/** The live memories of an index as columns: filters and vectors. Places are reused; no answer shows them. */
export class Live {
  readonly #places = new Map<number, number>();
  readonly ids: FactId[] = [];
  readonly rows: number[] = [];
  readonly #subjects: (string | null)[] = [];
  readonly #kinds: number[] = [];
  readonly #times: number[] = [];
  readonly #ends: number[] = [];
  readonly #columns: readonly unknown[][] = [
    this.ids,
    this.rows,
    this.#subjects,
    this.#kinds,
    this.#times,
    this.#ends,
  ];
  readonly #codes = new Map<string, number>();
  readonly #known: Kind[] = [];
  readonly neighbours: Neighbours = new Neighbours(this.ids);
  /** The rows whose texts have no vector yet, and the digests of those. */
  readonly lacking: Map<number, Uint8Array> = new Map();

  get size(): number {
    return this.ids.length;
  }

  placeOf(row: number): number | undefined {
    return this.#places.get(row);
  }

  clear(): void {
    this.#places.clear();
    for (const column of this.#columns) column.length = 0;
    this.lacking.clear();
    this.neighbours.clear();
  }

  put(from: SqliteRow): void {
    const row = from.row as number;
    if (from.status !== "live") {
      this.#take(row);
      return;
    }
    let place = this.#places.get(row);
    if (place === undefined) {
      place = this.ids.length;
      this.#places.set(row, place);
    }
    this.ids[place] = idOf(from.id);
    this.rows[place] = row;
    this.#subjects[place] = from.subject as string | null;
    this.#kinds[place] = this.#codeOf(from);
    this.#times[place] = Date.parse(from.at as string);
    this.#ends[place] = endOf(from.expires as string | null);
    const value = from.value as Uint8Array | null;
    if (value !== null && this.neighbours.set(place, value)) this.lacking.delete(row);
    else {
      this.neighbours.unset(place);
      this.lacking.set(row, from.digest as Uint8Array);
    }
  }

  /** A vector that came later than its memory. */
  give(row: number, value: Uint8Array): void {
    const place = this.#places.get(row);
    if (place !== undefined && this.neighbours.set(place, value)) this.lacking.delete(row);
  }

  /** All are without a vector again; these are their rows and digests. */
  forget(rows: readonly SqliteRow[]): void {
    this.neighbours.clear();
    for (const { row, digest } of rows)
      if (this.#places.has(row as number)) this.lacking.set(row as number, digest as Uint8Array);
  }

  /** Which places are meant, as ones, and how many they are. */
  meant(filter: Filter, now: string): { readonly mask: Uint8Array; readonly count: number } {
    const kinds = this.#known.map((kind) => isKind(filter, kind));
    const [since, until] = timesOf(filter);
    const moment = Date.parse(now);
    const subject = filter.subject === undefined ? undefined : JSON.stringify(filter.subject);
    const mask = new Uint8Array(this.size);
    let count = 0;
    for (let place = 0; place < mask.length; place++) {
      if (!kinds[this.#kinds[place] as number]) continue;
      if ((this.#ends[place] as number) <= moment) continue;
      const time = this.#times[place] as number;
      // Written so that an invalid time is in no range.
      if (
        (since !== Number.NEGATIVE_INFINITY || until !== Number.POSITIVE_INFINITY) &&
        !(time >= since && time <= until)
      )
        continue;
      if (subject !== undefined && this.#subjects[place] !== subject) continue;
      mask[place] = 1;
      count += 1;
    }
    return { mask, count };
  }

  #take(row: number): void {
    const place = this.#places.get(row);
    if (place === undefined) return;
    this.#places.delete(row);
    this.lacking.delete(row);
    const last = this.ids.length - 1;
    const moved = this.rows[last] as number;
    this.neighbours.move(last, place);
    if (place !== last) this.#places.set(moved, place);
    for (const column of this.#columns) {
      column[place] = column[last];
      column.length = last;
    }
  }

  #codeOf({ scope, source, trust, by }: SqliteRow): number {
    const key = `${String(scope)}\n${String(source)}\n${String(trust)}\n${String(by)}`;
    let code = this.#codes.get(key);
    if (code === undefined) {
      code = this.#known.length;
      this.#codes.set(key, code);
      this.#known.push({
        scope: JSON.parse(scope as string) as Scope,
        source: source as string,
        trust: trust as string,
        by: by as string,
      });
    }
    return code;
  }
}

/** A filter of memories. */
export type Filter = {
  /** The scope of the reader: memories of this scope and of wider ones pass. */
  readonly scope?: Scope;
  /** Whether memories of narrower scopes pass too. */
  readonly within?: boolean;
  readonly sources?: readonly Source[];
  readonly trust?: "trusted";
  /** Written or last revised in this time. */
  readonly since?: string;
  readonly until?: string;
  readonly by?: Principal;
  readonly subject?: string;
  /** The beginning of its subject. */
  readonly under?: string;
};

/** The fields that many memories share. */
export type Kind = {
  readonly scope: Scope;
  readonly source: string;
  readonly trust: string;
  readonly by: string;
};

/** Whether memories of a kind are meant, as far as that depends on their kind. */
export function isKind({ scope, within, sources, trust, by }: Filter, kind: Kind): boolean {
  if (scope !== undefined && !holdsIn(kind.scope, scope) && !(within === true && holdsIn(scope, kind.scope)))
    return false;
  if (sources !== undefined && !sources.includes(kind.source as Source)) return false;
  if (trust !== undefined && kind.trust !== trust) return false;
  return by === undefined || kind.by === by;
}

/** The range of times as numbers; with an invalid bound, no time is in it. */
export function timesOf({ since, until }: Filter): readonly [number, number] {
  return [
    since === undefined ? Number.NEGATIVE_INFINITY : Date.parse(since),
    until === undefined ? Number.POSITIVE_INFINITY : Date.parse(until),
  ];
}

/** When a memory expires, as a number; infinity without a valid time. */
export function endOf(expires: string | null): number {
  const end = expires === null ? Number.NaN : Date.parse(expires);
  return Number.isNaN(end) ? Number.POSITIVE_INFINITY : end;
}
