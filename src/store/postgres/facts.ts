import { digestOf, type FactId } from "../../session/index.js";
import { DamageError } from "../error.js";
import {
  Chains,
  type ChainTables,
  chainOf,
  firstOf,
  type MergeParent,
  type Place,
  placeIn,
  type Range,
} from "../sql/chain.js";
import { FactReader, type LineTable } from "../sql/facts.js";
import { further } from "../sql/rows.js";
import type { PgRows } from "./rows.js";

const BATCH = 4096;
/** How many chains and merges are kept in memory. They never change, but for a collection. */
const KEPT = 300_000;

/** As much of an id as the index has. */
export function keyOf(id: FactId): string {
  return id.slice(0, 32);
}

type Pack = { readonly from: Place; readonly lines: readonly string[] };

/** The lines of a database: the newest one by one, older ones packed. */
class Lines implements LineTable {
  readonly #rows: PgRows;
  /** The pack that was read last: a reader of one line often reads its neighbour next. */
  #last: Pack | undefined;

  constructor(rows: PgRows) {
    this.#rows = rows;
  }

  like(id: FactId): readonly Place[] {
    return this.#rows.query("SELECT p FROM ids WHERE k = ?::uuid", [keyOf(id)]).map(({ p }) => p as Place);
  }

  startingWith(prefix: string, most: number): readonly Place[] {
    const [low, high] = ["0", "f"].map((digit) => keyOf(prefix).padEnd(32, digit));
    return this.#rows
      .query("SELECT p FROM ids WHERE k BETWEEN ?::uuid AND ?::uuid LIMIT ?", [
        low as string,
        high as string,
        most,
      ])
      .map(({ p }) => p as Place);
  }

  has(place: Place): boolean {
    const [row] = this.#rows.query(
      "SELECT EXISTS (SELECT 1 FROM fresh WHERE p = ?1) OR coalesce((SELECT last FROM packs WHERE p <= ?1 ORDER BY p DESC LIMIT 1) >= ?1, false) AS found",
      [place],
    );
    return row?.found as unknown as boolean;
  }

  line(place: Place): string | undefined {
    return this.#stretches([{ from: place, to: place }])[0];
  }

  stretches(ranges: readonly Range[]): readonly string[] {
    const found = this.#stretches(ranges);
    const missing = found.indexOf(undefined);
    if (missing < 0) return found as readonly string[];
    throw new DamageError(`a fact of ${this.#rows.path}`, "its line is missing");
  }

  #stretches(ranges: readonly Range[]): readonly (string | undefined)[] {
    const last = this.#last;
    const isIn = ({ from, to }: Range): boolean =>
      last !== undefined && from >= last.from && to < last.from + last.lines.length;
    const packs = last !== undefined && ranges.every(isIn) ? [last] : this.#read(ranges);
    this.#last = packs.findLast(({ lines }) => lines.length > 1) ?? last;
    const lines: (string | undefined)[] = [];
    for (const { from, to } of ranges) {
      let at = packAt(packs, from);
      for (let place = from; place <= to; place++) {
        let pack = packs[at];
        if (pack !== undefined && place >= pack.from + pack.lines.length) pack = packs[++at];
        lines.push(pack?.lines[place - pack.from]);
      }
    }
    return lines;
  }

  /** Every pack and every line that has a part of these stretches, in the order of places. */
  #read(ranges: readonly Range[]): readonly Pack[] {
    if (ranges.length === 0) return [];
    return this.#rows
      .query(
        `WITH wanted AS MATERIALIZED (SELECT * FROM unnest(?1::bigint[], ?2::bigint[]) AS range (low, high))
         SELECT p, lines FROM packs WHERE p IN (
           SELECT one.p FROM wanted CROSS JOIN LATERAL (
             SELECT p FROM packs WHERE p > low AND p <= high UNION ALL
             (SELECT p FROM packs WHERE p <= low ORDER BY p DESC LIMIT 1)) AS one)
         UNION ALL SELECT one.p, one.line FROM wanted CROSS JOIN LATERAL (SELECT p, line FROM fresh WHERE p BETWEEN low AND high) AS one
         ORDER BY p`,
        [ranges.map(({ from }) => from), ranges.map(({ to }) => to)],
      )
      .map(({ p, lines }) => ({ from: p as Place, lines: (lines as string).split("\n") }));
  }

  *every(): Generator<readonly { readonly place: Place; readonly line: string }[]> {
    // The newest first: what is packed meanwhile is told twice rather than passed over.
    for (const sql of [
      `SELECT p, line AS lines FROM fresh WHERE p > ? ORDER BY p LIMIT ${BATCH}`,
      "SELECT p, lines FROM packs WHERE p > ? ORDER BY p LIMIT 16",
    ])
      for (let after = -1; ; ) {
        const rows = this.#rows.query(sql, [after]);
        if (rows.length === 0) break;
        after = further(after, rows.at(-1)?.p as number);
        yield rows.flatMap(({ p, lines }) =>
          (lines as string).split("\n").map((line, index) => ({ place: (p as Place) + index, line })),
        );
      }
  }

  altered(places: readonly Place[], lines: readonly string[]): string | undefined {
    const ids = lines.map((line) => digestOf(line));
    const found = placesOf(this.#rows, ids);
    return lines.find((_, index) => found.get(ids[index] as FactId) !== places[index]);
  }

  forget(): void {
    this.#last = undefined;
  }
}

/** The last pack that begins at or before a place. */
function packAt(packs: readonly Pack[], place: Place): number {
  let [low, high] = [0, packs.length];
  while (low + 1 < high) {
    const middle = (low + high) >> 1;
    if ((packs[middle] as Pack).from <= place) low = middle;
    else high = middle;
  }
  return low;
}

/** Where ids stand, asked at once. */
function placesOf(rows: PgRows, ids: readonly FactId[]): ReadonlyMap<FactId, Place> {
  const byKey = new Map(ids.map((id) => [keyOf(id), id]));
  const found = new Map<FactId, Place>();
  for (const { k, p } of rows.query("SELECT k, p FROM ids WHERE k = ANY(?::uuid[])", [[...byKey.keys()]]))
    found.set(byKey.get((k as string).replaceAll("-", "")) as FactId, p as Place);
  return found;
}

/** The facts of a database on a server. */
export class Facts extends FactReader<Lines> {
  readonly #rows: PgRows;
  readonly #tables: PgChains;

  constructor(rows: PgRows) {
    const tables = new PgChains(rows);
    super(rows, new Lines(rows), new Chains(tables));
    this.#rows = rows;
    this.#tables = tables;
  }

  atOnce<Result>(look: () => Result): Result {
    return this.#rows.atOnce((collected) => {
      this.noticeCollection(collected);
      return look();
    });
  }

  override noticeCollection(collected: number): void {
    super.noticeCollection(collected);
  }

  protected override forget(): void {
    super.forget();
    // Called while the class above is made, too.
    this.#tables?.forget();
  }

  /** The index has enough of an id to be believed; the line is held against it by those who read it. */
  override place(id: FactId): Place | undefined {
    const known = this.knownPlace(id);
    if (known !== undefined) return known;
    const [place] = this.lines.like(id);
    return place === undefined ? undefined : this.remember(id, place);
  }

  /** Where ids stand, asked at once. */
  placesOf(ids: readonly FactId[]): ReadonlyMap<FactId, Place> {
    return placesOf(this.#rows, ids);
  }

  /** Where the parents of a place stand, as the tables say. */
  parentPlaces(place: Place): readonly Place[] {
    const first = placeIn(place) === 0 ? this.chains.base(chainOf(place)) : place - 1;
    const merged = this.chains.mergesIn({ from: place, to: place }).map(({ parent }) => parent);
    return first === null ? merged : [first, ...merged];
  }

  /** The facts made directly from some, but for those that are among them. */
  childrenOutside(places: ReadonlyMap<Place, FactId>): readonly Place[] {
    if (places.size === 0) return [];
    const all = [...places.keys()];
    const rows = this.#rows.query(
      `SELECT chain << 26 AS p FROM chains WHERE base = ANY(?1::bigint[])
         UNION SELECT child FROM merges WHERE parent = ANY(?1::bigint[])
         UNION SELECT p FROM fresh WHERE p = ANY(?2::bigint[])
         UNION SELECT wanted.p FROM unnest(?2::bigint[]) AS wanted (p) CROSS JOIN LATERAL (
           SELECT last FROM packs WHERE packs.p <= wanted.p ORDER BY packs.p DESC LIMIT 1) AS one WHERE one.last >= wanted.p`,
      [all, all.map((place) => place + 1)],
    );
    return rows.map(({ p }) => p as Place).filter((place) => !places.has(place));
  }

  override lookUp(ids: readonly FactId[]): void {
    const open = ids.filter((id) => this.knownPlace(id) === undefined);
    if (open.length < 2) return;
    for (const [id, place] of placesOf(this.#rows, open)) this.remember(id, place);
  }
}

/** `upTo` is the place up to which its merges are known. */
type KnownChain = { readonly base: Place | null; readonly merges: MergeParent[]; upTo: Place };

/** Chains and merges, read with everything that they lead to. */
class PgChains implements ChainTables {
  readonly #rows: PgRows;
  readonly #known = new Map<number, KnownChain>();
  #count = 0;

  constructor(rows: PgRows) {
    this.#rows = rows;
  }

  base(chain: number): Place | null {
    return this.#chain(chain).base;
  }

  mergesIn({ from, to }: Range): readonly MergeParent[] {
    const chain = this.#chain(chainOf(to));
    if (chain.upTo < to) {
      const more = this.#rows.query(
        "SELECT child, parent FROM merges WHERE child BETWEEN ? AND ? ORDER BY child, place",
        [chain.upTo + 1, to],
      );
      for (const merge of more) chain.merges.push(merge as unknown as MergeParent);
      chain.upTo = to;
    }
    const { merges } = chain;
    if (merges.length === 0) return merges;
    // Histories that merge often are asked about in short stretches, one after the other.
    let [low, high] = [0, merges.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((merges[middle] as MergeParent).child < from) low = middle + 1;
      else high = middle;
    }
    let end = low;
    while (end < merges.length && (merges[end] as MergeParent).child <= to) end += 1;
    return merges.slice(low, end);
  }

  forget(): void {
    this.#known.clear();
    this.#count = 0;
  }

  #chain(chain: number): KnownChain {
    const known = this.#known.get(chain);
    if (known !== undefined) return known;
    if (this.#count > KEPT) this.forget();
    this.#readFrom(chain);
    const read = this.#known.get(chain);
    // In a damaged database a place may be in a chain that never was.
    if (read === undefined) throw new DamageError(`chain ${chain}`, "it is missing");
    return read;
  }

  /** Reads a chain and those that it comes from and merges: one question for a whole past. */
  #readFrom(chain: number): void {
    const rows = this.#rows.query(
      `WITH RECURSIVE need (chain) AS (
         SELECT ?::bigint UNION SELECT found.chain FROM need CROSS JOIN LATERAL (
           SELECT base >> 26 AS chain FROM chains WHERE chains.chain = need.chain AND base IS NOT NULL
           UNION SELECT parent >> 26 FROM merges WHERE child BETWEEN need.chain << 26 AND (need.chain << 26) + 67108863) AS found)
       SELECT one.chain, one.base, two.child, two.parent FROM need JOIN chains AS one USING (chain)
         LEFT JOIN merges AS two ON two.child BETWEEN one.chain << 26 AND (one.chain << 26) + 67108863
       ORDER BY one.chain, two.child, two.place`,
      [chain],
    );
    for (const { chain: at, base } of rows)
      if (!this.#known.has(at as number))
        this.#known.set(at as number, {
          base: base as Place | null,
          merges: [],
          upTo: firstOf(at as number) - 1,
        });
    for (const { chain: at, child, parent } of rows) {
      const known = this.#known.get(at as number);
      if (known !== undefined && child !== null && (child as Place) > known.upTo)
        known.merges.push({ child: child as Place, parent: parent as Place });
    }
    // The answer is complete up to every place that was there: merges, and what something comes from.
    for (const { base, child, parent } of rows)
      for (const place of [base, child, parent] as (Place | null)[]) {
        const known = place === null ? undefined : this.#known.get(chainOf(place));
        if (known !== undefined && known.upTo < (place as Place)) known.upTo = place as Place;
      }
    this.#count += rows.length;
  }
}
