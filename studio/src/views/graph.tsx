import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { offline } from "../client";
import { useGraphPages, usePlace, useSession, useSummary } from "../data";
import { Folds, stretchOf } from "../folds";
import { say, Tabs, useTitle } from "../frame";
import { draw, lookOf, widthOf } from "../graph-canvas";
import { useKeys } from "../keys";
import { useAddress } from "../route";
import { type Rows, useRows, Window } from "../rows";
import type { BranchRow, GraphPage, GraphRow, GraphSummary, Level } from "../types";
import { Button, count, Empty, Loaded } from "../ui";
import { HoverCard, useHover } from "./card";
import { Details } from "./details";
import { Choice, isFailure, Row } from "./graph-row";
import { FILTERS, Marked } from "./marked";
import { Scrubber } from "./scrubber";

const PAGE = 256;
const FIRST = [0];
const LEVELS: readonly Level[] = ["run", "turn", "step", "fact"];

export function Graph(): ReactNode {
  const { name, search } = useAddress();
  useTitle(`${name}: graph`);
  const summary = useSummary(name, search.head);
  // The first rows come together with the summary, not after it.
  useGraphPages(name, search.z ?? "step", FIRST, search.head);
  return (
    <>
      <Tabs name={name} />
      <Loaded query={summary} rows={16}>
        {(found) =>
          found.rows.fact === 0 ? (
            <Empty title="No facts yet">The first fact appears here automatically.</Empty>
          ) : (
            <Lanes key={`${name} ${search.z ?? "step"}`} name={name} summary={found} />
          )
        }
      </Loaded>
    </>
  );
}

function Lanes({ name, summary }: { readonly name: string; readonly summary: GraphSummary }): ReactNode {
  const { search, set, go } = useAddress();
  const level = search.z ?? "step";
  const { at, head, only } = search;
  const total = summary.rows[level];
  const rowHeight = matchMedia("(pointer: coarse)").matches ? 44 : 28;
  const [folds, setFolds] = useState(() => new Folds());
  const rows = useRows(folds.placeOf(total), rowHeight, head === undefined);
  const [isOpen, setOpen] = useState(at !== undefined);
  const session = useSession(name);

  const from = Math.floor(folds.rowAt(rows.first) / PAGE);
  const to = Math.floor(folds.rowAt(Math.max(rows.first, rows.last - 1)) / PAGE);
  const shownPages = Array.from({ length: Math.min(4, to - from + 1) }, (_, at) => from + at);
  const pages = useGraphPages(name, level, shownPages, head);
  const byRow = useMemo(
    () => new Map(pages.flatMap((page) => page.rows.map((row, index) => [page.first + index, row] as const))),
    [pages],
  );
  const rowOf = (index: number): GraphRow | undefined => byRow.get(index);

  const place = usePlace(name, level, at, head);
  const inView = [...byRow].find(([, row]) => row.id === at)?.[0];
  const chosenRow = inView ?? place.data;
  // A link to a fact, a change of level and the scrubber all bring its row into view; a click has it in view already.
  const shown = useRef<string>(undefined);
  useEffect(() => {
    const wanted = at === undefined ? undefined : `${at} ${level}`;
    if (wanted === shown.current || (wanted !== undefined && chosenRow === undefined)) return;
    shown.current = wanted;
    if (at !== undefined) setOpen(true);
    if (chosenRow !== undefined) rows.reveal(folds.placeOf(chosenRow), true);
    else rows.to(head === undefined && session.data?.state === "open" ? total : rows.top);
  }, [at, level, chosenRow, rows, folds, head, total, session.data?.state]);

  // A bar that appears takes room from the rows: what was selected in view stays in view.
  const height = useRef(rows.height);
  useEffect(() => {
    const before = height.current;
    height.current = rows.height;
    if (chosenRow === undefined) return;
    const place = folds.placeOf(chosenRow);
    if (place >= rows.top && place + 1 <= rows.top + before / rowHeight) rows.reveal(place);
  }, [rows.height]);

  const select = (row: GraphRow | undefined, index: number, open = isOpen): void => {
    if (row === undefined) return;
    shown.current = `${row.id} ${level}`;
    setOpen(open);
    set({ at: row.id });
    rows.reveal(folds.placeOf(index));
  };
  const [cursor, setCursor] = useState(0);
  const here = chosenRow ?? Math.min(Math.max(cursor, folds.rowAt(rows.first)), total - 1);
  const step = (by: number): void => {
    const place = Math.min(folds.placeOf(here) + (at === undefined ? 0 : by), folds.placeOf(total) - 1);
    const next = folds.rowAt(Math.max(0, place));
    setCursor(next);
    const row = rowOf(next);
    if (row !== undefined) select(row, next);
    else rows.reveal(folds.placeOf(next), true);
  };
  const seek = (by: 1 | -1, fits: (row: GraphRow) => boolean): void => {
    for (let index = here + by; index >= 0 && index < total; index += by) {
      const row = rowOf(index);
      if (folds.isHidden(index)) continue;
      if (row === undefined) {
        rows.reveal(folds.placeOf(index), true);
        setCursor(index);
        return;
      }
      if (fits(row)) {
        select(row, index);
        return;
      }
    }
  };
  const chosen = rowOf(here);
  const fold = (index = here): void => {
    const [first, ...rest] = stretchOf(byRow, index);
    if (first === undefined || rest.length === 0 || folds.behind(first) !== undefined) return;
    setFolds(folds.fold(first, rest));
    select(rowOf(first), first);
  };
  useKeys(
    {
      j: () => step(1),
      ArrowDown: () => step(1),
      k: () => step(-1),
      ArrowUp: () => step(-1),
      ",": () => seek(-1, (row) => row.column === chosen?.column),
      ".": () => seek(1, (row) => row.column === chosen?.column),
      n: () => seek(1, isFailure),
      p: () => seek(-1, isFailure),
      N: () => seek(1, (row) => row.flags.includes("waiting")),
      h: () => fold(),
      ArrowLeft: () => fold(),
      l: () => setFolds(folds.unfold(here)),
      ArrowRight: () => setFolds(folds.unfold(here)),
      f: () => rows.to(folds.placeOf(here) - rows.height / rowHeight / 2),
      i: () => say(lanesAt(pages, here, summary.branches)),
      Home: () => rows.to(0),
      End: () => rows.to(total),
    },
    only === undefined,
  );
  useKeys({
    Enter: () => setOpen(true),
    Escape: () => setOpen(false),
    o: () => set({ only: only === "failed" ? undefined : "failed" }),
    e: () => at !== undefined && offline === undefined && go(`/rerun/${at}`),
    m: () => at !== undefined && set({ a: at }),
    c: () => at !== undefined && search.a !== undefined && go("/compare", { a: search.a, b: at }),
    y: () => void navigator.clipboard?.writeText(location.href),
    Y: () => at !== undefined && void navigator.clipboard?.writeText(`${location.origin}/f/${at}`),
    ...Object.fromEntries(LEVELS.map((one, index) => [String(index + 1), () => set({ z: one })])),
  });

  const branches = useMemo(() => new Map(summary.branches.map((branch) => [branch.name, branch])), [summary]);
  const isFiltered = only !== undefined;
  // What arrived while the reader looks elsewhere: nothing scrolls, and a note says how much it is.
  const seen = useRef(total);
  if (rows.isAtEnd || total < seen.current) seen.current = total;
  const fresh = total - seen.current;
  return (
    <div className="flex min-h-0 flex-1">
      <section className="relative flex min-w-0 flex-1 flex-col" aria-label="Graph">
        <div className="no-print flex items-center gap-1 border-b border-rule px-2 py-1 mid:px-4">
          <Choice
            label="Level"
            words={LEVELS.map((one, index) => [one, `${one}s`, `Level: key ${index + 1}`])}
            value={level}
            set={(one) => set({ z: one as Level })}
          />
          <span className="mx-2 h-5 border-l border-rule" />
          <Choice
            label="Filter"
            words={FILTERS.map(([filter, word]) => [filter, word, filter === "failed" ? "Key o" : word])}
            value={only}
            none="everything"
            set={(one) => set({ only: only === one ? undefined : one || undefined })}
          />
          <span className="flex-1" />
          <span className={`meta hidden truncate ${at !== undefined && isOpen ? "" : "wide:inline"}`}>
            {count(total, level === "fact" ? "fact" : level)},{" "}
            {count(summary.branches.length, "branch", "branches")}
          </span>
        </div>
        {isFiltered ? (
          <Marked
            name={name}
            only={only}
            select={(id) => {
              setOpen(true);
              set({ at: id });
            }}
          />
        ) : (
          <div className="relative flex min-h-0 flex-1">
            <Picture
              rows={rows}
              folds={folds}
              fold={fold}
              unfold={(row) => setFolds(folds.unfold(row))}
              total={total}
              pages={pages}
              branches={branches}
              rowHeight={rowHeight}
              rowOf={rowOf}
              chosen={at}
              focused={here}
              select={(row, index) => select(row, index, true)}
            />
            <Minimap rows={rows} total={folds.placeOf(total)} buckets={summary.buckets} />
          </div>
        )}
        {!isFiltered && fresh > 0 && head === undefined && (
          <div className="no-print pointer-events-none absolute inset-x-0 bottom-24 flex justify-center">
            <span className="pointer-events-auto rounded shadow-lg">
              <Button onClick={() => rows.to(total)}>{fresh.toLocaleString("en")} new · End</Button>
            </span>
          </div>
        )}
        <Scrubber name={name} level={level} summary={summary} />
      </section>
      {at !== undefined && isOpen && <Details id={at} close={() => setOpen(false)} />}
    </div>
  );
}

/** The lines that pass a row, in words: the graph can be read without seeing it. */
function lanesAt(pages: readonly GraphPage[], row: number, branches: readonly BranchRow[]): string {
  const page = pages.find(({ first, rows }) => row >= first && row < first + rows.length);
  const numbers = new Set(
    page?.lanes.flatMap(([, , from, to, branch]) => (from <= row && row <= to ? [branch] : [])),
  );
  const names = branches.filter(({ id }) => numbers.has(id)).map(({ name, fate }) => `${name}, ${fate}`);
  return `${count(names.length, "lane")}: ${names.join("; ")}`;
}

function Picture({
  rows,
  folds,
  fold,
  unfold,
  total,
  pages,
  branches,
  rowHeight,
  rowOf,
  chosen,
  focused,
  select,
}: {
  readonly rows: Rows;
  readonly folds: Folds;
  readonly fold: (row: number) => void;
  readonly unfold: (row: number) => void;
  readonly total: number;
  readonly pages: readonly GraphPage[];
  readonly branches: ReadonlyMap<string, BranchRow>;
  readonly rowHeight: number;
  readonly rowOf: (index: number) => GraphRow | undefined;
  readonly chosen: string | undefined;
  readonly focused: number;
  readonly select: (row: GraphRow, index: number) => void;
}): ReactNode {
  const canvas = useRef<HTMLCanvasElement>(null);
  const widest = Math.max(
    1,
    ...pages.flatMap((page) => page.rows.map((row) => row.column + 1)),
    ...pages.flatMap((page) => page.lanes.map((lane) => lane[1] + 1)),
  );
  const columns = Math.min(widest, rows.width > 1_000 ? 24 : rows.width > 600 ? 12 : 6);
  const theme = useTheme();
  const fates = useMemo(
    () =>
      new Map<number | string, string>(
        [...branches.values()].flatMap(({ id, name, fate }) => [
          [id, fate],
          [name, fate],
        ]),
      ),
    [branches],
  );
  const look = useMemo(() => lookOf(document.body, rowHeight, columns), [rowHeight, columns, theme]);
  useEffect(() => {
    if (canvas.current !== null)
      draw(canvas.current, look, {
        top: rows.top,
        height: rows.height,
        folds,
        pages,
        fates,
        ...(chosen !== undefined && { chosen }),
      });
  });
  const indices = Array.from({ length: Math.max(0, rows.last - rows.first) }, (_, at) =>
    folds.rowAt(rows.first + at),
  );
  const hover = useHover(rows.top);
  const hovered = indices.map(rowOf).find((row) => row !== undefined && row.id === hover.place?.id);
  return (
    <Window rows={rows} className="text-row">
      <canvas ref={canvas} aria-hidden="true" className="pointer-events-none absolute left-0 top-0" />
      <div
        role="treegrid"
        {...hover.on}
        aria-label="Facts in the order of recording"
        aria-rowcount={total}
        style={{
          transform: `translateY(${-(rows.top - rows.first) * rowHeight}px)`,
          marginLeft: widthOf(look),
        }}
      >
        {indices.map((index) => (
          <Row
            key={index}
            row={rowOf(index)}
            index={index}
            total={total}
            height={rowHeight}
            branch={branches.get(rowOf(index)?.branch ?? "")}
            isChosen={chosen !== undefined && rowOf(index)?.id === chosen}
            isFocusable={
              index === focused ||
              (index === indices[0] && (focused < index || focused > (indices.at(-1) ?? 0)))
            }
            folded={folds.behind(index)?.map(rowOf)}
            fold={fold}
            unfold={unfold}
            select={select}
          />
        ))}
      </div>
      {widest > columns && (
        <span
          className="tag absolute bottom-1 left-1 bg-paper text-soft"
          title="More lanes than fit: the last column holds the rest"
        >
          +{widest - columns} lanes
        </span>
      )}
      {hover.place !== undefined && hovered !== undefined && hovered.id !== chosen && (
        <HoverCard place={hover.place} row={hovered} branch={branches.get(hovered.branch ?? "")} />
      )}
    </Window>
  );
}

/** The whole session at the edge of its rows: failures, questions and forks as marks, and the part that is in view. */
function Minimap({
  rows,
  total,
  buckets,
}: {
  readonly rows: Rows;
  readonly total: number;
  readonly buckets: GraphSummary["buckets"];
}): ReactNode {
  if (rows.spacer <= rows.height) return null;
  const seen = Math.min(1, rows.last - rows.first > 0 ? (rows.last - rows.first) / total : 1);
  return (
    <svg
      aria-hidden="true"
      className="no-print hidden h-full w-3 shrink-0 cursor-pointer border-l border-rule mid:block"
      viewBox="0 0 12 1000"
      preserveAspectRatio="none"
      onClick={({ currentTarget, clientY }) => {
        const { top, height } = currentTarget.getBoundingClientRect();
        rows.to(((clientY - top) / height) * total - rows.height / (rows.spacer / total) / 2);
      }}
    >
      {buckets.map(([, failures = 0, waits = 0, forks = 0], at) =>
        failures + waits + forks === 0 ? null : (
          <rect
            key={at}
            x={failures > 0 ? 6 : 0}
            y={(1000 * at) / buckets.length}
            width={6}
            height={Math.max(3, 1000 / buckets.length)}
            style={{ fill: failures > 0 ? "var(--bad)" : waits > 0 ? "var(--warn)" : "var(--accent)" }}
          />
        ),
      )}
      <rect
        x={0.5}
        y={(1000 * rows.top) / total}
        width={11}
        height={Math.max(6, 1000 * seen)}
        style={{ fill: "var(--ink)", fillOpacity: 0.08, stroke: "var(--edge)" }}
      />
    </svg>
  );
}

/** Counts up when the colours change. */
function useTheme(): number {
  const [version, setVersion] = useState(0);
  useEffect(() => {
    const changed = (): void => setVersion((old) => old + 1);
    const system = matchMedia("(prefers-color-scheme: dark)");
    const chosen = new MutationObserver(changed);
    chosen.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    system.addEventListener("change", changed);
    return () => {
      chosen.disconnect();
      system.removeEventListener("change", changed);
    };
  }, []);
  return version;
}
