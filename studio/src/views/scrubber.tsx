import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { get, offline } from "../client";
import { usePlace, useSummary } from "../data";
import { useKeys } from "../keys";
import { useAddress } from "../route";
import type { GraphPage, GraphRow, GraphSummary, Level } from "../types";
import { Button, Id, moment } from "../ui";

const PAGE = 256;
/** Steps a second while the run plays. */
const SPEEDS = [1, 4, 16];

/** The whole session on one line: failures, questions and forks as marks; dragging shows the session as of a fact. */
export function Scrubber({
  name,
  level,
  summary,
}: {
  readonly name: string;
  readonly level: Level;
  /** Of the session as it is shown: in the past, the line below still has all of it. */
  readonly summary: GraphSummary;
}): ReactNode {
  const { search, set } = useAddress();
  const queries = useQueryClient();
  const { buckets, rows } = useSummary(name).data ?? summary;
  const [drag, setDrag] = useState<number>();
  const [speed, setSpeed] = useState<number>();
  const [row, setRow] = useState<GraphRow>();
  // A copy has no answers as of each fact: there the line moves the selection.
  const head = offline === undefined ? search.head : search.at;
  const isPast = head !== undefined;
  const total = rows[level];
  const place = usePlace(name, level, head);
  // The next key may come before the place of the last one is known.
  const position = useRef(0);
  const here = isPast ? (place.data ?? position.current) : Math.max(0, total - 1);
  if (!isPast || place.data !== undefined) position.current = here;

  const goTo = async (wanted: number): Promise<void> => {
    setDrag(undefined);
    if (offline === undefined && wanted >= total - 1) {
      setSpeed(undefined);
      set({ head: undefined }, isPast);
      return;
    }
    const at = Math.min(Math.max(0, wanted), total - 1);
    if (offline !== undefined && wanted >= total) {
      setSpeed(undefined);
      return;
    }
    const page = Math.floor(at / PAGE);
    const found = await queries.fetchQuery({
      queryKey: ["name", name, "/graph", level, page, undefined],
      queryFn: ({ signal }) =>
        get<GraphPage>(`/api/sessions/${encodeURIComponent(name)}/graph`, { level, page }, signal),
    });
    const next = found.rows[at - found.first];
    if (next === undefined) return;
    position.current = at;
    setRow(next);
    set(offline === undefined ? { head: next.last, at: next.id } : { at: next.id }, isPast);
  };
  // The run at its end begins anew, as a recording does.
  const play = (): void => {
    if (!isPast && speed === undefined) void goTo(0);
    setSpeed(speed === undefined ? SPEEDS[0] : undefined);
  };
  const step = (by: number): void => {
    setSpeed(undefined);
    void goTo(position.current + by);
  };
  useKeys({ "<": () => step(-1), ">": () => step(1), " ": play });
  const next = useRef(() => {});
  next.current = () => void goTo(here + 1);
  const isReady = !isPast || place.data !== undefined;
  useEffect(() => {
    if (speed === undefined || !isReady) return;
    // The next step comes after the last one is shown, however long that took.
    const timer = setTimeout(() => next.current(), 1_000 / speed);
    return () => clearTimeout(timer);
  }, [speed, isReady, here]);

  const most = Math.max(1, ...buckets.map(([facts = 0]) => facts));
  const later = total - 1 - here;
  return (
    <footer className="no-print shrink-0 border-t border-rule bg-sunk px-3 mid:px-4">
      {isPast && offline === undefined && (
        <p role="status" className="flex flex-wrap items-center gap-2 pt-1 text-row text-warn">
          <span>
            As of {row !== undefined && row.last === head ? `${moment(row.at)}, ` : ""}fact <Id id={head} />.{" "}
            {later === 1
              ? `1 later ${level} exists.`
              : `${later.toLocaleString("en")} later ${level}s exist.`}
          </span>
          <Button onClick={() => void goTo(total)}>Back to live</Button>
        </p>
      )}
      <div className="flex items-center gap-1 mid:gap-2">
        <Button quiet onClick={() => step(-1)} disabled={here === 0} hint="One step back (<)">
          <span aria-hidden="true">◂</span>
          <span className="sr-only">Step back</span>
        </Button>
        <Button quiet onClick={play} hint="Play the run (Space)">
          {speed === undefined ? "Play" : "Pause"}
        </Button>
        <Button quiet onClick={() => step(1)} disabled={!isPast} hint="One step forward (>)">
          <span aria-hidden="true">▸</span>
          <span className="sr-only">Step forward</span>
        </Button>
        {speed !== undefined && (
          <Button
            quiet
            hint="Steps per second"
            onClick={() => setSpeed(SPEEDS[(SPEEDS.indexOf(speed) + 1) % SPEEDS.length])}
          >
            {speed}×
          </Button>
        )}
        <div className="relative flex h-10 min-w-0 flex-1 items-center">
          <svg
            aria-hidden="true"
            className="absolute inset-x-0 bottom-1 h-8 w-full"
            preserveAspectRatio="none"
            viewBox={`0 0 ${Math.max(1, buckets.length)} 32`}
          >
            {buckets.map(([facts = 0, failures = 0, waits = 0, forks = 0], at) => {
              const key = `${at}-${facts}`;
              const fill =
                failures > 0
                  ? "var(--bad)"
                  : waits > 0
                    ? "var(--warn)"
                    : forks > 0
                      ? "var(--accent)"
                      : "var(--rule)";
              const marked = failures + waits + forks > 0;
              const height = marked ? 26 : 3 + 9 * Math.sqrt(facts / most);
              return <rect key={key} x={at} y={32 - height} width={1} height={height} style={{ fill }} />;
            })}
          </svg>
          <input
            type="range"
            aria-label="Time travel"
            aria-valuetext={
              isPast || drag !== undefined ? `${level} ${(drag ?? here) + 1} of ${total}` : "live"
            }
            min={0}
            max={Math.max(0, total - 1)}
            value={drag ?? here}
            className="scrubber relative w-full"
            onChange={(event) => setDrag(Number(event.target.value))}
            onPointerUp={() => drag !== undefined && void goTo(drag)}
            onKeyUp={() => drag !== undefined && void goTo(drag)}
          />
        </div>
      </div>
    </footer>
  );
}
