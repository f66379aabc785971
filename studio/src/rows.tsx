import { type ReactNode, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";

/** Elements end at 17.9 million pixels in Firefox: beyond this height, dragging the bar maps by ratio. */
const TALLEST = 8_000_000;

export type Rows = {
  /** The element that scrolls: it may come and go while data is on its way. */
  readonly scroller: (element: HTMLDivElement | null) => void;
  /** The first row in view, with its fraction: the truth, of which the place of the scroll bar is only an image. */
  readonly top: number;
  readonly height: number;
  readonly width: number;
  readonly first: number;
  readonly last: number;
  readonly spacer: number;
  /** The last row is in view: what arrives is followed. */
  readonly isAtEnd: boolean;
  to(top: number): void;
  /** Scrolls as little as needed until the row is in view; true where it was in view already. */
  reveal(row: number, centre?: boolean): void;
};

/** A window on rows of equal height, however many there are. */
export function useRows(count: number, rowHeight: number, followEnd = false): Rows {
  const [scroller, setScroller] = useState<HTMLDivElement | null>(null);
  const [box, setBox] = useState({ height: 600, width: 1000 });
  const [top, setTop] = useState(0);
  const seen = box.height / rowHeight;
  const most = Math.max(0, count - seen);
  const spacer = Math.min(count * rowHeight, TALLEST);
  const isScaled = count * rowHeight > TALLEST;
  const isAtEnd = top >= most - 0.5;
  const state = useRef({ top, most, isScaled, isAtEnd, count, own: -1 });
  Object.assign(state.current, { top, most, isScaled, isAtEnd });

  const to = useCallback(
    (wanted: number) => {
      const now = state.current;
      const next = Math.min(Math.max(0, wanted), now.most);
      if (scroller !== null) {
        const span = scroller.scrollHeight - scroller.clientHeight;
        const place = now.isScaled ? (now.most === 0 ? 0 : (next / now.most) * span) : next * rowHeight;
        now.own = Math.round(place);
        scroller.scrollTop = place;
      }
      now.top = next;
      setTop(next);
    },
    [rowHeight, scroller],
  );

  useEffect(() => {
    const element = scroller;
    if (element === null) return;
    const observer = new ResizeObserver(() =>
      setBox({ height: element.clientHeight, width: element.clientWidth }),
    );
    observer.observe(element);
    const scrolled = (): void => {
      const now = state.current;
      // Our own move of the bar says nothing new; a scaled bar could not say it exactly.
      if (Math.abs(element.scrollTop - now.own) < 2) return;
      now.own = -1;
      const span = element.scrollHeight - element.clientHeight;
      now.top = now.isScaled
        ? span === 0
          ? 0
          : (element.scrollTop / span) * now.most
        : element.scrollTop / rowHeight;
      setTop(now.top);
    };
    const wheeled = (event: WheelEvent): void => {
      if (!state.current.isScaled || event.ctrlKey || event.deltaY === 0) return;
      event.preventDefault();
      const pixels = event.deltaMode === 1 ? event.deltaY * rowHeight : event.deltaY;
      to(state.current.top + pixels / rowHeight);
    };
    element.addEventListener("scroll", scrolled, { passive: true });
    element.addEventListener("wheel", wheeled, { passive: false });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", scrolled);
      element.removeEventListener("wheel", wheeled);
    };
  }, [rowHeight, scroller, to]);

  // What arrives at the end is followed only by those who look at the end.
  const counted = useRef(count);
  useLayoutEffect(() => {
    const before = counted.current;
    counted.current = count;
    if (count === before) return;
    if (followEnd && wasAtEnd(state.current.top, before, seen)) to(count);
    else if (state.current.top > most) to(most);
  }, [count, followEnd, most, seen, to]);

  const reveal = useCallback(
    (row: number, centre = false) => {
      const { top: now } = state.current;
      if (row >= now && row + 1 <= now + seen) return;
      if (centre) to(row - seen / 2);
      else to(row < now ? row : row + 1 - seen);
    },
    [seen, to],
  );

  const first = Math.max(0, Math.floor(top));
  return {
    scroller: setScroller,
    top,
    ...box,
    first,
    last: Math.min(count, Math.ceil(top + seen) + 1),
    spacer,
    isAtEnd,
    to,
    reveal,
  };
}

function wasAtEnd(top: number, count: number, seen: number): boolean {
  return count > 0 && top >= Math.max(0, count - seen) - 1.5;
}

/** The scroller of a window: its spacer gives the bar its length, and what is in view stays in place. */
export function Window({
  rows,
  children,
  className = "",
  label,
}: {
  readonly rows: Rows;
  readonly children: ReactNode;
  readonly className?: string;
  /** The name of a window without anything to focus in it: then it is scrolled with keys itself. */
  readonly label?: string;
}): ReactNode {
  return (
    <div
      ref={rows.scroller}
      {...(label !== undefined && { tabIndex: 0, role: "region", "aria-label": label })}
      className={`relative min-h-0 flex-1 overflow-y-auto overflow-x-hidden ${className}`}
    >
      <div style={{ height: Math.max(rows.spacer, 1) }}>
        <div
          className="sticky top-0 overflow-clip"
          style={{ height: Math.min(rows.height, Math.max(rows.spacer, 1)) }}
        >
          {children}
        </div>
      </div>
    </div>
  );
}
