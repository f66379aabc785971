import { type ReactNode, useEffect, useRef, useState } from "react";
import { usePending } from "./data";
import { useAddress } from "./route";
import type { PendingRow } from "./types";
import { Button, briefOf, visible, Words } from "./ui";

/** Tells of a question that begins to wait for a person: in the title, in the page, and outside of it where the person allowed that. */

/** Requests that nobody has answered. */
export function useWaiting(): readonly PendingRow[] | undefined {
  return usePending().data?.items.filter(({ answered }) => !answered);
}

/** What is asked for, with the values that tell this call from others. */
export function whatOf({ what, kind, input }: PendingRow): string {
  const given = typeof input === "object" && input !== null && "input" in input ? input.input : undefined;
  return visible(kind === "approval" ? `${what} ${briefOf(given)}` : what);
}

/** A note in the corner when something arrives; it stays until it is read, because the run waits as long. */
export function News(): ReactNode {
  const { go } = useAddress();
  const waiting = useWaiting();
  const known = useRef<ReadonlySet<string>>(undefined);
  const [told, tell] = useState<PendingRow>();
  useEffect(() => {
    if (waiting === undefined) return;
    const before = known.current;
    known.current = new Set(waiting.map(({ request }) => request));
    const arrived = before && waiting.find(({ request }) => !before.has(request));
    if (arrived === undefined) return;
    tell(arrived);
    // The operating system shows it to anybody near the screen: it names the session, not the content.
    if (document.hidden && canNotify() && Notification.permission === "granted")
      new Notification("OpenRath", { body: `${arrived.name} waits for you`, tag: arrived.request });
  }, [waiting]);
  const isOpen = told !== undefined && waiting?.some(({ request }) => request === told.request) === true;
  return (
    <div
      role="status"
      className="no-print pointer-events-none fixed inset-x-3 bottom-32 z-30 flex justify-end mid:bottom-16"
    >
      {isOpen && (
        <div className="card fresh pointer-events-auto w-[min(100%,360px)] border-l-4 border-l-warn p-3 shadow-lg">
          <p className="font-semibold">
            <Words>{told.name}</Words> waits for you
          </p>
          <p className="mt-1 line-clamp-2 text-row">
            <Words>{whatOf(told)}</Words>
          </p>
          <p className="mt-2 flex gap-2">
            <Button
              main
              onClick={() => {
                tell(undefined);
                go("/inbox", { at: told.request });
              }}
            >
              Open
            </Button>
            <Button onClick={() => tell(undefined)}>Later</Button>
          </p>
        </div>
      )}
    </div>
  );
}

/** Asks for notifications of the operating system; a browser only allows the question after a click. */
export function NotifyMe(): ReactNode {
  const [permission, setPermission] = useState(() => (canNotify() ? Notification.permission : "denied"));
  if (permission !== "default") return null;
  return (
    <Button
      hint="Shows a notification while this page is in the background"
      onClick={() => void Notification.requestPermission().then(setPermission)}
    >
      Notify me
    </Button>
  );
}

function canNotify(): boolean {
  return "Notification" in window;
}
