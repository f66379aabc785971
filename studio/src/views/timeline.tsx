import { type ReactNode, useMemo, useState } from "react";
import { useList, useOf } from "../data";
import { Tabs, useTitle } from "../frame";
import { useKeys } from "../keys";
import { useAddress } from "../route";
import { useRows, Window } from "../rows";
import type { Series, Span } from "../types";
import { clock, count, duration, Empty, money, Skeleton, State, short, Trouble, Words } from "../ui";
import { Details } from "./details";

const HEIGHT = 30;
/** Longer than this without any call is folded: a wait for a person would press everything else together. */
const IDLE = 30_000;
const COLOURS: { readonly [kind in Span["kind"]]: string } = {
  model: "bg-accent",
  tool: "bg-good",
  step: "bg-what-if",
  command: "bg-live",
  wait: "bg-warn",
  module: "bg-edge",
};

/** Calls by the clock, with idle time folded. */
export function Timeline(): ReactNode {
  const { name, search, set } = useAddress();
  useTitle(`${name}: timeline`);
  const list = useList<Span>(["name", name], `/api/sessions/${encodeURIComponent(name)}/timeline`, {
    head: search.head,
    limit: 1_000,
  });
  // Modules are the frame of calls and not calls; what has no time has no place on a clock.
  const spans = useMemo(
    () =>
      list.items.flatMap((span) =>
        span.kind === "module" || span.from === null ? [] : [timed(span, span.from)],
      ),
    [list.items],
  );
  const scale = useMemo(() => scaleOf(spans), [spans]);
  const rows = useRows(spans.length, HEIGHT);
  const [isOpen, setOpen] = useState(false);
  const here = spans.findIndex(({ id }) => id === search.at);
  const step = (by: number): void => {
    const next = Math.min(Math.max(0, here + by), spans.length - 1);
    const span = spans[next];
    if (span === undefined) return;
    set({ at: span.id });
    rows.reveal(next);
  };
  useKeys({
    j: () => step(1),
    ArrowDown: () => step(1),
    k: () => step(-1),
    ArrowUp: () => step(-1),
    n: () => step(Math.max(1, spans.findIndex((span, at) => at > here && span.state === "failed") - here)),
    Enter: () => setOpen(true),
    Escape: () => setOpen(false),
  });
  return (
    <>
      <Tabs name={name} />
      {list.error ? (
        <Trouble error={list.error} again={list.again} />
      ) : list.isLoading ? (
        <Skeleton rows={12} height={HEIGHT} />
      ) : spans.length === 0 ? (
        <Empty title="No calls yet">
          Calls of models, tools and commands appear here with their duration.
        </Empty>
      ) : (
        <div className="flex min-h-0 flex-1">
          <section aria-label="Timeline" className="flex min-w-0 flex-1 flex-col">
            <h1 className="sr-only">Timeline of {name}</h1>
            <Sums name={name} />
            <Axis scale={scale} />
            <Window rows={rows}>
              <ul style={{ transform: `translateY(${-(rows.top - rows.first) * HEIGHT}px)` }}>
                {spans.slice(rows.first, rows.last).map((span) => (
                  <li key={span.id}>
                    <button
                      type="button"
                      className={`flex w-full items-center gap-3 px-3 text-left text-row mid:px-4 ${span.id === search.at ? "bg-chosen" : "hover:bg-sunk"}`}
                      style={{ height: HEIGHT }}
                      onClick={() => {
                        set({ at: span.id });
                        setOpen(true);
                      }}
                    >
                      <span className="w-[38%] shrink-0 truncate mid:w-[260px]">
                        <span className="meta">{span.kind} </span>
                        <Words>{span.name}</Words>
                      </span>
                      <span className="relative h-4 min-w-0 flex-1">
                        <Bar span={span} scale={scale} />
                      </span>
                      <span className="meta hidden w-[190px] shrink-0 justify-end gap-2 mid:flex">
                        {span.retries > 0 && (
                          <span className="text-warn">{count(span.retries, "retry", "retries")}</span>
                        )}
                        {span.tokens !== undefined && <span>{short(span.tokens)} tokens</span>}
                        <span>
                          {span.to === undefined
                            ? `since ${clock(span.from)}`
                            : duration(span.to - span.from)}
                        </span>
                      </span>
                      {span.state !== "done" && <State state={span.state} />}
                    </button>
                  </li>
                ))}
              </ul>
            </Window>
          </section>
          {search.at !== undefined && isOpen && <Details id={search.at} close={() => setOpen(false)} />}
        </div>
      )}
    </>
  );
}

/** A span with its times and its tokens as numbers. */
type Timed = Omit<Span, "from" | "to" | "tokens"> & {
  readonly from: number;
  readonly to?: number;
  readonly tokens?: number;
};

function timed({ to, tokens, ...span }: Span, from: number): Timed {
  const end = span.ms !== undefined ? from + span.ms : to;
  return {
    ...span,
    from,
    ...(typeof end === "number" && { to: end }),
    ...(tokens !== undefined && { tokens: tokens.input + tokens.output }),
  };
}

type Scale = {
  readonly place: (at: number) => number;
  readonly folds: readonly number[];
  /** Milliseconds without the pauses that are folded. */
  readonly busy: number;
};

/** The clock without its idle stretches, from 0 to 1. */
function scaleOf(spans: readonly Timed[]): Scale {
  const newest = Math.max(...spans.map(({ from, to }) => to ?? from));
  const busy = spans
    .filter(({ kind }) => kind !== "wait")
    .map(({ from, to }) => [from, to ?? newest] as const);
  const pieces: { from: number; to: number; at: number }[] = [];
  let length = 0;
  for (const [from, to] of busy.toSorted(([a], [b]) => a - b)) {
    const last = pieces.at(-1);
    if (last !== undefined && from - last.to < IDLE) {
      length += Math.max(0, to - last.to);
      last.to = Math.max(last.to, to);
    } else {
      pieces.push({ from, to, at: length });
      length += to - from;
    }
  }
  const gap = length * 0.02;
  const total = Math.max(1, length + gap * (pieces.length - 1));
  const place = (at: number): number => {
    const index = pieces.findLastIndex((piece) => piece.from <= at);
    const piece = pieces[Math.max(0, index)];
    if (piece === undefined) return 0;
    return (
      (piece.at + gap * Math.max(0, index) + Math.min(Math.max(0, at - piece.from), piece.to - piece.from)) /
      total
    );
  };
  return { place, folds: pieces.slice(1).map((piece) => place(piece.from)), busy: length };
}

/** The clock over the bars: as long as the run was busy, from its beginning. */
function Axis({ scale }: { readonly scale: Scale }): ReactNode {
  return (
    <div
      aria-hidden="true"
      className="meta flex shrink-0 items-end gap-3 border-y border-rule bg-sunk px-3 py-1 mid:px-4"
    >
      <span className="w-[38%] shrink-0 mid:w-[260px]">Call</span>
      <span className="flex min-w-0 flex-1 justify-between">
        {[0, 0.25, 0.5, 0.75, 1].map((part) => (
          <span key={part} className={part % 0.5 === 0 ? "" : "hidden wide:inline"}>
            {part === 0 ? "0" : duration(part * scale.busy)}
          </span>
        ))}
      </span>
      <span className="hidden w-[190px] shrink-0 text-right mid:block">tokens, time</span>
    </div>
  );
}

function Bar({ span, scale }: { readonly span: Timed; readonly scale: Scale }): ReactNode {
  const [from, to] = [scale.place(span.from), scale.place(span.to ?? Number.MAX_SAFE_INTEGER)];
  const isBad = span.state === "failed" || span.state === "in-doubt";
  return (
    <>
      {scale.folds.map((fold) => (
        <i
          key={fold}
          title="idle time, folded"
          className="absolute inset-y-0 border-l border-dashed border-edge"
          style={{ left: `${100 * fold}%` }}
        />
      ))}
      <i
        className={`absolute top-1 h-2 min-w-[3px] rounded-sm ${isBad ? "bg-bad" : COLOURS[span.kind]}`}
        style={{ left: `${Math.min(99.5, 100 * from)}%`, width: `${100 * (to - from)}%` }}
      />
    </>
  );
}

/** What the calls took together, and how tokens, cost and time went over the whole run. */
function Sums({ name }: { readonly name: string }): ReactNode {
  const { data } = useOf<Series>(name, "/series", { buckets: 48 });
  if (data === undefined) return <div className="h-[86px]" />;
  const { buckets, total, idle } = data;
  if (total.calls === 0) return null;
  return (
    <div className="flex min-h-[86px] flex-wrap items-end gap-x-8 gap-y-2 px-3 py-3 mid:px-4">
      <Chart word="Tokens" values={buckets.map(({ tokens }) => tokens)} say={short} />
      <Chart word="Longest reply" values={buckets.map(({ longest }) => longest)} say={duration} />
      {total.cost !== null && total.cost > 0 && (
        <Chart word="Cost" values={buckets.map(({ cost }) => cost ?? 0)} say={money} />
      )}
      <p className="meta">
        {count(total.calls, "model call")}, {duration(total.latency)} each on average
        <br />
        {short(total.tokens)} tokens, {money(total.cost)}
        {idle.length > 0 && (
          <>
            <br />
            {count(idle.length, "pause")} of more than 30 s, folded below
          </>
        )}
      </p>
    </div>
  );
}

/** A small bar chart that is also a table for those who do not see it. */
function Chart({
  word,
  values,
  say,
}: {
  readonly word: string;
  readonly values: readonly number[];
  readonly say: (value: number) => string;
}): ReactNode {
  // Many values are drawn by the greatest of each stretch.
  const bars = Math.min(values.length, 60);
  const heights = Array.from({ length: bars }, (_, at) =>
    Math.max(
      0,
      ...values.slice(Math.floor((at * values.length) / bars), Math.floor(((at + 1) * values.length) / bars)),
    ),
  );
  const most = Math.max(1, ...heights);
  if (values.length === 0) return null;
  return (
    <figure>
      <figcaption className="meta">
        {word}, at most {say(most)}
      </figcaption>
      <svg
        role="img"
        aria-label={`${word}: ${heights.slice(-20).map(say).join(", ")}`}
        viewBox={`0 0 ${bars * 5} 32`}
        width={bars * 5}
        height={32}
        className="mt-1 max-w-full"
      >
        {heights.map((value, at) => (
          <rect
            key={at}
            x={at * 5}
            y={32 - (30 * value) / most - 1}
            width={4}
            height={(30 * value) / most + 1}
            style={{ fill: "var(--accent)" }}
          />
        ))}
      </svg>
    </figure>
  );
}
