import { digestOf, type FactId } from "../../session/index.js";
import { DamageError } from "../error.js";
import { chainOf, type Place, placeIn, type Range } from "../sql/chain.js";
import type { LineTable } from "../sql/facts.js";
import { further } from "../sql/rows.js";
import type { SqliteDatabase, SqliteStatement } from "./driver.js";

type Statements = { readonly [name in keyof typeof SQL]: SqliteStatement };

/** As many lines, or bytes of them, wait as they came before they are packed. */
const FRESH = 4096;
const FRESH_CHARACTERS = 8_000_000;
/** A pack is closed when it has this many characters: enough to fill its pages, little enough to read for one line. */
const PACK_CHARACTERS = 65_536;

/**
 * The lines of a store. A new line is written where the last one ended, which is the cheapest write there is.
 * The index that finds it again, by id or by place in its chain, is random and would touch a page for every fact. So
 * the newest lines wait in `fresh`, mirrored here in memory; then they are packed, the lines of one chain
 * side by side as one text, and their ids enter the index sorted, in bulk. Packs fill their pages: a row to
 * each line would leave up to half of every page empty.
 */
export class Lines implements LineTable {
  readonly #database: SqliteDatabase;
  readonly #statements: Statements;
  readonly #freshByKey = new Map<number, Place[]>();
  readonly #freshRows = new Map<Place, number>();
  #freshCharacters = 0;
  #seen = 0;
  #held = false;
  /** The pack that was read last: a reader of one line often reads its neighbour next. */
  #lastPack: { readonly from: Place; readonly to: Place; readonly lines: readonly string[] } | undefined;

  constructor(database: SqliteDatabase) {
    this.#database = database;
    this.#statements = Object.fromEntries(
      Object.entries(SQL).map(([name, sql]) => [name, database.prepare(sql)]),
    ) as Statements;
  }

  /** Places whose id begins with the same 48 bits. */
  like(id: FactId): readonly Place[] {
    this.#catchUp();
    const found = this.#statements.byKey.all(keyOf(id)).map((row) => row.p as Place);
    const fresh = this.#freshByKey.get(keyOf(id));
    return fresh === undefined ? found : [...new Set([...found, ...fresh])];
  }

  /** Places whose ids begin with these digits, and maybe a few more. */
  startingWith(prefix: string, most: number): readonly Place[] {
    this.#catchUp();
    const [low, high] = [keyOf(prefix.padEnd(64, "0")), keyOf(prefix.padEnd(64, "f"))];
    const found = new Set(this.#statements.byKeys.all(low, high, most).map((row) => row.p as Place));
    for (const [k, places] of this.#freshByKey)
      if (k >= low && k <= high) for (const place of places) found.add(place);
    return [...found];
  }

  has(place: Place): boolean {
    this.#catchUp();
    if (this.#freshRows.has(place)) return true;
    const end = this.#statements.endAt.get(place)?.last as Place | undefined;
    return end !== undefined && end >= place;
  }

  line(place: Place): string | undefined {
    this.#catchUp();
    if (this.#freshRows.has(place)) return this.#freshLine(place);
    let pack = this.#lastPack;
    if (pack === undefined || place < pack.from || place > pack.to) {
      const found = this.#statements.packAt.get(place);
      if (found === undefined || (found.last as Place) < place) return undefined;
      pack = { from: found.p as Place, to: found.last as Place, lines: (found.lines as string).split("\n") };
      this.#lastPack = pack;
    }
    return pack.lines[place - pack.from];
  }

  #freshLine(place: Place): string | undefined {
    return this.#statements.line.get(this.#freshRows.get(place) ?? -1)?.line as string | undefined;
  }

  /** The lines of a stretch of a chain, in order. */
  lines(range: Range): readonly string[] {
    this.#catchUp();
    const last = this.#lastPack;
    // Where histories merge often, stretches are short and many of them lie in one pack.
    if (last !== undefined && range.from >= last.from && range.to <= last.to)
      return last.lines.slice(range.from - last.from, range.to - last.from + 1);
    const found: string[] = [];
    for (const pack of this.#statements.packsIn.all(range.from, range.to)) {
      const [from, to] = [pack.p as Place, pack.last as Place];
      if (to < range.from) continue;
      const lines = (pack.lines as string).split("\n");
      this.#lastPack = { from, to, lines };
      for (const line of lines.slice(Math.max(0, range.from - from), range.to - from + 1)) found.push(line);
    }
    for (let place = range.from + found.length; place <= range.to; place++) {
      const line = this.#freshLine(place);
      // Tables that are damaged can speak of millions of lines that never were.
      if (line === undefined)
        throw new DamageError(`fact ${chainOf(place)}.${placeIn(place)}`, "its line is missing");
      found.push(line);
    }
    return found;
  }

  stretches(ranges: readonly Range[]): readonly string[] {
    return ranges.flatMap((range) => this.lines(range));
  }

  /** All lines with their places, in batches; nothing is held open while the caller thinks. */
  *every(): Generator<readonly { readonly place: Place; readonly line: string }[]> {
    for (let after = -1; ; ) {
      const pack = this.#statements.packAfter.get(after);
      if (pack === undefined) break;
      after = further(after, pack.p as Place);
      yield (pack.lines as string).split("\n").map((line, index) => ({ place: after + index, line }));
    }
    for (let after = 0; ; ) {
      const rows = this.#statements.freshAfter.all(after, FRESH);
      if (rows.length === 0) return;
      after = further(after, rows.at(-1)?.n as number);
      yield rows.map((row) => ({ place: row.p as Place, line: row.line as string }));
    }
  }

  /** Whether a line is the one that was written: the index leads from its id back to its place. */
  isSound(place: Place, line: string): boolean {
    return this.like(digestOf(line)).includes(place);
  }

  altered(places: readonly Place[], lines: readonly string[]): string | undefined {
    return lines.find((line, index) => !this.isSound(places[index] as Place, line));
  }

  /** Keeps a new line. In a transaction. */
  add(id: FactId, place: Place, line: string): void {
    const { lastInsertRowid } = this.#statements.add.run(keyOf(id), place, line);
    this.#mirror(Number(lastInsertRowid), keyOf(id), place, line.length);
  }

  /** How many lines wait to be packed. */
  get waiting(): number {
    this.#catchUp();
    return this.#freshRows.size;
  }

  /** Packs what waits, when it is much or when it must be. In a transaction. */
  pack(always = false): void {
    this.#catchUp();
    if (this.#freshRows.size < (always ? 1 : FRESH) && this.#freshCharacters < FRESH_CHARACTERS) return;
    let open: { from: Place; lines: string[]; characters: number } | undefined;
    const close = (): void => {
      if (open !== undefined)
        this.#statements.addPack.run(open.from, open.from + open.lines.length - 1, open.lines.join("\n"));
      open = undefined;
    };
    for (const row of this.#statements.freshInOrder.all()) {
      const [place, line] = [row.p as Place, row.line as string];
      if (
        open !== undefined &&
        (place !== open.from + open.lines.length || chainOf(place) !== chainOf(open.from))
      )
        close();
      open ??= this.#packBefore(place) ?? { from: place, lines: [], characters: 0 };
      open.lines.push(line);
      open.characters += line.length;
      if (open.characters >= PACK_CHARACTERS) close();
    }
    close();
    // Freed pages are not wiped here but given back when facts are removed: packing is frequent, removing is not.
    this.#database.exec(`INSERT OR IGNORE INTO ids SELECT k, p FROM fresh ORDER BY k, p;
      PRAGMA secure_delete = FAST; DELETE FROM fresh; PRAGMA secure_delete = ON;`);
    this.forget();
  }

  /** The last pack of a chain, if it ends right before this place and has room: it goes on instead of leaving a gap. */
  #packBefore(place: Place): { from: Place; lines: string[]; characters: number } | undefined {
    const pack = this.#statements.packAt.get(place - 1);
    if (
      pack === undefined ||
      pack.last !== place - 1 ||
      chainOf(pack.last) !== chainOf(place) ||
      (pack.lines as string).length >= PACK_CHARACTERS / 4
    )
      return undefined;
    return {
      from: pack.p as Place,
      lines: (pack.lines as string).split("\n"),
      characters: (pack.lines as string).length,
    };
  }

  /** Removes facts: always the ends of chains, since what comes from a removed fact goes as well. In a transaction, after `pack(true)`. */
  remove(facts: ReadonlyMap<Place, FactId>): void {
    for (const [place, id] of facts) this.#statements.removeId.run(keyOf(id), place);
    for (const place of [...facts.keys()].sort((one, other) => other - one)) {
      const pack = this.#statements.packAt.get(place);
      if (pack === undefined || (pack.last as Place) < place) continue;
      const kept = (pack.lines as string)
        .split("\n")
        .filter((_, index) => !facts.has((pack.p as Place) + index));
      this.#statements.removePack.run(pack.p as Place);
      if (kept.length > 0)
        this.#statements.addPack.run(pack.p as Place, (pack.p as Place) + kept.length - 1, kept.join("\n"));
    }
  }

  /** Forgets what is held in memory: a transaction was undone, or facts were removed. */
  forget(): void {
    this.#freshByKey.clear();
    this.#freshRows.clear();
    this.#freshCharacters = 0;
    this.#seen = 0;
    this.#lastPack = undefined;
  }

  /** While a transaction is held nobody else can write, so one look at its beginning is enough. */
  begin(): void {
    this.#catchUp();
    this.#held = true;
  }

  end(): void {
    this.#held = false;
  }

  /** Reads what other processes have added since the last look; packed lines are no longer fresh. */
  #catchUp(): void {
    if (this.#held) return;
    const { n, first } = this.#statements.newest.get() as { n: number | null; first: Place | null };
    if (this.#freshRows.size > 0 && (first === null || !this.#freshRows.has(first))) this.forget();
    if (n === null || n === this.#seen) return;
    for (const row of this.#statements.newer.all(this.#seen)) {
      const { k, p, characters } = row as { k: number; p: Place; characters: number };
      this.#mirror(row.n as number, k, p, characters);
    }
  }

  #mirror(row: number, k: number, place: Place, characters: number): void {
    this.#seen = row;
    this.#freshRows.set(place, row);
    this.#freshCharacters += characters;
    const places = this.#freshByKey.get(k);
    if (places === undefined) this.#freshByKey.set(k, [place]);
    else places.push(place);
  }
}

const SQL = {
  byKey: "SELECT p FROM ids WHERE k = ?",
  byKeys: "SELECT p FROM ids WHERE k BETWEEN ? AND ? LIMIT ?",
  line: "SELECT line FROM fresh WHERE n = ?",
  add: "INSERT INTO fresh (k, p, line) VALUES (?, ?, ?)",
  newest: "SELECT (SELECT max(n) FROM fresh) AS n, (SELECT p FROM fresh ORDER BY n LIMIT 1) AS first",
  newer: "SELECT n, k, p, length(line) AS characters FROM fresh WHERE n > ? ORDER BY n",
  freshAfter: "SELECT n, p, line FROM fresh WHERE n > ? ORDER BY n LIMIT ?",
  freshInOrder: "SELECT p, line FROM fresh ORDER BY p",
  endAt: "SELECT last FROM packs WHERE p <= ? ORDER BY p DESC LIMIT 1",
  packAt: "SELECT p, last, lines FROM packs WHERE p <= ? ORDER BY p DESC LIMIT 1",
  packsIn:
    "SELECT p, last, lines FROM packs WHERE p BETWEEN (SELECT coalesce(max(p), 0) FROM packs WHERE p <= ?1) AND ?2 ORDER BY p",
  packAfter: "SELECT p, lines FROM packs WHERE p > ? ORDER BY p LIMIT 1",
  addPack: "INSERT OR REPLACE INTO packs (p, last, lines) VALUES (?, ?, ?)",
  removePack: "DELETE FROM packs WHERE p = ?",
  removeId: "DELETE FROM ids WHERE k = ? AND p = ?",
} as const;

/** The first 48 bits of an id: as much as a JavaScript number holds exactly, with room to spare. */
export function keyOf(id: FactId): number {
  return Number.parseInt(id.slice(0, 12), 16);
}
