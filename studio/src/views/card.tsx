import { type FocusEvent, type PointerEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { useFact } from "../data";
import type { BranchRow, GraphRow } from "../types";
import { clock, count, duration, heading, Id, plainly, TONES, visible, Words } from "../ui";

/** A pointer on its way to another row shows no card. */
const REST_MS = 350;
/** Room that a card needs below its row; without it, the card stands above. */
const ROOM = 190;

type Place = {
  readonly id: string;
  readonly style: { readonly left: number; readonly top?: number; readonly bottom?: number };
};

/** The row under the pointer or the focus, after a moment: for the elements that carry `data-id`. */
export function useHover(key: unknown): {
  readonly place: Place | undefined;
  readonly on: {
    readonly onPointerOver: (event: PointerEvent<HTMLElement>) => void;
    readonly onPointerLeave: () => void;
    readonly onPointerDown: () => void;
    readonly onFocus: (event: FocusEvent<HTMLElement>) => void;
    readonly onBlur: () => void;
  };
} {
  const [place, setPlace] = useState<Place>();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const leave = (): void => {
    clearTimeout(timer.current);
    setPlace(undefined);
  };
  // Another part of the graph came under the pointer: the card would tell of a row that is elsewhere now.
  useEffect(() => leave, [key]);
  const enter = (target: EventTarget): void => {
    const row = (target as HTMLElement).closest<HTMLElement>("[data-id]");
    if (row?.dataset.id === place?.id && place !== undefined) return;
    leave();
    const id = row?.dataset.id;
    if (row === null || id === undefined) return;
    timer.current = setTimeout(() => {
      const { top, bottom, left } = row.getBoundingClientRect();
      const isBelow = bottom + ROOM < innerHeight;
      setPlace({
        id,
        style: {
          left: Math.min(left, Math.max(12, innerWidth - 480)),
          ...(isBelow ? { top: bottom + 4 } : { bottom: innerHeight - top + 4 }),
        },
      });
    }, REST_MS);
  };
  return {
    place,
    on: {
      onPointerOver: ({ target }) => enter(target),
      onPointerLeave: leave,
      onPointerDown: leave,
      onFocus: ({ target }) => target.matches(":focus-visible") && enter(target),
      onBlur: leave,
    },
  };
}

/** What a row is about, without selecting it: one request at most, kept. */
export function HoverCard({
  place,
  row,
  branch,
}: {
  readonly place: Place;
  readonly row: GraphRow;
  readonly branch: BranchRow | undefined;
}): ReactNode {
  const last = useFact(row.last).data;
  const known = last?.id === row.last ? last : undefined;
  const usage = known?.fact.usage as { readonly input?: number; readonly output?: number } | undefined;
  const ms = row.at === null ? 0 : (known?.row.at ?? row.at) - row.at;
  const said = known?.fact.detail ?? known?.fact.content ?? known?.fact.output ?? known?.fact.error;
  const text = typeof said === "string" ? said : said === undefined ? row.text : JSON.stringify(said);
  return (
    <div
      role="tooltip"
      className="card no-print pointer-events-none fixed z-10 flex max-h-[176px] w-[min(460px,calc(100vw-24px))] flex-col overflow-hidden p-3 text-row shadow-lg"
      style={place.style}
    >
      <p className={`line-clamp-2 font-serif text-[15px] ${TONES[row.tone] ?? ""}`}>
        <Words>{heading(row.label)}</Words>
      </p>
      {text !== undefined && text !== row.label && (
        <p className="mt-1 line-clamp-3 text-soft">
          <Words>{visible(plainly(text).slice(0, 240))}</Words>
        </p>
      )}
      <p className="meta mt-2 flex flex-wrap gap-x-3">
        <span>{known?.row.type ?? row.type}</span>
        <Words>{row.by}</Words>
        <Words>{`${branch?.name ?? row.branch ?? ""}${branch === undefined || branch.fate === "open" ? "" : `, ${branch.fate}`}`}</Words>
        <span>
          {clock(row.at)}
          {ms > 0 && ` + ${duration(ms)}`}
        </span>
        {usage?.output !== undefined && <span>{count((usage.input ?? 0) + usage.output, "token")}</span>}
        {row.facts > 1 && <span>{count(row.facts, "fact")}</span>}
        <Id id={row.id} />
      </p>
    </div>
  );
}
