import { type Digest, digestOf, type FactId, parentsOf } from "../../session/index.js";
import { LOGGED_MOVES, UNDER_WAY_MS } from "../commit.js";
import type {
  Blob,
  BlobTable,
  Commit,
  Erasure,
  FactTable,
  MoveRecord,
  NameRecord,
  NameTable,
  NewFact,
  Tables,
} from "../shelf.js";
import { BlobReader } from "../sql/blobs.js";
import { chainOf, firstOf, isLastPlace, type Place } from "../sql/chain.js";
import { idOf, NameReader, recordOf } from "../sql/names.js";
import type { SqlRow } from "../sql/rows.js";
import type { PgRow } from "./driver.js";
import { type Facts, keyOf } from "./facts.js";
import type { PgRows } from "./rows.js";
import type { State } from "./writer.js";

type Literal = (text: string) => string;

/** A text that the database keeps whatever is in it. */
export function exactly(text: string): string {
  return JSON.stringify(text);
}

const bytea = (hex: string | null): string => (hex === null ? "NULL" : `'\\x${hex}'`);
const stepKey = (key: string): string => keyOf(digestOf(exactly(key)));

/** The keys that commits will ask for, so that all of it can be read under the lock with one message. */
export class Asked {
  readonly names = new Set<string>();
  readonly steps: { readonly name: string; readonly key: string }[] = [];
  readonly ids = new Set<FactId>();
  readonly digests = new Set<Digest>();

  addCommit({ facts, blobs, move, also = [] }: Commit): void {
    for (const { name, head } of move === undefined ? also : [move, ...also]) {
      this.names.add(name);
      if (head !== null) this.ids.add(head);
    }
    if (move?.key !== undefined) this.steps.push({ name: move.name, key: move.key });
    for (const { id, line } of facts) for (const one of [id, ...parentsOf(line)]) this.ids.add(one);
    for (const { digest } of blobs) this.digests.add(digest);
  }

  /** Three questions; `Draft` gets the answers. */
  reads(qualified: (sql: string) => string, literal: Literal): readonly string[] {
    const list = (texts: Iterable<string>): string => [...texts].map(literal).join() || "NULL";
    return [
      `${qualified("SELECT name, p, id, epoch, owner, until, moved FROM names")} WHERE name IN (${list(this.names)})`,
      this.steps.length === 0
        ? "SELECT 1 WHERE false"
        : `${qualified("SELECT name, key, id FROM steps")} WHERE (name, key) IN (${this.steps.map(({ name, key }) => `(${literal(name)}, '${stepKey(key)}'::uuid)`).join()})`,
      qualified(`SELECT k, p, EXISTS (SELECT 1 FROM fresh WHERE fresh.p = found.p + 1)
          OR coalesce((SELECT last FROM packs WHERE packs.p <= found.p + 1 ORDER BY packs.p DESC LIMIT 1) > found.p, false) AS taken
        FROM ids AS found WHERE k = ANY('{${[...this.ids].map(keyOf).join()}}'::uuid[])`),
      `${qualified("SELECT digest FROM erasures")} WHERE digest IN (${list(this.digests)})`,
    ];
  }
}

/**
 * The tables as a transaction sees them: what was read beforehand, then what the work adds. Anything else is read from
 * the other connection, which sees the same, since nobody else writes under the lock. `sql` has all that is new.
 */
export class Draft implements Tables {
  readonly facts: DraftFacts;
  readonly names: DraftNames;
  readonly blobs: DraftBlobs;
  readonly #state: State;

  constructor(
    rows: PgRows,
    facts: Facts,
    state: State,
    [names = [], steps = [], places = [], erased = []]: readonly (readonly PgRow[])[],
    asked: Asked,
  ) {
    this.#state = state;
    facts.noticeCollection(state.collected);
    this.facts = new DraftFacts(facts, state.chain, places, asked);
    this.names = new DraftNames(rows, state.moved, names, steps, asked, (id) => this.facts.place(id) ?? null);
    this.blobs = new DraftBlobs(rows, state.now, erased, asked);
  }

  get moved(): boolean {
    return this.names.newestMove() > this.#state.moved;
  }

  get waiting(): number {
    return this.#state.waiting + this.facts.added.length;
  }

  /** The statements that write what is new; none when nothing is. */
  sql(qualified: (sql: string) => string, literal: Literal): string {
    const written = [...this.facts.sql(literal), ...this.names.sql(literal), ...this.blobs.sql(literal)].map(
      ([start, values, end = ""]) => `${qualified(start)} ${values}${end}`,
    );
    if (written.length === 0) return "";
    const { chain } = this.facts;
    return [
      ...written,
      `${qualified("UPDATE generation")} SET chain = ${chain}, moved = ${this.names.newestMove()}, waiting = ${this.waiting}`,
    ].join(";");
  }
}

/** The beginning of a statement with its tables, what is new, and an end. */
type Written = readonly [start: string, values: string, end?: string];

function insert(start: string, rows: readonly string[], end?: string): readonly Written[] {
  return rows.length === 0
    ? []
    : ([
        [`INSERT INTO ${start} VALUES`, rows.map((row) => `(${row})`).join(), end],
      ] as const as readonly Written[]);
}

class DraftFacts implements FactTable {
  /** The number of the newest chain. */
  chain: number;
  readonly added: { readonly fact: NewFact; readonly place: Place }[] = [];
  readonly #facts: Facts;
  readonly #places = new Map<FactId, Place | undefined>();
  readonly #fresh = new Map<FactId, NewFact>();
  readonly #taken = new Map<Place, boolean>();
  readonly #chains: string[] = [];
  readonly #merges: string[] = [];

  constructor(facts: Facts, chain: number, places: readonly PgRow[], { ids }: Asked) {
    this.#facts = facts;
    this.chain = chain;
    const byKey = new Map<string, FactId>();
    for (const id of ids) {
      byKey.set(keyOf(id), id);
      this.#places.set(id, undefined);
    }
    for (const { k, p, taken } of places) {
      const place = Number(p);
      this.#places.set(byKey.get((k as string).replaceAll("-", "")) as FactId, place);
      this.#taken.set(place + 1, taken === true);
    }
  }

  place(id: FactId): Place | undefined {
    if (!this.#places.has(id)) this.#places.set(id, this.#facts.place(id));
    return this.#places.get(id);
  }

  has(id: FactId): boolean {
    return this.place(id) !== undefined;
  }

  descends(stored: readonly FactId[], ancestor: FactId): boolean {
    const places: Place[] = [];
    const seen = new Set(stored);
    for (const id of seen) {
      if (id === ancestor) return true;
      const fresh = this.#fresh.get(id);
      if (fresh === undefined) places.push(this.place(id) as Place);
      else for (const parent of fresh.parents) seen.add(parent);
    }
    const wanted = this.place(ancestor);
    if (wanted === undefined || this.#fresh.has(ancestor)) return false;
    return this.#facts.chains.descends(places, wanted);
  }

  add(fact: NewFact): void {
    const [first, ...others] = fact.parents.map((parent) => this.place(parent) as Place);
    let place = first === undefined || isLastPlace(first) || this.#isTaken(first + 1) ? undefined : first + 1;
    if (place === undefined) {
      this.chain += 1;
      place = firstOf(this.chain);
      this.#chains.push(`${chainOf(place)},${first ?? "NULL"}`);
    }
    for (const [index, parent] of others.entries()) this.#merges.push(`${place},${index + 1},${parent}`);
    this.#places.set(fact.id, place);
    this.#taken.set(place, true);
    this.#taken.set(place + 1, false);
    this.#fresh.set(fact.id, fact);
    this.added.push({ fact, place });
  }

  #isTaken(place: Place): boolean {
    const known = this.#taken.get(place);
    return known ?? this.#facts.lines.has(place);
  }

  sql(literal: Literal): readonly Written[] {
    return [
      ...insert(
        "ids",
        this.added.map(({ fact, place }) => `'${keyOf(fact.id)}',${place}`),
      ),
      ...insert(
        "fresh",
        this.added.map(({ fact, place }) => `${place},${literal(fact.line)}`),
      ),
      ...insert("chains", this.#chains),
      ...insert("merges", this.#merges),
    ];
  }
}

class DraftNames extends NameReader implements NameTable {
  readonly #records = new Map<string, NameRecord | undefined>();
  readonly #changed = new Set<string>();
  readonly #dropped = new Set<string>();
  readonly #steps = new Map<string, FactId | undefined>();
  readonly #newSteps = new Map<
    string,
    { readonly name: string; readonly key: string; readonly head: FactId }
  >();
  readonly #moves: MoveRecord[] = [];
  readonly #placeOf: (id: FactId) => Place | null;
  readonly #rows: PgRows;
  #moved: number;

  constructor(
    rows: PgRows,
    moved: number,
    names: readonly PgRow[],
    steps: readonly PgRow[],
    asked: Asked,
    placeOf: (id: FactId) => Place | null,
  ) {
    super(rows);
    this.#rows = rows;
    this.#moved = moved;
    this.#placeOf = placeOf;
    for (const name of asked.names) this.#records.set(name, undefined);
    for (const row of names) this.#records.set(row.name as string, recordOf(numbersOf(row)));
    for (const { name, key } of asked.steps) this.#steps.set(stepOf(name, key), undefined);
    for (const { name, key, id } of steps)
      this.#steps.set(
        `${(key as string).replaceAll("-", "")} ${String(name)}`,
        idOf(id as Uint8Array) ?? undefined,
      );
  }

  override get(name: string): NameRecord | undefined {
    if (!this.#records.has(name)) this.#records.set(name, super.get(name));
    return this.#records.get(name);
  }

  override newestMove(): number {
    return this.#moved;
  }

  #log(name: string, before: FactId | null, head: FactId | null): number {
    this.#moved += 1;
    this.#moves.push({ n: this.#moved, name, before, head });
    return this.#moved;
  }

  put(record: Omit<NameRecord, "moved">): void {
    const { name, head } = record;
    const stood = this.get(name) ?? { head: null, moved: 0 };
    const moved = stood.head === head ? stood.moved : this.#log(name, stood.head, head);
    this.#records.set(name, { ...record, moved });
    this.#changed.add(name);
  }

  drop(name: string): void {
    const head = this.get(name)?.head ?? null;
    if (head !== null) this.#log(name, head, null);
    this.#records.set(name, undefined);
    this.#changed.add(name);
    this.#dropped.add(name);
    for (const [step, { name: of }] of this.#newSteps) if (of === name) this.#newSteps.delete(step);
  }

  step(name: string, key: string): FactId | undefined {
    const step = stepOf(name, key);
    const fresh = this.#newSteps.get(step);
    if (fresh !== undefined) return fresh.head;
    if (this.#dropped.has(name)) return undefined;
    if (!this.#steps.has(step)) {
      const [row] = this.#rows.query("SELECT id FROM steps WHERE name = ? AND key = ?::uuid", [
        name,
        stepKey(key),
      ]);
      this.#steps.set(step, idOf(row?.id) ?? undefined);
    }
    return this.#steps.get(step);
  }

  addStep(name: string, key: string, head: FactId): void {
    this.#newSteps.set(stepOf(name, key), { name, key, head });
  }

  sql(literal: Literal): readonly Written[] {
    const gone = [...this.#changed].filter((name) => this.#records.get(name) === undefined);
    const kept = [...this.#changed].flatMap((name) => this.#records.get(name) ?? []);
    const among = (names: Iterable<string>): string => `WHERE name IN (${[...names].map(literal).join()})`;
    const newest = this.#moves.at(-1)?.n ?? 0;
    const oldest = this.#moves[0]?.n ?? newest;
    return [
      ...(this.#dropped.size > 0 ? [["DELETE FROM steps", among(this.#dropped)] as const] : []),
      ...(gone.length > 0 ? [["DELETE FROM names", among(gone)] as const] : []),
      ...insert(
        "names",
        kept.map(({ name, head, epoch, owner, until, moved }) =>
          [
            literal(name),
            head === null ? "NULL" : (this.#placeOf(head) ?? "NULL"),
            head === null ? "NULL" : literal(head),
            epoch,
            owner === undefined ? "NULL" : literal(owner),
            Math.ceil(until),
            moved,
          ].join(),
        ),
        " ON CONFLICT (name) DO UPDATE SET p = excluded.p, id = excluded.id, epoch = excluded.epoch, owner = excluded.owner, until = excluded.until, moved = excluded.moved",
      ),
      ...insert(
        "steps",
        [...this.#newSteps.values()].map(
          ({ name, key, head }) => `${literal(name)},'${stepKey(key)}',${bytea(head)}`,
        ),
      ),
      ...insert(
        "moves",
        this.#moves.map(
          ({ n, name, head, before }) => `${n},${literal(name)},${bytea(head)},${bytea(before)}`,
        ),
      ),
      ...(newest > 0 && Math.floor(newest / CUT_EVERY) > Math.floor((oldest - 1) / CUT_EVERY)
        ? [["DELETE FROM moves", `WHERE n <= ${newest - LOGGED_MOVES}`] as const]
        : []),
    ];
  }
}

/** How often the log of moves is cut. */
const CUT_EVERY = 1024;

function stepOf(name: string, key: string): string {
  return `${stepKey(key)} ${name}`;
}

/** The client that writes gives whole numbers as text. */
function numbersOf(row: PgRow): SqlRow {
  const { epoch, until, moved } = row;
  return { ...(row as SqlRow), epoch: Number(epoch), until: Number(until), moved: Number(moved) };
}

/** Content as PostgreSQL keeps it. */
export class PgBlobs extends BlobReader {
  readonly #content: PgRows;

  constructor(rows: PgRows) {
    super(rows);
    this.#content = rows;
  }

  /** In the order of the index that there is: the one by rows only tells where a stretch of them lies. */
  override *digests(): Generator<readonly Digest[], void> {
    for (let after: Uint8Array = new Uint8Array(); ; ) {
      const sql = "SELECT digest FROM blobs WHERE digest > ? ORDER BY digest LIMIT 1000";
      const digests = this.#content.all(sql, after).map(({ digest }) => digest as Uint8Array);
      if (digests.length === 0) return;
      after = digests.at(-1) as Uint8Array;
      yield digests.map((digest) => Buffer.from(digest).toString("hex"));
    }
  }

  protected override erasureOf(row: SqlRow): Erasure {
    const { digest, fact, by, at, why } = row as { readonly [column: string]: string };
    return { digest, fact, by: JSON.parse(by as string), at, why: JSON.parse(why as string) } as Erasure;
  }
}

class DraftBlobs extends PgBlobs implements BlobTable {
  readonly #now: number;
  readonly #blobs = new Map<Digest, Uint8Array>();
  readonly #erased = new Map<Digest, boolean>();
  readonly #erasures = new Map<Digest, Erasure>();
  readonly #revived = new Set<Digest>();
  readonly #puts: Digest[] = [];
  readonly #keys: { readonly id: string; readonly secret: Uint8Array }[] = [];

  constructor(rows: PgRows, now: number, erased: readonly PgRow[], { digests }: Asked) {
    super(rows);
    this.#now = now;
    for (const digest of digests) this.#erased.set(digest, false);
    for (const { digest } of erased) this.#erased.set(digest as Digest, true);
  }

  add(blobs: readonly Blob[], revived: ReadonlySet<Digest>): void {
    for (const { digest, bytes } of blobs) {
      if (this.#isErased(digest)) {
        if (!revived.has(digest)) continue;
        this.#revived.add(digest);
        this.#erasures.delete(digest);
        this.#erased.set(digest, false);
      }
      this.#blobs.set(digest, bytes);
    }
  }

  put(digests: readonly Digest[]): void {
    for (const digest of digests) this.#puts.push(digest);
  }

  erase(erasure: Erasure): void {
    if (!this.#isErased(erasure.digest)) this.#erasures.set(erasure.digest, erasure);
    this.#erased.set(erasure.digest, true);
    this.#blobs.delete(erasure.digest);
  }

  addKey(key: { readonly id: string; readonly secret: Uint8Array }): void {
    this.#keys.push(key);
  }

  #isErased(digest: Digest): boolean {
    const known = this.#erased.get(digest);
    return known ?? super.erased(digest) !== undefined;
  }

  sql(literal: Literal): readonly Written[] {
    const hex = (bytes: Uint8Array): string =>
      Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
    const erasures = [...this.#erasures.values()];
    return [
      ...(this.#revived.size > 0
        ? [["DELETE FROM erasures", `WHERE digest IN (${[...this.#revived].map(literal).join()})`] as const]
        : []),
      ...insert(
        "secrets",
        this.#keys.map(({ id, secret }) => `${literal(id)},${bytea(hex(secret))}`),
        " ON CONFLICT DO NOTHING",
      ),
      ...insert(
        "blobs (digest, bytes)",
        [...this.#blobs].map(([digest, bytes]) => `${bytea(digest)},${bytea(hex(bytes))}`),
        " ON CONFLICT (digest) DO NOTHING",
      ),
      ...insert(
        "erasures",
        erasures.map(({ digest, fact, by, at, why }) =>
          [digest, fact, exactly(by), at, exactly(why)].map(literal).join(),
        ),
        " ON CONFLICT DO NOTHING",
      ),
      ...(erasures.length > 0
        ? [
            [
              "DELETE FROM blobs",
              `WHERE digest IN (${erasures.map(({ digest }) => bytea(digest)).join()})`,
            ] as const,
          ]
        : []),
      ...(this.#puts.length > 0
        ? [
            [
              "INSERT INTO puts (at, digests)",
              `VALUES (${this.#now}, ${bytea(this.#puts.join(""))})`,
            ] as const,
            ["DELETE FROM puts", `WHERE at < ${this.#now - UNDER_WAY_MS}`] as const,
          ]
        : []),
    ];
  }
}
