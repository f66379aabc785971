import { Numbers } from "./column.js";

/** So many rows make a page. */
export const PAGE_ROWS = 256;
/** Lines reach back at most so many rows, or eight for each open lane where that is more. */
const REACH = 1_000;
const COLOURS = 8;
const ENDLESS = Number.POSITIVE_INFINITY;

/** A row to be placed. */
export type LaneRow = {
  /** The row whose line it goes on, or leaves; none at a root. */
  readonly from?: number | undefined;
  /** The rows whose lines come together with its own. */
  readonly joins?: readonly number[];
  /** The number of its branch. */
  readonly branch: number;
  /** It leaves the line that it comes from. */
  readonly fork?: boolean;
  /** It hangs from others, whose lines go on. */
  readonly beside?: boolean;
};

/** A line in one column, from a row to a row, both included; one that goes beyond its page says the row beyond. */
export type LanePiece = readonly [
  lane: number,
  column: number,
  from: number,
  to: number,
  branch: number,
  colour: number,
];
/** A line from the column `from` at `row` to the column `to` at the next row. */
export type Bend = readonly [row: number, from: number, to: number, lane: number];
/** A line too long to be drawn: both of its rows are labelled instead. */
export type Port = readonly [from: number, to: number];

export type LanePage = {
  readonly first: number;
  /** The lane and the column of each row. */
  readonly places: readonly (readonly [lane: number, column: number])[];
  readonly lanes: readonly LanePiece[];
  readonly bends: readonly Bend[];
  readonly ports: readonly Port[];
  /** Nothing that is appended changes this page. */
  readonly sealed: boolean;
};

type Lane = {
  readonly column: number;
  readonly branch: number;
  readonly colour: number;
  readonly parent: Lane | undefined;
  readonly number: number;
  readonly from: number;
  /** Its newest own row; none on a line that only leads to a merge. */
  last: number;
  /** Where its line ends as far as it is drawn. */
  to: number;
  isOpen: boolean;
  /** Open requests on it, and open lanes that left it. */
  holds: number;
  listed: number;
};

/** An index as it is kept in a file: its lanes are in several lists, and are the same ones there. */
export type SavedLanes = {
  readonly rows: Int32Array | Float64Array;
  readonly lanes: readonly Lane[];
  readonly columns: readonly [busyUntil: readonly number[], occupants: readonly (Lane | undefined)[]];
  readonly quiet: ReadonlyMap<Lane, number>;
  readonly held: ReadonlySet<Lane>;
  readonly pages: readonly [pieces: readonly Lane[][], bends: readonly Bend[][], ports: readonly Port[][]];
  readonly colours: readonly number[];
  readonly last: { readonly reach: number; readonly newest: Lane | undefined };
};

/**
 * The lanes of a graph whose rows come one after the other. A row that was placed never moves, and no line is drawn over
 * another. Appending takes as many steps as there are columns, a page as many as lines touch it.
 */
export class LaneIndex {
  /** How many columns, lanes and rows were looked at: the cost, whatever the machine. */
  steps = 0;
  readonly #laneOf = new Numbers();
  readonly #lanes: Lane[] = [];
  /** Of each column, the row from which on a line that leaves it there may use it, and the lane that was on it last. */
  readonly #busyUntil: number[] = [];
  readonly #occupants: (Lane | undefined)[] = [];
  /** Open lanes with the row at which each was looked at last, longest ago first. */
  readonly #quiet = new Map<Lane, number>();
  readonly #held = new Set<Lane>();
  readonly #pieces: Lane[][] = [];
  readonly #bends: Bend[][] = [];
  readonly #ports: Port[][] = [];
  readonly #colours = Array.from({ length: COLOURS }, (_, colour) => colour);
  #newest: Lane | undefined;
  #reach = REACH;

  /** Everything for a file, and back. */
  saved(): SavedLanes {
    return {
      rows: this.#laneOf.saved(),
      lanes: this.#lanes,
      columns: [this.#busyUntil, this.#occupants],
      quiet: this.#quiet,
      held: this.#held,
      pages: [this.#pieces, this.#bends, this.#ports],
      colours: this.#colours,
      last: { reach: this.#reach, newest: this.#newest },
    };
  }

  load({ rows, lanes, columns, quiet, held, pages, colours, last }: SavedLanes): void {
    this.#laneOf.load(rows);
    for (const lane of lanes) this.#lanes.push(lane);
    this.#busyUntil.push(...columns[0]);
    this.#occupants.push(...columns[1]);
    for (const [lane, since] of quiet) this.#quiet.set(lane, since);
    for (const lane of held) this.#held.add(lane);
    for (const [page, list] of pages[0].entries()) this.#pieces[page] = list;
    for (const [page, list] of pages[1].entries()) this.#bends[page] = list;
    for (const [page, list] of pages[2].entries()) this.#ports[page] = list;
    this.#colours.splice(0, COLOURS, ...colours);
    this.#reach = last.reach;
    this.#newest = last.newest;
  }

  get rows(): number {
    return this.#laneOf.length;
  }

  get columns(): number {
    return this.#busyUntil.length;
  }

  /** Rows before this one do not change, nor do lines and ports between them. */
  get sealedBefore(): number {
    return Math.max(0, this.rows - this.#reach - 2);
  }

  /** Whether a row is the newest of a line that goes on. */
  isTip(row: number): boolean {
    const lane = this.#laneAt(row);
    return lane.isOpen && lane.last === row;
  }

  /** The branch that the line of a row began with. */
  branchAt(row: number): number {
    return this.#laneAt(row).branch;
  }

  append({ from, joins = [], branch, fork = false, beside = false }: LaneRow): void {
    const row = this.rows;
    this.#park(row);
    if (row % PAGE_ROWS === 0) for (const lane of this.#held) this.#list(lane, row);
    const goesOn = from !== undefined && !fork && this.isTip(from);
    const lane = goesOn ? this.#laneAt(from) : this.#leave(from, row, branch);
    this.#laneOf.push(lane.number);
    lane.last = row;
    this.#draw(lane, row);
    this.#touch(lane, row);
    for (const other of joins) if (other !== from) this.#join(other, row, lane, beside);
    const wanted = Math.max(REACH, 8 * this.#quiet.size);
    this.#reach = Math.min(wanted, this.#reach + 1);
  }

  /** The line of a row waits for something: it runs on until it is released as often. */
  hold(row: number): void {
    const lane = this.#laneAt(row);
    if (lane.isOpen) this.#hold(lane, this.rows - 1);
  }

  release(row: number): void {
    this.#release(this.#laneAt(row), this.rows - 1);
  }

  /** The line of a row is over. */
  end(row: number): void {
    const lane = this.#laneAt(row);
    if (this.#held.has(lane)) this.#draw(lane, this.rows - 1);
    this.#close(lane, lane.to, this.rows - 1);
  }

  page(number: number): LanePage {
    const first = number * PAGE_ROWS;
    const end = Math.min(first + PAGE_ROWS, this.rows);
    const places = Array.from({ length: Math.max(0, end - first) }, (_, place) => {
      const lane = this.#laneAt(first + place);
      return [lane.number, lane.column] as const;
    });
    const lanes = (this.#pieces[number] ?? []).map((lane): LanePiece => {
      const to = this.#held.has(lane) ? this.rows - 1 : lane.to;
      return [
        lane.number,
        lane.column,
        Math.max(lane.from, first - 1),
        Math.min(to, first + PAGE_ROWS),
        lane.branch,
        lane.colour,
      ];
    });
    const before = (this.#bends[number - 1] ?? []).filter(([row]) => row === first - 1);
    return {
      first,
      places,
      lanes: lanes.sort(([one], [other]) => one - other),
      bends: [...before, ...(this.#bends[number] ?? [])].sort(inOrder),
      ports: this.#ports[number] ?? [],
      sealed: first + PAGE_ROWS <= this.sealedBefore,
    };
  }

  /** A new lane, whose line leaves its source at once: the whole way down to its first row is its own. */
  #leave(source: number | undefined, row: number, branch: number): Lane {
    const isFar = source !== undefined && row - source > this.#reach;
    if (isFar) listAt(this.#ports, row).push([source, row]);
    const near = isFar ? undefined : source;
    const from = near ?? row - 1;
    const before = near === undefined ? undefined : this.#laneAt(near);
    const lane = this.#take(from, near === undefined ? row : near + 1, branch, before);
    if (before?.isOpen === true) this.#hold(before, row);
    if (near !== undefined) this.#bend(near, before as Lane, lane, lane);
    this.#touch(lane, row);
    return lane;
  }

  /** Brings the line of another parent to a row. */
  #join(parent: number, row: number, lane: Lane, beside: boolean): void {
    const source = this.#laneAt(parent);
    if (this.isTip(parent) && source !== lane && !beside) {
      this.#draw(source, row - 1);
      this.#bend(row - 1, source, lane, source);
      this.#close(source, row);
    } else if (row - parent === 1) this.#bend(parent, source, lane, source);
    else if (row - parent > this.#reach) listAt(this.#ports, row).push([parent, row]);
    else {
      const link = this.#take(parent, parent + 1, source.branch, source);
      link.isOpen = false;
      this.#draw(link, row - 1);
      this.#bend(parent, source, link, link);
      this.#bend(row - 1, link, lane, link);
      this.#busyUntil[link.column] = row;
    }
  }

  /** The lowest column that nothing is on from a row on. */
  #take(from: number, top: number, branch: number, parent: Lane | undefined): Lane {
    let column = 0;
    while ((this.#busyUntil[column] ?? Number.NEGATIVE_INFINITY) > from) column += 1;
    this.steps += column + 1;
    const lane: Lane = {
      column,
      branch,
      colour: this.#colour(column, parent),
      parent: parent?.isOpen === true ? parent : undefined,
      number: this.#lanes.length,
      from: top,
      last: -1,
      to: top,
      isOpen: true,
      holds: 0,
      listed: -1,
    };
    this.#lanes.push(lane);
    this.#busyUntil[column] = ENDLESS;
    this.#occupants[column] = lane;
    this.#list(lane, top);
    return lane;
  }

  /** The colour that was given longest ago and that neither the neighbours nor the parent have. */
  #colour(column: number, parent: Lane | undefined): number {
    const near = [this.#occupants[column - 1], this.#occupants[column + 1], parent];
    const taken = new Set(near.map((lane) => lane?.colour));
    const colour = this.#colours.find((one) => !taken.has(one)) as number;
    this.#colours.splice(this.#colours.indexOf(colour), 1);
    this.#colours.push(colour);
    return colour;
  }

  /** Lines that were quiet for long give their columns back from where they end; those that are held go on. */
  #park(row: number): void {
    for (const [lane, since] of this.#quiet) {
      if (since >= row - this.#reach) break;
      this.steps += 1;
      if (this.#held.has(lane)) this.#touch(lane, row);
      else this.#close(lane, lane.to, row);
    }
  }

  /** `until` is the row from which on its column is free, `row` the newest one. */
  #close(lane: Lane, until: number, row = until): void {
    if (!lane.isOpen) return;
    this.#held.delete(lane);
    lane.isOpen = false;
    this.#quiet.delete(lane);
    this.#busyUntil[lane.column] = until;
    if (lane.parent !== undefined) this.#release(lane.parent, row);
  }

  /** Its line runs on to the newest row until it is released. */
  #hold(lane: Lane, row: number): void {
    lane.holds += 1;
    this.#held.add(lane);
    this.#list(lane, row);
  }

  /** A line that nothing holds now has run on to here. */
  #release(lane: Lane, row: number): void {
    lane.holds -= 1;
    if (lane.holds > 0 || !this.#held.delete(lane)) return;
    this.#draw(lane, row);
    this.#touch(lane, row);
  }

  #touch(lane: Lane, row: number): void {
    // The newest stands last already.
    if (lane !== this.#newest) this.#quiet.delete(lane);
    this.#quiet.set(lane, row);
    this.#newest = lane;
  }

  #draw(lane: Lane, to: number): void {
    if (to <= lane.to) return;
    lane.to = to;
    this.#list(lane, to);
  }

  /** Enters a line on the pages that it has come to. */
  #list(lane: Lane, to: number): void {
    const last = Math.floor(to / PAGE_ROWS);
    const from = lane.listed === -1 ? Math.floor(lane.from / PAGE_ROWS) : lane.listed + 1;
    for (let page = from; page <= last; page++) listAt(this.#pieces, page * PAGE_ROWS).push(lane);
    lane.listed = Math.max(lane.listed, last);
    this.steps += 1;
  }

  #bend(row: number, from: Lane, to: Lane, lane: Lane): void {
    listAt(this.#bends, row).push([row, from.column, to.column, lane.number]);
  }

  #laneAt(row: number): Lane {
    return this.#lanes[this.#laneOf.at(row)] as Lane;
  }
}

/** The list of the page that a row is on. */
function listAt<Item>(pages: Item[][], row: number): Item[] {
  const page = Math.floor(row / PAGE_ROWS);
  pages[page] ??= [];
  return pages[page];
}

function inOrder(one: Bend, other: Bend): number {
  return one[0] - other[0] || one[3] - other[3];
}
