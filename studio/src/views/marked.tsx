import { type ReactNode, useEffect } from "react";
import { useList } from "../data";
import { useKeys } from "../keys";
import { useAddress } from "../route";
import { useRows, Window } from "../rows";
import type { FactRow } from "../types";
import { Button, clock, Empty, plainly, Skeleton, TONES, Trouble, Words } from "../ui";

/** Filters of the graph by their names in the address, and what they show. */
export const FILTERS = [
  ["failed", "Only failures", "Nothing failed here"],
  ["waiting", "Waits", "Nothing waited here"],
  ["people", "People", "No person took part"],
  ["fork", "Forks", "Nothing was forked here"],
] as const;
const HEIGHT = 44;

/** Only the facts that a filter lets through, in the order of recording; the graph itself shows what is around them. */
export function Marked({
  name,
  only,
  select,
}: {
  readonly name: string;
  readonly only: string;
  readonly select: (id: string) => void;
}): ReactNode {
  const { search, set } = useAddress();
  const [mark, , none] = FILTERS.find(([one]) => one === only) ?? FILTERS[0];
  const list = useList<FactRow>(["name", name], `/api/sessions/${encodeURIComponent(name)}/facts`, {
    only: mark,
    limit: 200,
  });
  const { items, hasMore, more } = list;
  const rows = useRows(items.length, HEIGHT);
  useEffect(() => {
    if (hasMore && rows.last >= items.length - 20) more();
  }, [hasMore, items.length, more, rows.last]);
  const here = items.findIndex(({ id }) => id === search.at);
  const step = (by: number): void => {
    const next = Math.min(Math.max(0, here + by), items.length - 1);
    const row = items[next];
    if (row === undefined) return;
    set({ at: row.id }, true);
    rows.reveal(next);
  };
  useKeys({
    j: () => step(1),
    ArrowDown: () => step(1),
    n: () => step(1),
    k: () => step(-1),
    ArrowUp: () => step(-1),
    p: () => step(-1),
  });
  if (list.error) return <Trouble error={list.error} again={list.again} />;
  if (list.isLoading) return <Skeleton rows={6} height={HEIGHT} />;
  if (items.length === 0)
    return (
      <div className="flex-1">
        <Empty title={none}>
          <Button onClick={() => set({ only: undefined })}>Show the whole graph</Button>
        </Empty>
      </div>
    );
  return (
    <Window rows={rows}>
      <ul style={{ transform: `translateY(${-(rows.top - rows.first) * HEIGHT}px)` }}>
        {items.slice(rows.first, rows.last).map((row) => (
          <li key={row.id}>
            <button
              type="button"
              aria-current={row.id === search.at ? "true" : undefined}
              className={`flex w-full items-center gap-3 border-b border-rule px-3 text-left text-row mid:px-4 ${row.id === search.at ? "bg-chosen" : "hover:bg-sunk"}`}
              style={{ height: HEIGHT }}
              onClick={() => select(row.id)}
            >
              <span className={`min-w-0 flex-1 truncate ${TONES[row.tone] ?? ""}`}>
                <Words className="meta mr-2">{row.by}</Words>
                <Words>{plainly(row.label)}</Words>
              </span>
              <Words className="meta hidden mid:inline">{row.branch ?? ""}</Words>
              <span className="meta">{clock(row.at)}</span>
            </button>
          </li>
        ))}
      </ul>
    </Window>
  );
}
