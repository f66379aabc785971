import { type ReactNode, useEffect, useState } from "react";
import { useList } from "../data";
import { useTitle } from "../frame";
import { useKeys } from "../keys";
import { type Search, useAddress } from "../route";
import { useRows, Window } from "../rows";
import type { SessionRow } from "../types";
import { Ago, Button, count, Empty, Id, money, Skeleton, State, short, Trouble, Words } from "../ui";
import { NewRun } from "./start";

const HEIGHT = 64;
const STATES = ["open", "waiting", "in-doubt", "failed", "finished", "cancelled"];

export function Sessions(): ReactNode {
  useTitle("Sessions");
  const { search, set, go } = useAddress();
  const { q, state, person, model, tool } = search;
  const list = useList<SessionRow>(["sessions"], "/api/sessions", {
    q,
    state,
    person,
    model,
    tool,
    limit: 100,
  });
  const { items, hasMore, more } = list;
  const rows = useRows(items.length, HEIGHT);
  const [chosen, choose] = useState(0);
  const peeked = items[chosen];
  useEffect(() => {
    // A filtered page may be short, even empty: the next one is asked for until the window is full.
    if (hasMore && rows.last >= items.length - 5) more();
  }, [hasMore, items.length, more, rows.last]);

  const move = (step: number): void => {
    const next = Math.min(Math.max(0, chosen + step), items.length - 1);
    choose(next);
    rows.reveal(next);
  };
  const open = (row: SessionRow | undefined): void => {
    if (row !== undefined) go(`/s/${encodeURIComponent(row.name)}/graph`);
  };
  useKeys({
    j: () => move(1),
    ArrowDown: () => move(1),
    k: () => move(-1),
    ArrowUp: () => move(-1),
    Enter: () => open(peeked),
    o: () => set({ state: state === "failed" ? undefined : "failed" }),
  });

  return (
    <div className="flex min-h-0 flex-1">
      <Filters search={search} set={set} items={items} />
      <section className="flex min-w-0 flex-1 flex-col" aria-label="Sessions">
        <div className="flex items-center gap-2 border-b border-rule px-3 py-2 mid:px-4">
          <h1 className="sr-only">Sessions</h1>
          <input
            data-find
            type="search"
            aria-label="Find sessions"
            placeholder="Find sessions  /"
            className="field"
            defaultValue={q ?? ""}
            onChange={(event) => set({ q: event.target.value || undefined }, true)}
          />
          <select
            aria-label="State"
            className="field w-auto! wide:hidden"
            value={state ?? ""}
            onChange={(event) => set({ state: event.target.value || undefined })}
          >
            <option value="">any state</option>
            {STATES.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
          <NewRun />
        </div>
        {list.isIndexing && (
          <p role="status" className="border-b border-rule bg-sunk px-3 py-2 text-row text-soft mid:px-4">
            The server is still reading the store. More sessions appear here by themselves.
          </p>
        )}
        {list.error ? (
          <Trouble error={list.error} again={list.again} />
        ) : list.isLoading ? (
          <Skeleton rows={8} height={HEIGHT} />
        ) : items.length === 0 && !hasMore && !list.isIndexing ? (
          <Nothing search={search} set={set} />
        ) : (
          <Window rows={rows}>
            <ul style={{ transform: `translateY(${-(rows.top - rows.first) * HEIGHT}px)` }}>
              {items.slice(rows.first, rows.last).map((row, at) => (
                <li key={row.name}>
                  <Row
                    row={row}
                    isChosen={rows.first + at === chosen}
                    onChoose={() => choose(rows.first + at)}
                    onOpen={() => open(row)}
                  />
                </li>
              ))}
            </ul>
          </Window>
        )}
      </section>
      {peeked !== undefined && <Peek row={peeked} open={() => open(peeked)} />}
    </div>
  );
}

function Row({
  row,
  isChosen,
  onChoose,
  onOpen,
}: {
  readonly row: SessionRow;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
  readonly onOpen: () => void;
}): ReactNode {
  return (
    <button
      type="button"
      aria-current={isChosen ? "true" : undefined}
      onMouseEnter={onChoose}
      onFocus={onChoose}
      onClick={onOpen}
      className={`block w-full overflow-hidden border-b border-rule px-3 py-2 text-left mid:px-4 ${isChosen ? "bg-chosen" : ""}`}
      style={{ height: HEIGHT }}
    >
      <span className="flex items-baseline gap-3">
        <Words className="min-w-0 truncate font-serif text-[16px]">{row.title || row.name}</Words>
        <span className="flex-1" />
        <State state={row.state} />
      </span>
      <span className="meta mt-1 flex gap-3 overflow-hidden whitespace-nowrap">
        <Words className="shrink-0 font-semibold">{row.name}</Words>
        <span className="hidden mid:inline">{count(row.facts, "fact")}</span>
        {row.branches > 1 && (
          <span className="hidden mid:inline">{count(row.branches, "branch", "branches")}</span>
        )}
        {row.tokens !== undefined && row.tokens > 0 && <span>{short(row.tokens)} tokens</span>}
        {row.failures > 0 && <span className="text-bad">{count(row.failures, "failed call")}</span>}
        {row.waits > 0 && <span className="text-warn">{count(row.waits, "question")}</span>}
        <span className="flex-1" />
        <Ago at={row.changedAt} />
      </span>
    </button>
  );
}

type Setter = ReturnType<typeof useAddress>["set"];

function Filters({
  search,
  set,
  items,
}: {
  readonly search: Search;
  readonly set: Setter;
  readonly items: readonly SessionRow[];
}): ReactNode {
  const seen = (of: (row: SessionRow) => readonly string[]): readonly string[] =>
    [...new Set(items.flatMap(of))].sort().slice(0, 12);
  const groups = [
    ["state", "State", STATES],
    ["person", "Person", seen((row) => row.people)],
    ["model", "Model", seen((row) => row.models)],
    ["tool", "Tool", seen((row) => row.tools)],
  ] as const;
  return (
    <aside
      aria-label="Filters"
      className="hidden w-[208px] shrink-0 overflow-y-auto border-r border-rule p-4 wide:block"
    >
      {groups.map(([name, word, choices]) => {
        const all =
          search[name] !== undefined && !choices.includes(search[name])
            ? [...choices, search[name]]
            : choices;
        if (all.length === 0) return null;
        return (
          <fieldset key={name} className="mb-4">
            <legend className="meta mb-1">{word}</legend>
            {all.map((choice) => (
              <label key={choice} className="flex min-h-6 items-center gap-2 text-row">
                <input
                  type="checkbox"
                  checked={search[name] === choice}
                  onChange={(event) => set({ [name]: event.target.checked ? choice : undefined })}
                />
                <Words className="truncate">{choice}</Words>
              </label>
            ))}
          </fieldset>
        );
      })}
    </aside>
  );
}

/** The figures of the session that is pointed at, without opening it. */
function Peek({ row, open }: { readonly row: SessionRow; readonly open: () => void }): ReactNode {
  const figures: readonly (readonly [string, string])[] = [
    ["Facts", row.facts.toLocaleString("en")],
    ["Branches", String(row.branches)],
    ["Tokens", row.tokens === undefined ? "unknown" : row.tokens.toLocaleString("en")],
    ["Cost", row.cost === null ? "unknown" : money(row.cost)],
    ["Failed calls", String(row.failures)],
    ["Models", row.models.join(", ")],
    ["Tools", row.tools.join(", ")],
    ["People", row.people.join(", ")],
  ];
  return (
    <aside
      aria-label="Preview"
      className="hidden w-[340px] shrink-0 overflow-y-auto border-l border-rule bg-raised p-4 wide:block"
    >
      <h2>
        <Words>{row.title || row.name}</Words>
      </h2>
      <p className="mt-1">
        <State state={row.state} /> <span className="meta">head</span> <Id id={row.head} />
      </p>
      {row.text !== "" && (
        <p className="mt-3 border-l-2 border-rule pl-3 font-serif text-[16px]">
          <Words>{row.text}</Words>
        </p>
      )}
      <dl className="mt-4 grid grid-cols-[auto_1fr] gap-x-4 gap-y-1 text-row">
        {figures.map(([word, value]) => (
          <div key={word} className="contents">
            <dt className="text-soft">{word}</dt>
            <dd dir="auto">{value || "none"}</dd>
          </div>
        ))}
      </dl>
      {row.origin !== undefined && (
        <p className="meta mt-3">
          {row.origin.kind} of {row.origin.name ?? row.origin.of.slice(0, 12)}
        </p>
      )}
      <p className="mt-4">
        <Button main onClick={open}>
          Open
        </Button>
      </p>
    </aside>
  );
}

function Nothing({ search, set }: { readonly search: Search; readonly set: Setter }): ReactNode {
  const filters = (["q", "state", "person", "model", "tool"] as const).filter(
    (name) => search[name] !== undefined,
  );
  if (filters.length === 0)
    return (
      <Empty title="No sessions yet">
        <code>rath demo</code> creates one, and it appears here automatically.
      </Empty>
    );
  return (
    <Empty title={`No session matches ${filters.map((name) => `${name} “${search[name]}”`).join(" and ")}`}>
      <p className="mt-3 flex justify-center gap-2">
        {filters.map((name) => (
          <Button key={name} onClick={() => set({ [name]: undefined })}>
            Clear {name}
          </Button>
        ))}
      </p>
    </Empty>
  );
}
