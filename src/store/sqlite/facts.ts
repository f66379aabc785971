import { digestOf, type FactId } from "../../session/index.js";
import { NotFoundError } from "../error.js";
import type { FactTable, NewFact } from "../shelf.js";
import { Chains, chainOf, firstOf, isLastPlace, type Place, type Range } from "./chain.js";
import type { Connection } from "./connection.js";
import { Lines } from "./lines.js";

const REMEMBERED_PLACES = 20_000;

/** The facts of a database: where each stands, its line, and which were made from it. */
export class Facts implements FactTable {
  readonly chains: Chains;
  readonly lines: Lines;
  readonly #connection: Connection;
  /** Where facts stand, for those used lately. Facts never move, so only a collection makes this stale. */
  readonly #known = new Map<FactId, Place>();
  #generation = 0;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.chains = new Chains(connection.database);
    this.lines = new Lines(connection.database);
  }

  /** How many collections there were, as far as this process has noticed. */
  get generation(): number {
    return this.#generation;
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
    return this.#connection.transaction(whole, () => {
      this.#known.clear();
      this.lines.forget();
    });
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
    if (place === undefined)
      throw new NotFoundError(`the session ${id}`, "list what is there: await store.names()");
    return place;
  }

  #remember(id: FactId, place: Place): Place {
    if (this.#known.size >= REMEMBERED_PLACES) this.#known.clear();
    this.#known.set(id, place);
    return place;
  }
}
