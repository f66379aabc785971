import { factTypes } from "../../session/index.js";
import { Numbers } from "./column.js";
import { LaneIndex, type SavedLanes } from "./lane.js";

export const LEVELS = ["run", "turn", "step", "fact"] as const;
/** How much a row of the graph holds. */
export type LevelName = (typeof LEVELS)[number];

const BEGINS: { readonly [level in LevelName]: ReadonlySet<string> | undefined } = {
  run: factTypes("session-start session-detach run-start branch-fork branch-merge"),
  turn: factTypes("session-start session-detach message-say branch-fork branch-merge record-import"),
  step: undefined,
  fact: undefined,
};

/** A fact with its place, as levels are told of it. */
export type Placed = {
  readonly place: number;
  readonly type: string;
  readonly parents: readonly number[];
  /** The fact whose line it goes on, and the fact that it is about; -1 for none. */
  readonly first: number;
  readonly of: number;
  readonly branch: number;
  readonly isQuiet: boolean;
};

/** Facts that hang from others and that nothing goes on from, as a rule: answers of people, and where a run waited. */
const BESIDE: ReadonlySet<string> = factTypes(
  "approval-give signal-give effect-settle run-cancel run-suspend",
);

type SavedLevel = {
  readonly lanes: SavedLanes;
  readonly columns: readonly (Int32Array | Float64Array)[];
};

/** The rows of a graph at one level: facts, or groups of facts that follow each other on a line. */
export class Level {
  readonly lanes = new LaneIndex();
  readonly #name: LevelName;
  /** The row on whose line each fact stands. At the level of facts it is the fact. */
  readonly #rowOf = new Numbers();
  readonly #first = new Numbers();
  readonly #last = new Numbers();
  readonly #count = new Numbers();
  /** The newest fact on the line of each row. */
  readonly #tip = new Numbers();

  constructor(name: LevelName) {
    this.#name = name;
  }

  /** Everything for a file, and back. */
  saved(): SavedLevel {
    return { lanes: this.lanes.saved(), columns: this.#columns().map((one) => one.saved()) };
  }

  load({ lanes, columns }: SavedLevel): void {
    this.lanes.load(lanes);
    for (const [place, one] of this.#columns().entries()) one.load(columns[place] ?? new Int32Array());
  }

  #columns(): readonly Numbers[] {
    return [this.#rowOf, this.#first, this.#last, this.#count, this.#tip];
  }

  get rows(): number {
    return this.lanes.rows;
  }

  rowOf(place: number): number {
    return this.#name === "fact" ? place : this.#rowOf.at(place);
  }

  /** The first and the newest fact of a row, and how many they are. */
  row(row: number): { readonly first: number; readonly last: number; readonly facts: number } {
    if (this.#name === "fact") return { first: row, last: row, facts: 1 };
    return { first: this.#first.at(row), last: this.#last.at(row), facts: this.#count.at(row) };
  }

  firstOf(row: number): number {
    return this.#name === "fact" ? row : this.#first.at(row);
  }

  /** Puts the next fact on a row. */
  add(fact: Placed, facts: { typeAt(place: number): string }): void {
    const { place, type, parents, first, branch } = fact;
    const before = first === -1 ? undefined : this.rowOf(first);
    let leaves = type === "branch-fork" || BESIDE.has(type);
    if (this.#name !== "fact") {
      const isTip =
        before !== undefined && (this.#tip.at(before) === first || BESIDE.has(facts.typeAt(first)));
      if (before !== undefined && this.#joins(fact, before, isTip)) return;
      leaves ||= !isTip;
      this.#rowOf.push(this.rows);
      for (const column of [this.#first, this.#last, this.#tip]) column.push(place);
      this.#count.push(1);
    }
    leaves ||= before !== undefined && this.lanes.branchAt(before) !== branch;
    const joins = [...new Set(parents.map((parent) => this.rowOf(parent)))];
    this.lanes.append({ from: before, joins, branch, fork: leaves, beside: BESIDE.has(type) });
    if (BESIDE.has(type)) this.lanes.end(this.rows - 1);
  }

  /** Adds a fact to a row, if it belongs there and the row is not sealed. */
  #joins({ place, type, parents, of, branch, isQuiet }: Placed, before: number, isTip: boolean): boolean {
    const isBeside = BESIDE.has(type);
    const sealed = this.lanes.sealedBefore;
    if (before < sealed || this.lanes.branchAt(before) !== branch || !(isTip || isBeside)) return false;
    if (parents.some((parent) => this.rowOf(parent) !== before)) return false;
    const about = of === -1 ? -1 : this.rowOf(of);
    if (this.#name === "step" ? !isQuiet && about < sealed : BEGINS[this.#name]?.has(type) === true)
      return false;
    this.#rowOf.push(before);
    // The outcome of a call belongs to its row, also where others were called meanwhile.
    const row = this.#name === "step" && about >= sealed ? about : before;
    this.#count.set(row, this.#count.at(row) + 1);
    this.#last.set(row, place);
    if (!isBeside) this.#tip.set(before, place);
    return true;
  }
}
