import { Link, Outlet, useRouterState } from "@tanstack/react-router";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { offline } from "./client";
import { useSession, useWho } from "./data";
import { HELP, useKeys } from "./keys";
import { acceptStore, type Connection, onEvent, reconnectNow, useConnection } from "./live";
import { News, useWaiting } from "./news";
import { Palette } from "./palette";
import { useAddress } from "./route";
import { Sheet } from "./sheet";
import { Button, clock, count, State } from "./ui";
import { RunActs } from "./views/start";

const PLACES = [
  { to: "/", word: "Sessions", key: "s" },
  // A copy answers nothing.
  ...(offline === undefined ? [{ to: "/inbox", word: "Inbox", key: "i" } as const] : []),
  { to: "/memory", word: "Memory", key: "m" },
  { to: "/compare", word: "Compare", key: "c" },
] as const;

const VIEWS = [
  { view: "graph", word: "Graph", key: "g" },
  { view: "turns", word: "Turns", key: "t" },
  { view: "timeline", word: "Timeline", key: "w" },
  { view: "files", word: "Files", key: "f" },
  { view: "evidence", word: "Evidence", key: "v" },
] as const;

export function Frame(): ReactNode {
  const { name, go } = useAddress();
  const [shown, show] = useState<"help" | "palette">();
  useKeys({
    "?": () => show("help"),
    "Ctrl+k": () => show("palette"),
    "/": () => document.querySelector<HTMLInputElement>("[data-find]")?.focus() ?? show("palette"),
    ...Object.fromEntries(PLACES.map(({ to, key }) => [`g ${key}`, () => go(to)])),
    ...(name !== "" &&
      Object.fromEntries(
        VIEWS.map(({ view, key }) => [`g ${key}`, () => go(`/s/${encodeURIComponent(name)}/${view}`)]),
      )),
  });
  return (
    <div className="grid h-full grid-rows-[auto_1fr_auto] mid:grid-cols-[92px_1fr] mid:grid-rows-[auto_1fr] wide:grid-cols-[208px_1fr]">
      <a href="#main" className="sr-only focus:not-sr-only">
        Skip to the content
      </a>
      <Bar onFind={() => show("palette")} onHelp={() => show("help")} />
      <Rail />
      <main id="main" tabIndex={-1} className="flex min-h-0 min-w-0 flex-col outline-none mid:col-start-2">
        <Notice />
        <Outlet />
      </main>
      <Announcer />
      <News />
      {shown === "palette" && <Palette places={PLACES} views={VIEWS} close={() => show(undefined)} />}
      {shown === "help" && <Help close={() => show(undefined)} />}
    </div>
  );
}

function Bar({ onFind, onHelp }: { readonly onFind: () => void; readonly onHelp: () => void }): ReactNode {
  const who = useWho();
  const { name } = useAddress();
  const session = useSession(name).data;
  return (
    <header className="no-print flex h-12 items-center gap-3 border-b border-rule bg-raised px-3 mid:col-span-2 mid:px-4">
      <Link
        to="/"
        className={`shrink-0 font-serif text-[18px] text-ink no-underline ${name === "" ? "" : "hidden mid:inline"}`}
      >
        OpenRath<span className="hidden text-soft mid:inline"> studio</span>
      </Link>
      {name !== "" && (
        <span className="min-w-0 truncate font-serif text-[16px] mid:font-sans mid:text-[14px] mid:text-soft">
          <span aria-hidden="true" className="hidden mid:inline">
            /{" "}
          </span>
          <span dir="auto" title={session?.title}>
            {name}
          </span>
        </span>
      )}
      {name !== "" && session !== undefined && (
        <span className="hidden mid:inline">
          <State state={session.state} />
        </span>
      )}
      <span className="flex-1" />
      <LiveState />
      <Button quiet onClick={onFind} hint="Find anything (Ctrl+K)">
        Find
      </Button>
      <span className="hidden mid:inline">
        <Button quiet onClick={onHelp} hint="Keyboard shortcuts (?)">
          Keys
        </Button>
      </span>
      <Theme />
      {who.data !== undefined && <span className="meta hidden mid:inline">{who.data.principal}</span>}
    </header>
  );
}

/** Beside the page on wide screens, at its foot on phones. */
function Rail(): ReactNode {
  const waiting = useWaiting()?.length ?? 0;
  return (
    <nav
      aria-label="Main"
      className="no-print order-last flex justify-around border-t border-rule bg-sunk mid:order-none mid:flex-col mid:justify-start mid:border-t-0 mid:border-r mid:py-3"
    >
      {PLACES.map(({ to, word }) => (
        <Link
          key={to}
          to={to}
          activeOptions={{ exact: to === "/", includeSearch: false }}
          activeProps={{ className: "bg-chosen font-semibold", "aria-current": "page" }}
          className="flex min-h-14 flex-1 flex-col items-center justify-center gap-1 px-2 text-center text-[13px] text-ink no-underline hover:bg-raised mid:min-h-10 mid:flex-none wide:flex-row wide:justify-between wide:px-4 wide:text-[14px]"
        >
          {word}
          {word === "Inbox" && waiting > 0 && (
            <span
              className="rounded-full bg-warn px-2 text-meta text-paper"
              title={`${waiting} wait for you`}
            >
              {waiting}
            </span>
          )}
        </Link>
      ))}
    </nav>
  );
}

/** The views of one session. */
export function Tabs({ name }: { readonly name: string }): ReactNode {
  const { search } = useAddress();
  const kept = {
    ...(search.at !== undefined && { at: search.at }),
    ...(search.head !== undefined && { head: search.head }),
  };
  return (
    <nav
      aria-label="Views of the session"
      className="no-print flex shrink-0 overflow-x-auto border-b border-rule px-2 mid:px-4"
    >
      {VIEWS.map(({ view, word }) => (
        <Link
          key={view}
          to={`/s/$name/${view}` as "/"}
          params={{ name } as never}
          search={kept as never}
          activeOptions={{ includeSearch: false }}
          activeProps={{ className: "border-accent! text-ink", "aria-current": "page" }}
          className="border-b-2 border-transparent px-3 py-2 text-soft no-underline hover:text-ink"
        >
          {word}
        </Link>
      ))}
      <span className="flex-1" />
      <RunActs name={name} />
    </nav>
  );
}

const WORDS: { readonly [state in Connection["state"]]: readonly [string, string] } = {
  connecting: ["○", "connecting"],
  live: ["●", "live"],
  broken: ["×", "not connected"],
  offline: ["■", "offline copy"],
  refused: ["×", "signed out"],
};

function LiveState(): ReactNode {
  const { state } = useConnection();
  const [sign, word] = WORDS[state];
  return (
    <span
      className={`text-meta whitespace-nowrap ${state === "live" ? "text-live" : state === "broken" || state === "refused" ? "text-bad" : "text-soft"}`}
    >
      <span aria-hidden="true">{sign}</span> {word}
    </span>
  );
}

function Notice(): ReactNode {
  const { state, since, again, isReplaced, isLinkUsed, store } = useConnection();
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (state !== "broken") return;
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [state]);
  if (isReplaced)
    return (
      <Line>
        The server now shows another store, so the page started again.{" "}
        <Button onClick={acceptStore}>OK</Button>
      </Line>
    );
  if (state === "refused")
    return (
      <Line>
        {store !== undefined
          ? "Your sign-in has ended. You can still read this page; to continue, open the link that rath studio prints."
          : isLinkUsed
            ? "This link was used before, or is older than ten minutes. It signs in one browser, once. Stop rath studio and start it again: it prints a new link."
            : "This browser is not signed in. Open the link that rath studio prints."}
      </Line>
    );
  // A short cut mends itself before anybody reads about it.
  if (state !== "broken" || now - since < 0) return null;
  const seconds = Math.max(0, Math.ceil(((again ?? now) - now) / 1_000));
  return (
    <Line>
      The server stopped answering at {clock(since)}. The page shows the state at that time. Next attempt in{" "}
      {seconds} s. <Button onClick={reconnectNow}>Now</Button>
    </Line>
  );
}

function Line({ children }: { readonly children: ReactNode }): ReactNode {
  return (
    <div
      role="status"
      className="no-print flex flex-wrap items-center gap-2 border-b border-rule bg-sunk px-4 py-2 text-row text-warn"
    >
      {children}
    </div>
  );
}

function Theme(): ReactNode {
  const [theme, setTheme] = useState(() => localStorage.getItem("theme") ?? "");
  useEffect(() => {
    if (theme === "") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    localStorage.setItem("theme", theme);
  }, [theme]);
  const next = theme === "" ? "dark" : theme === "dark" ? "light" : "";
  return (
    <Button quiet onClick={() => setTheme(next)} hint="Theme: light, dark, or the setting of the system">
      <span className="hidden wide:inline">Theme:</span>
      {theme === "" ? "Auto" : theme === "dark" ? "Dark" : "Light"}
    </Button>
  );
}

let speak: (words: string) => void = () => {};
/** Says something at once to those who do not see the page. */
export function say(words: string): void {
  speak(words);
}

/** Says to those who do not see it that something is new: politely, and every five seconds at most. */
function Announcer(): ReactNode {
  const [words, setWords] = useState("");
  const news = useRef({ facts: 0, pending: false });
  useEffect(() => {
    const stop = onEvent(({ type, data }) => {
      if (type === "move") news.current.facts += Array.isArray(data.rows) ? data.rows.length : 1;
      if (type === "pending") setWords("The inbox has changed.");
    });
    speak = setWords;
    const timer = setInterval(() => {
      if (news.current.facts > 0) setWords(count(news.current.facts, "new fact"));
      news.current.facts = 0;
    }, 5_000);
    return () => {
      stop();
      clearInterval(timer);
    };
  }, []);
  return (
    <div aria-live="polite" className="sr-only">
      {words}
    </div>
  );
}

function Help({ close }: { readonly close: () => void }): ReactNode {
  return (
    <Sheet title="Keys" close={close}>
      <dl className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-1">
        {HELP.map(([keys, what]) => (
          <div key={keys} className="contents">
            <dt>
              <kbd className="font-mono text-row">{keys}</kbd>
            </dt>
            <dd className="text-soft">{what}</dd>
          </div>
        ))}
      </dl>
      {offline !== undefined && (
        <p className="mt-4 text-soft">This page is a read-only copy without a server.</p>
      )}
    </Sheet>
  );
}

export function useTitle(title: string): void {
  const path = useRouterState({ select: (state) => state.location.pathname });
  const waiting = useWaiting()?.length ?? 0;
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ""}${title} - OpenRath studio`;
  }, [title, path, waiting]);
}
