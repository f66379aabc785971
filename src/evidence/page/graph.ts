import { type Status, statusIn } from "../../runtime/index.js";
import { adoptedSide, type Fact, type FactId, factTypes, isQuiet, toneOf } from "../../session/index.js";
import { type BranchDraft, Branches } from "../dossier/branches.js";
import { Numbers } from "./column.js";
import { FactTable } from "./fact-table.js";
import { LEVELS, Level, type LevelName } from "./level.js";

export const REQUESTS: ReadonlySet<string> = factTypes(
  "model-call tool-call step-call signal-await timer-set approval-ask",
);
export const OUTCOMES: ReadonlySet<string> = factTypes(
  "tool-result tool-failure model-reply model-failure step-result step-failure timer-fire wait-cancel",
  "approval-give signal-give",
);

/** The places of facts that people look for. */
export type Marks = { readonly [mark in "failed" | "waiting" | "people" | "fork"]: Numbers };

type Hours = {
  readonly from: number | null;
  readonly to: number | null;
  readonly idle: readonly (readonly [from: number, to: number])[];
};
/** Nothing happened for so many milliseconds: a pause. So many are kept. */
const IDLE = 30_000;
const PAUSES = 100;

/** The longest pauses, in the order of time. */
export function longestOf(idle: Hours["idle"]): Hours["idle"] {
  const longest = [...idle].sort(([a, b], [c, d]) => d - c - (b - a)).slice(0, PAUSES);
  return longest.sort(([one], [other]) => one - other);
}

const WAITS: ReadonlySet<string> = factTypes("approval-ask signal-await run-suspend");
const PEOPLE: ReadonlySet<string> = factTypes("message-say approval-give signal-give effect-settle");

/**
 * The graph of a session and of the branches that hang from it, as an index that only grows: an appended fact takes as many steps as
 * there are lanes. A fact takes some 100 bytes.
 */
export class Graph {
  readonly table: FactTable;
  /** Facts are named by their places in it. */
  readonly branches = new Branches();
  readonly levels = Object.fromEntries(LEVELS.map((name) => [name, new Level(name)])) as {
    readonly [name in LevelName]: Level;
  };
  readonly #levels = Object.values(this.levels);
  readonly marks: Marks = {
    failed: new Numbers(),
    waiting: new Numbers(),
    people: new Numbers(),
    fork: new Numbers(),
  };
  /** The replies of models: place, tokens, cost in dollars (NaN where it has no price), and milliseconds. */
  readonly replies = [new Numbers(), new Numbers(), new Numbers("numbers"), new Numbers()] as const;
  /** Calls, waits, commands and modules: where each began, where it ended (-1 until then), and how many attempts were repeated. */
  readonly spans = [new Numbers(), new Numbers(), new Numbers()] as const;
  /** From when to when something happened, and the longest pauses between. */
  hours: Hours = { from: null, to: null, idle: [] };
  /** Requests that nothing has answered, by place, with their runs. */
  readonly open = new Map<number, string | undefined>();
  /** Requests of which nobody knows how they ended. */
  readonly doubts = new Set<number>();
  readonly #branch = new Numbers();
  /** The fact whose line each goes on: of a merge the end of the adopted side, of a gathering the trunk's. */
  readonly #before = new Numbers();
  /** The `module-enter` that a fact is in, or -1. */
  readonly #module = new Numbers();
  readonly #ends = new Map<number, Status>();

  constructor(table: FactTable) {
    this.table = table;
  }

  /** Everything for a file, and back. */
  saved() {
    return {
      table: this.table.saved(),
      branches: this.branches.saved(),
      levels: this.#levels.map((level) => level.saved()),
      columns: this.#columns().map((one) => one.saved()),
      open: this.open,
      doubts: this.doubts,
      ends: this.#ends,
      hours: this.hours,
    };
  }

  static load({ table, branches, levels, columns, ...rest }: ReturnType<Graph["saved"]>): Graph {
    const { open, doubts, ends, hours } = rest;
    const graph = new Graph(FactTable.load(table));
    graph.branches.load(branches);
    for (const [place, level] of graph.#levels.entries())
      level.load(levels[place] as (typeof levels)[number]);
    for (const [place, one] of graph.#columns().entries()) one.load(columns[place] as Int32Array);
    for (const [request, run] of open) graph.open.set(request, run);
    for (const doubt of doubts) graph.doubts.add(doubt);
    for (const [place, status] of ends) graph.#ends.set(place, status);
    graph.hours = hours;
    return graph;
  }

  #columns(): readonly Numbers[] {
    const { marks, replies, spans } = this;
    return [...Object.values(marks), ...replies, ...spans, this.#branch, this.#module, this.#before];
  }

  /** How many facts have a row. */
  get length(): number {
    return this.#branch.length;
  }

  /** Gives rows to facts of the table that have none, to so many at most; false when none is left. */
  grow(most = Number.POSITIVE_INFINITY): boolean {
    const end = Math.min(this.table.length, this.length + most);
    while (this.length < end) this.#place(this.length);
    return this.length < this.table.length;
  }

  has(id: FactId): boolean {
    return this.table.ids.placeOf(id) !== -1;
  }

  branchAt(place: number): BranchDraft {
    return this.branches.all[this.#branch.at(place)] as BranchDraft;
  }

  /** The fact before another one on its line, or -1. */
  beforeAt(place: number): number {
    return this.#before.at(place);
  }

  moduleAt(place: number): number {
    return this.#module.at(place);
  }

  /** How the line came out that a fact is the end of. */
  stateAt(place: number): Status | "in-doubt" {
    const type = this.table.typeAt(place);
    if (type === "head-sign" || type === "content-erase") {
      const [before] = this.table.parentsAt(place);
      if (before !== undefined) return this.stateAt(before);
    }
    const ended = this.#ends.get(place);
    if (ended !== undefined) return ended;
    const branch = this.branchAt(place);
    for (const doubt of this.doubts) if (this.branchAt(doubt) === branch) return "in-doubt";
    return type === "run-suspend" ? "waiting" : "open";
  }

  #place(place: number): void {
    const { table } = this;
    const fact = table.take(place);
    const { type } = fact;
    const parents = table.parentsAt(place);
    const of = table.ofAt(place);
    const sides = parents.map((parent) => this.branchAt(parent));
    if (type === "run-start") this.branches.sawRun(fact as Fact & { readonly type: "run-start" });
    const isGathering = type === "branch-merge" && (fact as { readonly adopt?: unknown }).adopt === "none";
    const adopted = parents[adoptedSide(fact, parents.length)] ?? parents[0] ?? -1;
    const before = this.branches.all.length;
    const tips = isGathering ? new Map(this.branches.all.map((one) => [one, one.tip])) : undefined;
    // Names of facts would be made for each of a million: their places do.
    const id = String(place);
    const branch = this.branches.placeOn(sides, { id, fact }, table.isElsewhere(place));
    if (type === "validation-report")
      this.branches.see({ id, fact, branch, parents: [], line: "", elsewhere: false });
    const tip = tips?.get(branch);
    const first = tip === undefined ? adopted : Number(tip);
    this.#branch.push(branch.index);
    this.#before.push(first);
    this.#module.push(this.#moduleOf(place, type, adopted, of));
    this.#mark(place, fact, this.branches.all.length > before && place > 0);
    this.#span(place, type, of);
    const about = of !== -1 && REQUESTS.has(table.typeAt(of)) ? of : -1;
    const placed = { place, type, parents, first, of: about, branch: branch.index, isQuiet: isQuiet(fact) };
    for (const level of this.#levels) level.add(placed, table);
    this.#settle(place, fact, of);
  }

  #moduleOf(place: number, type: string, parent: number, of: number): number {
    if (type === "module-enter") return place;
    if (type === "module-exit") return of;
    return parent === -1 ? -1 : this.#around(parent);
  }

  /** The module that goes on after a fact. */
  #around(place: number): number {
    const module = this.#module.at(place);
    if (this.table.typeAt(place) !== "module-exit" || module === -1) return module;
    const [before] = this.table.parentsAt(module);
    return before === undefined ? -1 : this.#around(before);
  }

  /** The module around a module, or -1. */
  outerOf(module: number): number {
    const [before] = this.table.parentsAt(module);
    return before === undefined ? -1 : this.#around(before);
  }

  #span(place: number, type: string, of: number): void {
    const [begins, ends, tries] = this.spans;
    if (REQUESTS.has(type) || type === "module-enter" || type === "command-run") {
      begins.push(place);
      ends.push(type === "command-run" ? place : -1);
      tries.push(0);
    } else if (OUTCOMES.has(type) || type === "module-exit" || type === "effect-fail") {
      const span = begins.find(of);
      if (span === -1) return;
      if (type === "effect-fail") tries.set(span, tries.at(span) + 1);
      else if (ends.at(span) === -1) ends.set(span, place);
    }
  }

  #time(at: number): void {
    if (Number.isNaN(at)) return;
    const { from, to, idle } = this.hours;
    if (from !== null && to !== null && at >= from && at <= to) return;
    const pauses = to !== null && at - to > IDLE ? [...idle, [to, at] as const] : idle;
    const kept = pauses.length > 2 * PAUSES ? longestOf(pauses) : pauses;
    this.hours = { from: Math.min(from ?? at, at), to: Math.max(to ?? at, at), idle: kept };
  }

  #mark(place: number, fact: Fact, forks: boolean): void {
    const { failed, waiting, people, fork } = this.marks;
    this.#time(this.table.timeAt(place));
    if (toneOf(fact) === "bad") failed.push(place);
    if (WAITS.has(fact.type)) waiting.push(place);
    if (PEOPLE.has(fact.type)) people.push(place);
    if (forks) fork.push(place);
    if (fact.type === "model-reply") {
      const { usage, cost, milliseconds } = fact;
      const [places, tokens, costs, times] = this.replies;
      places.push(place);
      tokens.push(usage.input + usage.output);
      costs.push(cost ?? Number.NaN);
      times.push(milliseconds ?? 0);
    }
  }

  /** Lines that wait are held until what they wait for is there, or the run is over. */
  #settle(place: number, fact: Fact, of: number): void {
    const { type } = fact;
    if (REQUESTS.has(type)) {
      this.open.set(place, this.table.runAt(place));
      for (const level of this.#levels) level.lanes.hold(level.rowOf(place));
    } else if (OUTCOMES.has(type)) this.#answered(of);
    else if (type === "effect-doubt") this.doubts.add(of);
    else if (type === "effect-settle") this.doubts.delete(of);
    else if (type === "run-end") {
      this.#ends.set(place, statusIn(fact));
      const run = this.table.runAt(place);
      for (const [request, its] of [...this.open]) if (its === run) this.#answered(request);
      for (const level of this.#levels) level.lanes.end(level.rowOf(place));
    }
  }

  #answered(request: number): void {
    this.doubts.delete(request);
    if (!this.open.delete(request)) return;
    for (const level of this.#levels) level.lanes.release(level.rowOf(request));
  }
}
