import { canonical, digestOf, type FactId, lineOf, textOf } from "../../session/index.js";
import { defined } from "../../util/index.js";
import type { BranchDraft, Fate } from "../dossier/branches.js";
import { brief, rounded } from "../dossier/words.js";
import type { Numbers } from "./column.js";
import { type Graph, type Marks, REQUESTS } from "./graph.js";
import { type LanePage, PAGE_ROWS } from "./lane.js";
import { LEVELS, type LevelName } from "./level.js";
import { type ListOptions, type ListPage, pageOf as listPage, stretchOf } from "./list.js";
import { type FactRow, factRow, type RowReader } from "./row.js";

/** A row of the graph: a fact, or the first fact of a group with what came of it. */
export type GraphRow = FactRow & {
  readonly lane: number;
  readonly column: number;
  /** How many facts it holds, and the newest of them. */
  readonly facts: number;
  readonly last: FactId;
};

/** 256 rows of a graph with every line, bend and port on them. A sealed page never changes, unless content is erased. */
export type GraphPage = Omit<LanePage, "places"> & {
  readonly level: LevelName;
  readonly page: number;
  readonly rows: readonly GraphRow[];
  /** SHA-256 of the page. */
  readonly etag: string;
};

export type BranchRow = {
  /** Its number in the lanes. */
  readonly id: number;
  readonly name: string;
  /** The fact that it begins with, the fact that it left, and where it stands. */
  readonly begin: FactId;
  readonly from: FactId | null;
  readonly head: FactId;
  readonly state: string;
  readonly fate: "open" | "accepted" | "rejected" | "what-if" | "merged";
  readonly reason?: string;
  readonly facts: number;
};

export type GraphSummary = {
  readonly head: FactId;
  readonly state: string;
  readonly rows: { readonly [level in LevelName]: number };
  readonly branches: readonly BranchRow[];
  /** Branches that are not listed here: only the first thousand are. */
  readonly moreBranches: number;
  /** Of each of at most a thousand stretches of facts: steps, failures, waits, forks. */
  readonly buckets: readonly (readonly number[])[];
  /** Requests that nothing has answered, newest last; a thousand at most. */
  readonly open: readonly FactId[];
};

const FATES: { readonly [fate in Fate]: BranchRow["fate"] } = {
  trunk: "open",
  result: "accepted",
  accepted: "accepted",
  rejected: "rejected",
  merged: "merged",
  gathered: "merged",
  returned: "merged",
  left: "open",
  open: "open",
};
const MOST = 1_000;
const REASON = 240;

/** A page of the graph. It reads as many facts as it has rows. */
export async function graphPage(
  graph: Graph,
  reader: RowReader,
  name: LevelName,
  page: number,
  until = graph.length - 1,
): Promise<GraphPage> {
  const level = graph.levels[name];
  const { places, ...lines } = cutPage(level.lanes.page(page), level.rowOf(until), until < graph.length - 1);
  const rows: GraphRow[] = [];
  for (const [offset, [lane, column]] of places.entries()) {
    const { first, last: newest, facts: all } = level.row(lines.first + offset);
    const last = newest <= until ? newest : level.rowOf(until) === lines.first + offset ? until : first;
    const facts = newest <= until ? all : Math.min(all, last - first + 1);
    const row = await rowAt(graph, reader, first, last === first ? undefined : last);
    rows.push({ ...row, lane, column, facts, last: graph.table.ids.at(last) });
  }
  const body = { level: name, page, rows, ...lines };
  return { ...body, etag: digestOf(canonical(body as never)) };
}

/** A page as it was when its newest row was the last: rows are only ever appended. */
function cutPage(page: LanePage, newest: number, isCut: boolean): LanePage {
  if (!isCut || newest >= page.first + PAGE_ROWS) return page;
  return {
    ...page,
    places: page.places.slice(0, Math.max(0, newest - page.first + 1)),
    lanes: page.lanes
      .filter(([, , from]) => from < newest || from === page.first)
      .map(([lane, column, from, to, ...rest]) => [lane, column, from, Math.min(to, newest), ...rest]),
    bends: page.bends.filter(([row]) => row < newest),
    ports: page.ports.filter(([, row]) => row <= newest),
    sealed: false,
  };
}

/** A fact of a graph as a row; of a group, the colour and the words of what came of it too. */
export async function rowAt(
  graph: Graph,
  reader: RowReader,
  place: number,
  outcome?: number,
): Promise<FactRow> {
  const { ids } = graph.table;
  const recorded = await reader.fact(ids.at(place));
  if (recorded === undefined) return goneRow(graph, place);
  const module = await moduleName(graph, reader, place);
  const branch = graph.branchAt(place);
  const row = factRow(recorded, {
    index: place,
    branch: branch.name,
    ...defined({ module }),
    ...(fateOf(branch) === "what-if" && { tone: "what-if" as const }),
  });
  const last = outcome === undefined ? undefined : await reader.fact(ids.at(outcome));
  if (last === undefined) return row;
  const end = factRow(last);
  const text = row.text ?? end.label;
  const tone = end.tone === "bad" || end.tone === "good" ? end.tone : row.tone;
  return { ...row, tone, text, flags: [...new Set([...row.flags, ...end.flags])] };
}

/** The module that a fact happened in. */
export async function moduleName(
  graph: Graph,
  reader: RowReader,
  place: number,
): Promise<string | undefined> {
  const module = graph.moduleAt(place);
  if (module === -1) return undefined;
  const entered = await reader.fact(graph.table.ids.at(module));
  return entered?.fact.type === "module-enter" ? entered.fact.module : undefined;
}

/** A fact that was collected since the graph was read. */
function goneRow(graph: Graph, place: number): FactRow {
  const { table } = graph;
  const type = table.typeAt(place);
  const time = table.timeAt(place);
  return {
    id: table.ids.at(place),
    index: place,
    type,
    kind: "other",
    tone: "quiet",
    label: "is no longer in this store",
    at: Number.isNaN(time) ? null : time,
    by: "",
    branch: graph.branchAt(place).name,
    flags: [],
  };
}

/** The whole graph in at most a thousand numbers of each kind. */
export async function graphSummary(
  graph: Graph,
  reader: RowReader,
  head: number,
  until = graph.length - 1,
): Promise<GraphSummary> {
  const { levels, table } = graph;
  const isCut = until < graph.length - 1;
  const branches = graph.branches.all.filter(({ begin }) => Number(begin.id) <= until);
  const rows: BranchRow[] = [];
  for (const draft of branches.slice(0, MOST)) rows.push(await branchRow(graph, reader, draft));
  const rowsOf = (name: LevelName) => (isCut ? levels[name].rowOf(until) + 1 : levels[name].rows);
  return {
    head: table.ids.at(head),
    state: graph.stateAt(head),
    rows: Object.fromEntries(LEVELS.map((name) => [name, rowsOf(name)])) as GraphSummary["rows"],
    branches: rows,
    moreBranches: Math.max(0, branches.length - MOST),
    buckets: bucketsOf(graph, until + 1),
    open: openAt(graph, isCut ? until : undefined).map((place) => table.ids.at(place)),
  };
}

/** The requests that nothing had answered: now, or when a fact was the newest. */
function openAt(graph: Graph, until: number | undefined): readonly number[] {
  if (until === undefined) return [...graph.open.keys()].slice(-MOST);
  const [begins, ends] = graph.spans;
  const found: number[] = [];
  for (let one = begins.from(until + 1) - 1; one >= 0 && found.length < MOST; one--) {
    const [place, end] = [begins.at(one), ends.at(one)];
    if (REQUESTS.has(graph.table.typeAt(place)) && (end > until || graph.open.has(place))) found.push(place);
  }
  return found.reverse();
}

export async function branchRow(graph: Graph, reader: RowReader, draft: BranchDraft): Promise<BranchRow> {
  const { table } = graph;
  const reason = await reasonOf(graph, reader, draft);
  const begin = Number(draft.begin.id);
  const [from] = table.parentsAt(begin);
  return {
    id: draft.index,
    name: draft.name,
    begin: table.ids.at(begin),
    from: from === undefined ? null : table.ids.at(from),
    head: table.ids.at(Number(draft.tip)),
    state: graph.stateAt(Number(draft.tip)),
    fate: fateOf(draft),
    ...(reason !== "" && { reason }),
    facts: draft.length,
  };
}

/** A line that left another one without a fork, and that nothing took in, asks what would have been. */
function fateOf({ fate = "open", begin, parent, elsewhere }: BranchDraft): BranchRow["fate"] {
  const isWhatIf = elsewhere && parent !== undefined && begin.fact.type !== "branch-fork";
  return isWhatIf && FATES[fate] === "open" ? "what-if" : FATES[fate];
}

/** The reason given with the decision, and the result of the newest check on it. */
async function reasonOf(graph: Graph, reader: RowReader, { decided, checks }: BranchDraft): Promise<string> {
  const fact =
    decided === undefined ? undefined : (await reader.fact(graph.table.ids.at(Number(decided.id))))?.fact;
  const why =
    fact?.type === "branch-merge" && fact.why !== undefined ? [lineOf(textOf(fact.why), REASON)] : [];
  const found = checks.slice(-1).map(({ name, passed, score }) => {
    return `${brief(name)} ${passed ? "passed" : "did not pass"}${score === undefined ? "" : `, ${rounded(score)}`}`;
  });
  return [...why, ...found].join("; ");
}

function bucketsOf({ levels, marks }: Graph, length: number): readonly (readonly number[])[] {
  const count = Math.min(MOST, length);
  const buckets = Array.from({ length: count }, () => [0, 0, 0, 0]);
  const put = (place: number, kind: number): void => {
    if (place >= length) return;
    const bucket = buckets[Math.floor((place * count) / length)] as number[];
    bucket[kind] = (bucket[kind] ?? 0) + 1;
  };
  for (let row = 0; row < levels.step.rows; row++) put(levels.step.firstOf(row), 0);
  const all: readonly Numbers[] = [marks.failed, marks.waiting, marks.fork];
  for (const [kind, places] of all.entries())
    for (let one = 0; one < places.length; one++) put(places.at(one), kind + 1);
  return buckets;
}

/** The facts with a mark, in the order of recording: what a filter of the graph shows, and where the next failure is. */
export async function markedRows(
  graph: Graph,
  reader: RowReader,
  mark: keyof Marks,
  options: ListOptions,
): Promise<ListPage<FactRow>> {
  const places = graph.marks[mark];
  const stretch = stretchOf(options, places.length);
  const items: FactRow[] = [];
  let at = stretch.from;
  for (; at >= 0 && at < places.length && items.length < stretch.limit; at += stretch.step)
    items.push(await rowAt(graph, reader, places.at(at)));
  return listPage(items, stretch, at - stretch.step, places.length);
}

/** The page that a fact's row is on. */
export function pageOf(graph: Graph, name: LevelName, place: number): number {
  return Math.floor(graph.levels[name].rowOf(place) / PAGE_ROWS);
}
