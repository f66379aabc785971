import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect, useMemo, useState } from "react";
import { get } from "../client";
import { useTitle } from "../frame";
import { useKeys } from "../keys";
import { useAddress } from "../route";
import { useRows, Window } from "../rows";
import type { Compare as Comparison, FactRow, FileRow, Page } from "../types";
import { Button, count, duration, Empty, Id, Loaded, money, plainly, TONES, visible, Words } from "../ui";
import { Content } from "./content";
import { NAMES_ID, Names } from "./names";

const HEIGHT = 32;
const TABS = ["all", "message", "call", "check", "memory", "files"] as const;
const WORDS: { readonly [tab in (typeof TABS)[number]]: string } = {
  all: "Everything",
  message: "Messages",
  call: "Calls",
  check: "Checks",
  memory: "Memory",
  files: "Files",
};

/** Two sessions, branches or facts side by side, from their nearest common past. */
export function Compare(): ReactNode {
  useTitle("Compare");
  const { search, set } = useAddress();
  const { a, b } = search;
  const tab = TABS.find((one) => one === search.tab) ?? "all";
  const [all, setAll] = useState(false);
  const query = useInfiniteQuery({
    queryKey: ["sessions", "compare", a, b, tab, all],
    enabled: a !== undefined && b !== undefined,
    placeholderData: keepPreviousData,
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last: Comparison) => last.next ?? undefined,
    queryFn: ({ pageParam, signal }) =>
      get<Comparison>(
        "/api/compare",
        {
          a,
          b,
          after: pageParam,
          limit: 200,
          differences: !all,
          kind: tab === "all" || tab === "files" ? undefined : tab,
        },
        signal,
      ),
  });
  const first = { data: query.data?.pages[0], error: query.error, refetch: query.refetch };
  const rows = useMemo(() => query.data?.pages.flatMap((page) => page.rows) ?? [], [query.data]);
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <form
        key={`${a} ${b}`}
        className="flex flex-wrap items-center gap-2 border-b border-rule px-3 py-2 mid:px-4"
        onSubmit={(event) => {
          event.preventDefault();
          const data = new FormData(event.currentTarget);
          set({ a: String(data.get("a") ?? ""), b: String(data.get("b") ?? ""), at: undefined });
        }}
      >
        <h1 className="sr-only">Compare</h1>
        <Names />
        {(["a", "b"] as const).map((side) => (
          <label key={side} className="flex min-w-[140px] flex-1 items-center gap-2">
            <span className="meta uppercase">{side}</span>
            <input
              name={side}
              className="field"
              placeholder="a session, NAME@branch, or an id"
              list={NAMES_ID}
              defaultValue={search[side] ?? ""}
              spellCheck={false}
            />
          </label>
        ))}
        <button type="submit" className="btn btn-main">
          Compare
        </button>
        <Button onClick={() => set({ a: b, b: a, at: undefined })}>Swap</Button>
      </form>
      {a === undefined || b === undefined ? (
        <Empty title="Choose two sides to compare">
          Name two sessions, branches or facts. In a graph, <kbd>m</kbd> marks the selected fact as A, and{" "}
          <kbd>c</kbd> compares another one with it.
        </Empty>
      ) : (
        <Loaded query={first}>
          {(comparison) => (
            <div className="flex min-h-0 flex-1 flex-col overflow-y-auto mid:overflow-hidden">
              <Figures comparison={comparison} />
              <div className="flex flex-wrap items-center gap-1 border-y border-rule bg-sunk px-3 py-1 mid:px-4">
                {TABS.map((one) => (
                  <Button
                    key={one}
                    quiet
                    pressed={one === tab}
                    onClick={() => set({ tab: one === "all" ? undefined : one, at: undefined })}
                  >
                    {WORDS[one]}
                  </Button>
                ))}
                <span className="flex-1" />
                <span className="meta">
                  {comparison.ancestor === null ? (
                    "No common fact: rows are paired by similar content"
                  ) : (
                    <>
                      {count(comparison.common, "fact")} in common, up to <Id id={comparison.ancestor} />
                    </>
                  )}
                </span>
                <Button quiet pressed={!all} onClick={() => setAll(!all)}>
                  Only differences
                </Button>
              </div>
              {tab === "files" ? (
                <ChangedFiles name={b} a={comparison.a.head} b={comparison.b.head} />
              ) : (
                <Sides
                  key={tab}
                  rows={rows}
                  more={() => void (query.hasNextPage && !query.isFetchingNextPage && query.fetchNextPage())}
                />
              )}
            </div>
          )}
        </Loaded>
      )}
    </div>
  );
}

function Sides({ rows, more }: { readonly rows: Comparison["rows"]; readonly more: () => void }): ReactNode {
  const { search, set, go } = useAddress();
  const list = useRows(rows.length, HEIGHT);
  const { at } = search;
  const chosen = at === undefined ? -1 : rows.findIndex((row) => row.a?.id === at || row.b?.id === at);
  useEffect(() => {
    if (list.last >= rows.length - 10) more();
  }, [list.last, rows.length, more]);
  const step = (by: number): void => {
    const next = Math.min(Math.max(0, chosen + by), rows.length - 1);
    set({ at: rows[next]?.a?.id ?? rows[next]?.b?.id }, true);
    list.reveal(next);
  };
  useKeys({
    j: () => step(1),
    ArrowDown: () => step(1),
    k: () => step(-1),
    ArrowUp: () => step(-1),
    Escape: () => set({ at: undefined }),
  });
  const row = rows[chosen];
  const side = (fact: FactRow | undefined, name: string): ReactNode =>
    fact === undefined ? (
      <span className="min-w-0 flex-1 bg-sunk px-3 mid:px-4" title={`${name} has no matching fact`} />
    ) : (
      <button
        type="button"
        className={`min-w-0 flex-1 truncate px-3 text-left mid:px-4 ${TONES[fact.tone] ?? ""} ${fact.id === at ? "bg-chosen" : "hover:bg-sunk"}`}
        onClick={() => set({ at: fact.id })}
      >
        <Words>{plainly(fact.label)}</Words>
      </button>
    );
  if (rows.length === 0)
    return <Empty title="No differences of this kind">Ids and times do not count as differences.</Empty>;
  return (
    <div className="flex min-h-[240px] flex-1 mid:min-h-0">
      <section aria-label="Side by side" className="flex min-w-0 flex-1 flex-col text-row">
        <Window rows={list}>
          <ul style={{ transform: `translateY(${-(list.top - list.first) * HEIGHT}px)` }}>
            {rows.slice(list.first, list.last).map((one, at) => (
              <li
                key={one.a?.id ?? one.b?.id ?? at}
                className="flex border-b border-rule"
                style={{ height: HEIGHT }}
              >
                {side(one.a, "A")}
                <span
                  className={`flex w-8 shrink-0 items-center justify-center border-x border-rule ${one.same ? "text-soft" : "bg-sunk font-semibold"}`}
                  title={
                    one.same ? "the same" : (one.diff ?? `only ${one.a === undefined ? "B" : "A"} has it`)
                  }
                >
                  {one.same ? "=" : one.a === undefined ? "B" : one.b === undefined ? "A" : "≠"}
                </span>
                {side(one.b, "B")}
              </li>
            ))}
          </ul>
        </Window>
      </section>
      {row !== undefined && (
        <aside
          aria-label="Difference"
          className="fixed inset-0 z-20 overflow-y-auto bg-raised mid:inset-y-0 mid:left-auto mid:right-0 mid:w-[60%] mid:border-l mid:border-rule mid:shadow-xl wide:static wide:w-[440px] wide:shrink-0 wide:shadow-none"
        >
          <div className="sticky top-0 flex items-center justify-between border-b border-rule bg-raised px-4 py-2">
            <h2>{row.same ? "The same on both sides" : "Differences"}</h2>
            <Button quiet onClick={() => set({ at: undefined })} hint="Close (Esc)">
              Close
            </Button>
          </div>
          <div className="p-4">
            {row.values?.map(({ path, a, b }) => (
              <div key={path} className="mb-4">
                <h3 className="font-mono text-meta">{visible(path)}</h3>
                {(
                  [
                    ["A", a],
                    ["B", b],
                  ] as const
                ).map(([word, value]) => (
                  <div key={word} className="mt-1">
                    <span className="meta">{word}</span>
                    {value === undefined ? <p className="text-soft">nothing</p> : <Content shown={value} />}
                  </div>
                ))}
              </div>
            ))}
            {(row.a === undefined || row.b === undefined) && (
              <p>
                <Words>{plainly((row.a ?? row.b)?.label ?? "")}</Words>
              </p>
            )}
            <p className="mt-3 flex flex-wrap gap-2">
              {([row.a, row.b] as const).map(
                (fact, at) =>
                  fact !== undefined && (
                    <Button key={fact.id} onClick={() => go(`/f/${fact.id}`)}>
                      Open {at === 0 ? "A" : "B"} in its graph
                    </Button>
                  ),
              )}
            </p>
          </div>
        </aside>
      )}
    </div>
  );
}

/** The files that stand differently on both sides. */
function ChangedFiles({
  name,
  a,
  b,
}: {
  readonly name: string;
  readonly a: string;
  readonly b: string;
}): ReactNode {
  const { go } = useAddress();
  const query = useQuery({
    queryKey: ["sessions", "compare", "files", a, b],
    queryFn: ({ signal }) =>
      get<Page<FileRow>>(
        `/api/sessions/${encodeURIComponent(name)}/changes`,
        { before: a, head: b, limit: 500 },
        signal,
      ),
  });
  return (
    <Loaded query={query}>
      {({ items }) =>
        items.length === 0 ? (
          <Empty title="Both sides have the same files" />
        ) : (
          <ul className="overflow-y-auto">
            {items.map((file) => (
              <li key={file.path} className="border-b border-rule">
                <button
                  type="button"
                  className="flex min-h-9 w-full items-center gap-3 px-3 text-left hover:bg-sunk mid:px-4"
                  onClick={() =>
                    go(`/s/${encodeURIComponent(name)}/files`, { path: file.path, a, ...(b && { head: b }) })
                  }
                >
                  <span className="meta w-16">{file.change}</span>
                  <span dir="auto" className="font-mono text-meta">
                    {visible(file.path)}
                  </span>
                </button>
              </li>
            ))}
          </ul>
        )
      }
    </Loaded>
  );
}

type Figure = keyof Comparison["sums"];
const grouped = (value: number): string => value.toLocaleString("en");
const FIGURES: readonly (readonly [figure: Figure, word: string, say: (value: number) => string])[] = [
  ["passed", "checks passed", grouped],
  ["failed", "checks failed", grouped],
  ["calls", "calls", grouped],
  ["tokens", "tokens", grouped],
  ["cost", "cost", money],
  ["ms", "time", duration],
  ["facts", "facts", grouped],
];

/** Checks, cost, tokens and time of both. */
function Figures({ comparison }: { readonly comparison: Comparison }): ReactNode {
  const { search } = useAddress();
  const title = (side: "a" | "b"): ReactNode => (
    <>
      <span className="meta uppercase">{side} </span>
      <Words>{nameOf(search[side]) ?? comparison[side].head.slice(0, 12)}</Words>
    </>
  );
  return (
    <div className="shrink-0 overflow-x-auto">
      <table className="w-full text-row mid:hidden">
        <thead>
          <tr className="text-right">
            <th scope="col" className="px-3 py-1 text-left font-normal text-soft">
              After the fork
            </th>
            {(["a", "b"] as const).map((side) => (
              <th scope="col" key={side} className="max-w-[110px] truncate px-3 py-1 font-serif font-medium">
                {title(side)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {FIGURES.map(([figure, word, say]) => (
            <tr key={figure} className="border-t border-rule">
              <th scope="row" className="px-3 text-left font-normal text-soft">
                {word}
              </th>
              {comparison.sums[figure].map((value, at) => (
                <td key={at} className="px-3 text-right">
                  {value === null ? "unknown" : say(value)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <table className="hidden w-full text-row mid:table">
        <thead>
          <tr className="text-left">
            <th scope="col" className="px-3 py-2 font-normal text-soft mid:px-4">
              After the fork
            </th>
            {FIGURES.map(([figure, word]) => (
              <th
                scope="col"
                key={figure}
                className="px-2 py-2 text-right align-bottom font-normal whitespace-nowrap text-soft wide:px-3"
              >
                {word}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {(["a", "b"] as const).map((side, at) => (
            <tr key={side} className="border-t border-rule">
              <th
                scope="row"
                className="max-w-[280px] truncate px-3 py-1 text-left font-serif text-read font-medium mid:px-4"
              >
                {title(side)}
              </th>
              {FIGURES.map(([figure, , say]) => {
                const [left, right] = comparison.sums[figure];
                const value = at === 0 ? left : right;
                return (
                  <td
                    key={figure}
                    className={`whitespace-nowrap px-2 text-right mid:px-3 ${left === right ? "text-soft" : ""}`}
                  >
                    {value === null ? "unknown" : say(value)}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Ids are long: a name is shown as it is, an id by its beginning. */
function nameOf(reference: string | undefined): string | undefined {
  return reference !== undefined && /^[0-9a-f]{64}$/.test(reference) ? reference.slice(0, 12) : reference;
}
