import { type FactId, parentsOf } from "../session/index.js";
import type { Line, Store } from "../store/index.js";

/** Up to so many facts the whole history is read first: then its order is exact whatever its clocks say. */
const SMALL = 20_000;

/** A line of a history, and where the history is short enough to count, the number of its step. */
export type Told = Line & { readonly step?: number };

/**
 * A history newest first, children before parents. A short one is read whole and turned round. Of a long one the newest
 * facts come at once: it is walked from its end, and a fact that has other children waits until those are told or
 * nobody can reach them.
 */
export async function* newestFirst(
  store: Store,
  head: FactId,
  isStep: (line: string) => boolean,
): AsyncGenerator<Told> {
  const start: Told[] = [];
  let steps = 0;
  for await (const lines of store.lines(head)) {
    for (const line of lines) start.push(isStep(line.line) ? { ...line, step: ++steps } : line);
    if (start.length > SMALL) break;
  }
  if (start.length <= SMALL) for (const line of start.reverse()) yield line;
  else yield* fromTheEnd(store, head);
}

type Lane = { readonly line: Line; readonly at: string; readonly isBlocked: boolean };

async function* fromTheEnd(store: Store, head: FactId): AsyncGenerator<Line> {
  const told = new Set<FactId>();
  /** Facts that are known to lead to nothing in this history: answers that hang from their questions, branches that were left. */
  const outside = new Set<FactId>();
  let lanes: Lane[] = [await laneAt(head, false)];

  async function laneAt(id: FactId, several: boolean): Promise<Lane> {
    const line = (await store.line(id)) as string;
    // Where one line of facts is left, nothing else can lead to what comes next.
    const children = several ? await store.children(id) : [];
    let isBlocked = false;
    if (children.length > 1)
      for (const child of children) isBlocked ||= !told.has(child) && !(await leadsNowhere(child));
    return { line: { id, line }, at: timeOf(line), isBlocked };
  }

  async function leadsNowhere(child: FactId): Promise<boolean> {
    if (outside.has(child)) return true;
    const ends = new Set(lanes.map(({ line }) => line.id));
    const seen = new Set<FactId>();
    const open = [child];
    for (let id = open.pop(); id !== undefined; id = open.pop()) {
      if (told.has(id) || ends.has(id) || seen.size > FEW) return false;
      if (seen.has(id) || outside.has(id)) continue;
      seen.add(id);
      open.push(...(await store.children(id)));
    }
    for (const id of seen) outside.add(id);
    return true;
  }

  while (lanes.length > 0) {
    const free = lanes.filter(({ isBlocked }) => !isBlocked);
    const chosen = free.length > 0 ? newest(free) : await leadingNowhere(store, lanes);
    told.add(chosen.line.id);
    yield chosen.line;
    const rest = lanes.filter((lane) => lane !== chosen);
    const known = new Set(rest.map(({ line }) => line.id));
    const next = parentsOf(chosen.line.line).filter((id) => !known.has(id) && !told.has(id));
    const several = rest.length + next.length > 1;
    // The next facts are on their way too while the order is determined.
    const coming: Lane[] = [];
    for (const id of next) coming.push({ line: { id, line: "" }, at: "", isBlocked: true });
    lanes = [...rest, ...coming];
    const renewed: Lane[] = [];
    for (const lane of lanes) renewed.push(lane.isBlocked ? await laneAt(lane.line.id, several) : lane);
    lanes = renewed;
  }
}

function newest(lanes: readonly Lane[]): Lane {
  return lanes.reduce((one, other) => (other.at > one.at ? other : one));
}

/** So many facts are followed to see that something leads nowhere. */
const FEW = 500;
/** How far clocks of different machines may be apart, and how many facts are looked at to find out. */
const SLACK = 600_000;
const MOST = 5_000;

/**
 * All lanes wait for children that no lane leads to, or that lie on the way of another lane. One that no other lane leads
 * to can be told: the newest most likely, unless clocks were wrong or too coarse to tell.
 */
async function leadingNowhere(store: Store, lanes: readonly Lane[]): Promise<Lane> {
  const left = [...lanes];
  while (left.length > 1) {
    const chosen = newest(left);
    const others = left.filter((lane) => lane !== chosen);
    const earliest = new Date(Date.parse(chosen.at) - SLACK);
    const since = Number.isNaN(earliest.getTime()) ? "" : earliest.toISOString();
    if (!(await isLedTo(store, others, chosen.line.id, since))) return chosen;
    left.splice(left.indexOf(chosen), 1);
  }
  return left[0] as Lane;
}

async function isLedTo(store: Store, from: readonly Lane[], to: FactId, since: string): Promise<boolean> {
  const seen = new Set<FactId>();
  const open = from.flatMap(({ line }) => parentsOf(line.line));
  for (let id = open.pop(); id !== undefined && seen.size < MOST; id = open.pop()) {
    if (id === to) return true;
    if (seen.has(id)) continue;
    seen.add(id);
    const line = await store.line(id);
    if (line !== undefined && timeOf(line) >= since) open.push(...parentsOf(line));
  }
  return false;
}

function timeOf(line: string): string {
  return /"at":"([^"]*)"/.exec(line)?.[1] ?? "";
}
