import { type Fact, type FactId, factTypes, parentsOf, readFact, typeOf } from "../../session/index.js";
import type { Line } from "../../store/index.js";
import { Ids, Numbers } from "./column.js";

/** Facts whose content decides how branches, tones or sums go on: only these are parsed when a session is read. */
const PARSED: ReadonlySet<string> = factTypes(
  "run-start run-end branch-fork branch-merge validation-report gate-check approval-give policy-decide",
  "command-run module-exit model-reply",
);

/** Words that come again and again, each held once. */
class Vocabulary {
  readonly #words: string[] = [];
  readonly #codes = new Map<string, number>();

  codeOf(word: string): number {
    let code = this.#codes.get(word);
    if (code === undefined) {
      code = this.#words.push(word) - 1;
      this.#codes.set(word, code);
    }
    return code;
  }

  wordOf(code: number): string {
    return this.#words[code] as string;
  }

  saved(): readonly string[] {
    return this.#words;
  }

  load(words: readonly string[]): void {
    for (const word of words) this.codeOf(word);
  }
}

/**
 * Facts in an order in which parents come before children, each in some 70 bytes. Facts name each other by place; -1 is
 * no place. It reads the beginning of a line, and parses a line only where its content decides something.
 */
export class FactTable {
  readonly ids = new Ids();
  readonly #at = new Numbers("numbers");
  readonly #parent = new Numbers();
  readonly #others = new Map<number, readonly number[]>();
  readonly #of = new Numbers();
  readonly #runs = new Vocabulary();
  readonly #types = new Vocabulary();
  readonly #run = new Numbers();
  /** The code of the type, twice, and one more for facts that are not in the past of the session. */
  readonly #type = new Numbers();
  readonly #parsed = new Map<number, Fact>();
  /** Most facts come from the one before them. */
  #newest: FactId | undefined;

  get length(): number {
    return this.ids.length;
  }

  typeAt(place: number): string {
    return this.#types.wordOf(this.#type.at(place) >> 1);
  }

  isElsewhere(place: number): boolean {
    return this.#type.at(place) % 2 === 1;
  }

  /** When it happened, in milliseconds; NaN where the record says no time. */
  timeAt(place: number): number {
    return this.#at.at(place);
  }

  parentsAt(place: number): readonly number[] {
    const first = this.#parent.at(place);
    return first === -1 ? [] : [first, ...(this.#others.get(place) ?? [])];
  }

  /** Marks the parents of a fact in a list of all facts. */
  markParents(place: number, marks: Uint8Array): void {
    const first = this.#parent.at(place);
    if (first !== -1) marks[first] = 1;
    for (const other of this.#others.get(place) ?? []) marks[other] = 1;
  }

  /** Whether a parent of a fact is marked. */
  hasMarkedParent(place: number, marks: Uint8Array): boolean {
    const first = this.#parent.at(place);
    return (
      (first !== -1 && marks[first] === 1) || (this.#others.get(place) ?? []).some((one) => marks[one] === 1)
    );
  }

  isSameRun(one: number, other: number): boolean {
    return this.#run.at(one) === this.#run.at(other);
  }

  /** The fact that it is about. */
  ofAt(place: number): number {
    return this.#of.at(place);
  }

  runAt(place: number): string | undefined {
    const run = this.#run.at(place);
    return run === -1 ? undefined : this.#runs.wordOf(run);
  }

  /** As much of a fact as was read of it: its whole body where that decides something, once. */
  take(place: number): Fact {
    const parsed = this.#parsed.get(place);
    this.#parsed.delete(place);
    if (parsed !== undefined) return parsed;
    return { type: this.typeAt(place), at: "", by: "runtime", run: this.runAt(place) } as Fact;
  }

  /** Everything for a file, and back. Facts that were parsed and not taken yet are not kept. */
  saved() {
    return {
      ids: this.ids.saved(),
      others: this.#others,
      columns: [this.#at, this.#parent, this.#of, this.#run, this.#type].map((one) => one.saved()),
      words: [this.#runs.saved(), this.#types.saved()],
    };
  }

  static load({ ids, others, columns, words }: ReturnType<FactTable["saved"]>): FactTable {
    const table = new FactTable();
    table.ids.load(ids);
    for (const [place, more] of others) table.#others.set(place, more);
    for (const [place, one] of [table.#at, table.#parent, table.#of, table.#run, table.#type].entries())
      one.load(columns[place] as Int32Array);
    table.#runs.load(words[0] ?? []);
    table.#types.load(words[1] ?? []);
    return table;
  }

  /** Adds a line whose parents are here or in the table before; lines that are known are passed over. */
  read({ id, line }: Line, elsewhere: boolean, before: FactTable = EMPTY): void {
    if (before.ids.placeOf(id) !== -1 || (elsewhere && this.ids.placeOf(id) !== -1)) return;
    const placeOf = (other: FactId): number => {
      if (other === this.#newest) return this.length - 1;
      const place = this.ids.placeOf(other);
      // Places of the table before are told apart by their sign.
      return place === -1 ? -2 - before.ids.placeOf(other) : place;
    };
    const type = typeOf(line);
    const parents = parentsOf(line)
      .map(placeOf)
      .filter((place) => place !== -1);
    const { at, run, of } = headOf(line);
    const place = this.length;
    if (PARSED.has(type)) this.#parsed.set(place, slim(readFact(line, undefined)));
    this.#push(
      id,
      this.#types.codeOf(type) * 2 + (elsewhere ? 1 : 0),
      at,
      run,
      parents,
      of === undefined ? -1 : placeOf(of),
    );
  }

  /** The same facts in the order of time, as far as parents come first. */
  ordered(): FactTable {
    const order = this.#order();
    if (order === undefined) return this;
    const ordered = new FactTable();
    ordered.adopt(this, order);
    return ordered;
  }

  /** Takes over the facts of a table whose lines were read after these. */
  adopt(fresh: FactTable, order = fresh.#order() ?? fresh.#places()): void {
    const base = this.length;
    const placed = new Int32Array(fresh.length);
    for (const [rank, place] of order.entries()) placed[place] = base + rank;
    const here = (place: number): number =>
      place >= 0 ? (placed[place] as number) : place === -1 ? -1 : -2 - place;
    for (const place of order) {
      const parents = fresh.parentsAt(place).map(here);
      const parsed = fresh.#parsed.get(place);
      if (parsed !== undefined) this.#parsed.set(this.length, parsed);
      this.#push(
        fresh.ids.at(place),
        this.#types.codeOf(fresh.typeAt(place)) * 2 + (fresh.isElsewhere(place) ? 1 : 0),
        fresh.timeAt(place),
        fresh.runAt(place),
        parents,
        here(fresh.ofAt(place)),
      );
    }
  }

  #push(
    id: FactId,
    type: number,
    at: number,
    run: string | undefined,
    parents: readonly number[],
    of: number,
  ): void {
    const [first = -1, ...others] = parents;
    if (others.length > 0) this.#others.set(this.length, others);
    this.ids.push(id);
    this.#newest = id;
    this.#type.push(type);
    this.#at.push(at);
    this.#run.push(run === undefined ? -1 : this.#runs.codeOf(run));
    this.#parent.push(first);
    this.#of.push(of);
  }

  #places(): Int32Array {
    return Int32Array.from({ length: this.length }, (_, place) => place);
  }

  /** The places by time, unless they are so already; a fact is never before its parents, whatever its clock said. */
  #order(): Int32Array | undefined {
    const times = new Float64Array(this.length);
    let isOrdered = true;
    for (let place = 0; place < this.length; place++) {
      let time = this.timeAt(place) || 0;
      for (const parent of this.parentsAt(place))
        if (parent >= 0) time = Math.max(time, times[parent] as number);
      times[place] = time;
      isOrdered &&= place === 0 || (times[place - 1] as number) <= time;
    }
    if (isOrdered) return undefined;
    return this.#places().sort(
      (one, other) => (times[one] as number) - (times[other] as number) || one - other,
    );
  }
}

const EMPTY = new FactTable();

/** Facts that are sums and no words: what was said is read again when somebody looks. */
function slim(fact: Fact): Fact {
  return fact.type === "model-reply" ? { ...fact, content: "", meta: null, raw: null } : fact;
}

const NO_TIME = Date.UTC(1970, 0, 1);
const HEAD = /"fact":\{"type":"[^"\\]*","at":"([^"\\]*)"(?:,"run":"([^"\\]*)")?/y;
const OF = '"of":"';

/** Time, run and request of a line, without parsing it where it is as it is always written. */
function headOf(line: string): { readonly at: number; readonly run?: string; readonly of?: FactId } {
  // Content may look like the beginning of a fact, but not before the fact itself.
  const start = line.indexOf("]") + 2;
  HEAD.lastIndex = line.startsWith('"fact":', start) ? start : line.indexOf('"fact":{"type":"', start);
  const head = HEAD.exec(line);
  const about = line.indexOf(OF);
  const isPlain = head !== null && (about === -1 || line.indexOf(OF, about + 1) === -1);
  const { at, run, of } = isPlain
    ? { at: head[1], run: head[2], of: about === -1 ? undefined : line.slice(about + 6, about + 70) }
    : (JSON.parse(line) as { readonly fact: { readonly [field: string]: unknown } }).fact;
  const time = Date.parse(String(at));
  return {
    at: time === NO_TIME ? Number.NaN : time,
    ...(typeof run === "string" && { run }),
    ...(typeof of === "string" && { of }),
  };
}
