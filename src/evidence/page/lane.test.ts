import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { campaign } from "../../session/testing/campaign.js";
import { LaneIndex, type LanePage, type LaneRow, PAGE_ROWS } from "./lane.js";

/** A row, and what happens to lines when it is there. */
type Row = LaneRow & {
  readonly ends?: boolean;
  readonly asks?: boolean;
  readonly answers?: number | undefined;
};

type Step = { readonly kind: number; readonly pick: number; readonly more: readonly number[] };

/** A random history: rows that go on, fork, merge, end, ask, answer, and what-ifs that leave old rows. */
function historyOf(steps: readonly Step[]): readonly Row[] {
  const rows: Row[] = [{ branch: 0 }];
  let tips = [0];
  let open: number[] = [];
  for (const { kind, pick, more } of steps) {
    const row = rows.length;
    const tip = tips[pick % tips.length] ?? row - 1;
    const without = (...gone: readonly number[]): number[] => tips.filter((one) => !gone.includes(one));
    if (kind < 50) {
      const asks = kind < 8;
      const answered = kind > 40 ? open.at(pick % Math.max(1, open.length)) : undefined;
      open = open.filter((one) => one !== answered);
      if (asks) open.push(row);
      rows.push({ from: tip, branch: 0, asks, answers: answered });
      tips = [...without(tip), row];
    } else if (kind < 65) {
      rows.push({ from: tip, branch: row, fork: true });
      tips.push(row);
    } else if (kind < 80) {
      const others = more.map((one) => tips[one % tips.length] as number).filter((one) => one !== tip);
      rows.push({ from: tip, joins: [...new Set(others)], branch: 0 });
      tips = [...without(tip, ...others), row];
    } else if (kind < 88) {
      // A what-if from any old row, or a merge of one.
      const old = pick % row;
      rows.push(kind < 84 ? { from: old, branch: row, fork: true } : { from: tip, joins: [old], branch: 0 });
      tips = kind < 84 ? [...tips, row] : [...without(tip), row];
    } else if (kind < 94) {
      rows.push({ from: tip, branch: 0, ends: true });
      tips = [...without(tip), row];
    } else if (kind < 96) {
      rows.push({ branch: row });
      tips.push(row);
    } else tips = tips.length > 1 ? without(tip) : tips;
    if (tips.length > 12) tips = tips.slice(-12);
  }
  return rows;
}

/** A generator of random numbers with a seed. */
function randomOf(seed: number): () => number {
  let state = seed + 1;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % 65_536;
  };
}

function randomHistory(seed: number, length: number): readonly Row[] {
  const random = randomOf(seed);
  const steps = Array.from({ length }, () => ({
    kind: random() % 100,
    pick: random(),
    more: [random(), random()],
  }));
  return historyOf(steps);
}

function put(index: LaneIndex, row: Row): void {
  index.append(row);
  if (row.answers !== undefined) index.release(row.answers);
  if (row.asks === true) index.hold(index.rows - 1);
  if (row.ends === true) index.end(index.rows - 1);
}

function indexOf(rows: readonly Row[]): LaneIndex {
  const index = new LaneIndex();
  for (const row of rows) put(index, row);
  return index;
}

function pagesOf(index: LaneIndex): readonly LanePage[] {
  return Array.from({ length: Math.ceil(index.rows / PAGE_ROWS) }, (_, number) => index.page(number));
}

/** Every cell and every gap between two rows that something is drawn in, by brute force, page by page. */
function overlaps(index: LaneIndex): readonly string[] {
  const faults: string[] = [];
  const cells = new Map<string, number>();
  const gaps = new Map<string, number>();
  const put = (map: Map<string, number>, key: string, lane: number): void => {
    const before = map.get(key);
    if (before !== undefined && before !== lane) faults.push(`${key}: ${before} and ${lane}`);
    map.set(key, lane);
  };
  const columns: number[] = [];
  for (const { first, places } of pagesOf(index))
    for (const [place, [lane, column]] of places.entries()) {
      columns[first + place] = column;
      put(cells, `${first + place}|${column}`, lane);
    }
  for (const { first, lanes, bends } of pagesOf(index)) {
    const end = Math.min(first + PAGE_ROWS, index.rows);
    for (const [lane, column, from, to] of lanes) {
      for (let row = Math.max(from, first); row <= Math.min(to, end - 1); row++)
        put(cells, `${row}|${column}`, lane);
      for (let row = from; row < to; row++) put(gaps, `${row}|${column}`, lane);
    }
    for (const [row, from, to, lane] of bends) {
      if (columns[row] !== from && columns[row + 1] !== to)
        faults.push(`the bend after row ${row} is at no dot`);
      if (from === to) put(gaps, `${row}|${from}`, lane);
    }
  }
  return faults;
}

const step = fc.record({
  kind: fc.nat(99),
  pick: fc.nat(1_000_000),
  more: fc.array(fc.nat(1_000_000), { maxLength: 3 }),
});

describe("lanes", () => {
  it("[L1] no line is drawn over another, by every cell and gap", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        expect(overlaps(indexOf(historyOf(steps)))).toEqual([]);
      }),
      { numRuns: campaign(300) },
    );
    for (const seed of [1, 2, 3, 4]) expect(overlaps(indexOf(randomHistory(seed, 6_000)))).toEqual([]);
  });

  it("[L2] wherever the history is cut, no row has moved afterwards and no sealed page has changed", () => {
    for (const seed of [5, 6, 7, 8, 9, 10]) {
      const rows = randomHistory(seed, 6_000);
      const random = randomOf(seed);
      const cuts = new Set(Array.from({ length: 12 }, () => random() % rows.length));
      const index = new LaneIndex();
      const sealed = new Map<number, string>();
      const placed: string[] = [];
      for (const [place, row] of rows.entries()) {
        put(index, row);
        if (!cuts.has(place) && place !== rows.length - 1) continue;
        for (const [number, page] of pagesOf(index).entries()) {
          const before = placed[number] ?? "";
          placed[number] = JSON.stringify(page.places).slice(0, -1);
          expect(placed[number].startsWith(before)).toBe(true);
          const text = JSON.stringify(page);
          if (sealed.has(number)) expect(text).toBe(sealed.get(number));
          else if (page.sealed) sealed.set(number, text);
        }
      }
      expect(sealed.size).toBeGreaterThan(8);
    }
  });

  it("[L8] an index that was saved and loaded goes on as the one that was not", () => {
    for (const cut of [0, 1, 1_500, 2_900]) {
      const rows = randomHistory(cut, 3_000);
      const index = indexOf(rows.slice(0, cut));
      const loaded = new LaneIndex();
      loaded.load(structuredClone(index.saved()));
      for (const row of rows.slice(cut)) for (const one of [index, loaded]) put(one, row);
      expect(pagesOf(loaded)).toEqual(pagesOf(index));
    }
  });

  it("[L3] the pages together are the whole: each row once, and lines that meet at the edges", () => {
    const index = indexOf(randomHistory(11, 5_000));
    const pages = pagesOf(index);
    expect(pages.flatMap(({ places }) => places)).toHaveLength(index.rows);
    const whole = new Map<number, Set<number>>();
    for (const { lanes } of pages)
      for (const [lane, , from, to] of lanes)
        for (let row = from; row <= to; row++) whole.set(lane, (whole.get(lane) ?? new Set()).add(row));
    for (const rows of whole.values()) expect(rows.size).toBe(Math.max(...rows) - Math.min(...rows) + 1);
    for (const { first, lanes } of pages.slice(1)) {
      const above = pages[first / PAGE_ROWS - 1] as LanePage;
      const leaving = above.lanes.filter(([, , , to]) => to === first).map(([lane]) => lane);
      const coming = lanes.filter(([, , from]) => from <= first).map(([lane]) => lane);
      expect(leaving.every((lane) => coming.includes(lane))).toBe(true);
    }
  });

  it("[L4] a fork has its lane from the row that it leaves, and goes on as rule 1 says", () => {
    // The first fork ends before the second one's first row, which left earlier.
    const index = indexOf([
      { branch: 0 },
      { from: 0, branch: 1, fork: true },
      { from: 0, branch: 0 },
      { from: 2, joins: [1], branch: 0 },
      { from: 0, branch: 2, fork: true },
      { from: 3, branch: 0, ends: true },
      { from: 5, branch: 0 },
    ]);
    const { places, bends } = index.page(0);
    expect(places.map(([, column]) => column)).toEqual([0, 1, 0, 0, 2, 0, 0]);
    expect(bends).toContainEqual([2, 1, 0, 1]);
    expect(bends).toContainEqual([0, 0, 2, 2]);
  });

  it("[L5] a line that would reach back too far is a port, and a lane that waits is held", () => {
    const rows = (side: Partial<Row>): readonly Row[] => [
      { branch: 0 },
      { from: 0, branch: 1, fork: true, ...side },
      { from: 0, branch: 0 },
      ...Array.from({ length: 1_500 }, (_, place): Row => ({ from: place + 2, branch: 0 })),
    ];
    const lanesOn = (index: LaneIndex) => index.page(3).lanes.map(([lane, , from, to]) => [lane, from, to]);
    const far = indexOf([...rows({}), { from: 0, branch: 2, fork: true }]);
    expect(far.page(Math.floor(1_503 / PAGE_ROWS)).ports).toEqual([[0, 1_503]]);
    expect(lanesOn(far)).toEqual([[0, 767, 1_024]]);
    const waiting = indexOf(rows({ asks: true }));
    const both = [
      [0, 767, 1_024],
      [1, 767, 1_024],
    ];
    expect(lanesOn(waiting)).toEqual(both);
    waiting.append({ from: 1_502, joins: [1], branch: 0 });
    expect(lanesOn(waiting)).toEqual(both);
    expect(waiting.page(5).lanes.map(([lane, , , to]) => [lane, to])).toEqual([
      [0, 1_503],
      [1, 1_502],
    ]);
  });

  it("[L6] a hundred thousand rows take steps in proportion to their number, and few columns", () => {
    const [half, all] = [randomHistory(12, 50_000), randomHistory(12, 100_000)].map(indexOf) as [
      LaneIndex,
      LaneIndex,
    ];
    expect(all.steps / all.rows).toBeLessThan(1.5 * (half.steps / half.rows));
    expect(all.steps).toBeLessThan(30 * all.rows);
    expect(all.columns).toBeLessThan(120);
  });

  it("[L7] a lane has another colour than its neighbours and its parent", () => {
    const forks = Array.from({ length: 40 }, (_, place): Row => {
      return { from: place % 7 === 0 ? place : 0, branch: place + 1, fork: true };
    });
    const { lanes, bends } = indexOf([{ branch: 0 }, ...forks]).page(0);
    const colours = new Map(lanes.map(([, column, , , , colour]) => [column, colour]));
    for (const [column, colour] of colours) expect(colours.get(column + 1)).not.toBe(colour);
    for (const [, from, to] of bends) expect(colours.get(from)).not.toBe(colours.get(to));
  });
});
