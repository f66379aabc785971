import { useVirtualizer } from "@tanstack/react-virtual";
import { lazy, type ReactNode, Suspense, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useSession, useTurns } from "../data";
import { Tabs, useTitle } from "../frame";
import { useKeys } from "../keys";
import { onEvent } from "../live";
import { useAddress } from "../route";
import type { Part, Shown, Turn } from "../types";
import {
  Button,
  briefOf,
  duration,
  Empty,
  Long,
  moment,
  plainly,
  Skeleton,
  State,
  TONES,
  Trouble,
  visible,
  Words,
} from "../ui";
import { Links, Value } from "../value";
import { Content, Picture } from "./content";
import { Details } from "./details";
import { Composer } from "./start";

const Markdown = lazy(() => import("../markdown"));

/** The conversation as a person reads it. */
export function Turns(): ReactNode {
  const { name, search, set } = useAddress();
  useTitle(`${name}: turns`);
  // A long conversation is read from where somebody wants to be, and from there in both directions.
  const [of, setOf] = useState(search.at);
  const list = useTurns(name, search.head, of);
  const { items, hasMore, more, hasEarlier, earlier } = list;
  const newest = useSession(name).data?.head;
  const scroller = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(search.tab === "prompt");
  const [isAtEnd, setAtEnd] = useState(false);
  const streaming = useStreaming(name);
  const window_ = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => 160,
    getItemKey: (index) => items[index]?.id ?? index,
    overscan: 4,
  });
  const shown = window_.getVirtualItems();
  const last = shown.at(-1)?.index ?? 0;
  useEffect(() => {
    if (hasMore && last >= items.length - 10) more();
  }, [hasMore, items.length, last, more]);
  const first = shown[0]?.index ?? 0;
  useEffect(() => {
    if (hasEarlier && first < 10) earlier();
  }, [hasEarlier, first, earlier]);
  // What comes in above moves nothing that is in view: neither the turn of the link, nor what a reader scrolled to.
  const top = useRef(items[0]?.id);
  const scrolled = useRef(false);
  useLayoutEffect(() => {
    const added = items.findIndex(({ id }) => id === top.current);
    top.current = items[0]?.id;
    const start = window_.measurementsCache[added]?.start;
    if (added <= 0 || start === undefined || scroller.current === null) return;
    scroller.current.scrollTop += start;
    // The event of it comes later than the sizes of the turns above, which are made up for from there.
    window_.scrollOffset = scroller.current.scrollTop;
    const chosen = items.findIndex((turn) => holds(turn, search.at ?? ""));
    if (!scrolled.current && chosen !== -1) window_.scrollToIndex(chosen, { align: "center" });
  }, [items, search.at, window_]);

  // A link to a fact opens its message; what arrives later moves nothing.
  const went = useRef<string>(undefined);
  useEffect(() => {
    if (search.at === undefined || went.current === search.at) return;
    const index = items.findIndex((turn) => holds(turn, search.at ?? ""));
    if (index === -1) {
      if (hasMore || hasEarlier) setOf(search.at);
      return;
    }
    went.current = search.at;
    scrolled.current = false;
    window_.scrollToIndex(index, { align: "center" });
  }, [items, search.at, hasMore, hasEarlier, window_]);
  // A reader at the end follows it.
  const length = items.length;
  useEffect(() => {
    if (isAtEnd && length > 0) window_.scrollToIndex(length - 1, { align: "end" });
  }, [isAtEnd, length, window_]);

  const here = items.findIndex((turn) => holds(turn, search.at ?? ""));
  const step = (by: number): void => {
    const next = items[Math.min(Math.max(0, here + by), items.length - 1)];
    if (next !== undefined) set({ at: next.id });
  };
  useKeys({
    j: () => step(1),
    k: () => step(-1),
    Enter: () => setOpen(true),
    Escape: () => setOpen(false),
    Home: () => {
      if (hasEarlier) setOf(undefined);
      scroller.current?.scrollTo({ top: 0 });
    },
    End: () => {
      if (hasMore) setOf(search.head ?? newest);
      setAtEnd(true);
      window_.scrollToIndex(length - 1, { align: "end" });
    },
  });
  const select = (id: string): void => {
    went.current = id;
    set({ at: id });
    setOpen(true);
  };
  return (
    <>
      <Tabs name={name} />
      <div className="flex min-h-0 flex-1">
        <Outline turns={items} first={shown[0]?.index ?? 0} go={(index) => window_.scrollToIndex(index)} />
        <div className="flex min-w-0 flex-1 flex-col">
          {search.at !== undefined && here === -1 && !list.isBusy && (of === search.at || !hasMore) && (
            <p role="status" className="border-b border-rule bg-sunk px-4 py-2 text-row text-soft mid:px-8">
              The selected fact is not a part of the conversation.{" "}
              <Button quiet onClick={() => setOpen(true)}>
                Details
              </Button>
            </p>
          )}
          <section
            ref={scroller}
            aria-label="Conversation"
            tabIndex={0}
            className="min-h-0 flex-1 overflow-y-auto px-3 py-4 mid:px-8"
            onWheel={() => {
              scrolled.current = true;
            }}
            onPointerDown={() => {
              scrolled.current = true;
            }}
            onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) =>
              setAtEnd(scrollTop > 0 && scrollTop + clientHeight > scrollHeight - 40)
            }
          >
            <h1 className="sr-only">Turns of {name}</h1>
            {list.error ? (
              <Trouble error={list.error} again={list.again} />
            ) : list.isLoading ? (
              <Skeleton rows={8} height={48} />
            ) : items.length === 0 ? (
              <Empty title="Nobody has said anything yet">
                Messages, replies and tool calls appear here as they happen.
              </Empty>
            ) : (
              <div className="relative" style={{ height: window_.getTotalSize() }}>
                {shown.map(({ index, start, key }) => {
                  const turn = items[index];
                  return turn === undefined ? null : (
                    <div
                      key={key}
                      data-index={index}
                      ref={window_.measureElement}
                      className="absolute inset-x-0 top-0 pb-4"
                      style={{ transform: `translateY(${start}px)` }}
                    >
                      <Message turn={turn} chosen={search.at} select={select} />
                    </div>
                  );
                })}
              </div>
            )}
            {streaming !== "" && search.head === undefined && (
              <p className="prose-read fresh whitespace-pre-wrap border-l-2 border-live pl-4">
                <Words>{streaming}</Words>
              </p>
            )}
          </section>
          {search.head === undefined && <Composer name={name} />}
        </div>
        {search.at !== undefined && isOpen && <Details id={search.at} close={() => setOpen(false)} />}
      </div>
    </>
  );
}

/** Who spoke in what order: a way through a long conversation. */
function Outline({
  turns,
  first,
  go,
}: {
  readonly turns: readonly Turn[];
  readonly first: number;
  readonly go: (index: number) => void;
}): ReactNode {
  const parts = useMemo(() => {
    const speaker = (turn: Turn): string =>
      turn.role === "assistant" ? (turn.module ?? "assistant") : turn.role;
    return turns.flatMap((turn, index) => {
      const before = turns[index - 1];
      if (turn.role === "notice" || (before !== undefined && speaker(before) === speaker(turn))) return [];
      return [{ index, id: turn.id, who: speaker(turn), words: wordsIn(turn) }];
    });
  }, [turns]);
  const here = parts.findLast(({ index }) => index <= first);
  if (parts.length < 2) return null;
  return (
    <nav
      aria-label="Outline"
      className="no-print hidden w-[220px] shrink-0 overflow-y-auto border-r border-rule py-2 wide:block"
    >
      {parts.slice(0, 500).map((part) => (
        <button
          key={part.id}
          type="button"
          aria-current={part === here ? "true" : undefined}
          className={`block w-full px-4 py-1 text-left ${part === here ? "bg-chosen" : "hover:bg-sunk"}`}
          onClick={() => go(part.index)}
        >
          <span className="block truncate text-row font-semibold">{part.who}</span>
          <Words className="meta block truncate">{part.words}</Words>
        </button>
      ))}
    </nav>
  );
}

function wordsIn({ parts }: Turn): string {
  for (const part of parts) {
    if (part.type === "text" && part.text !== "") return visible(part.text.slice(0, 80));
    if (part.type === "call") return visible(part.tool);
  }
  return "";
}

function holds(turn: Turn, id: string): boolean {
  return turn.id === id || turn.parts.some((part) => part.type === "call" && part.id === id);
}

function Message({
  turn,
  chosen,
  select,
}: {
  readonly turn: Turn;
  readonly chosen: string | undefined;
  readonly select: (id: string) => void;
}): ReactNode {
  const isChosen = chosen !== undefined && holds(turn, chosen);
  return (
    <article
      className={`border-l-2 py-1 pl-4 ${isChosen ? "border-accent bg-chosen" : turn.role === "user" ? "border-ink" : "border-rule"}`}
    >
      {turn.role !== "notice" && (
        <header className="meta flex flex-wrap gap-x-3">
          <button
            type="button"
            className="font-semibold uppercase tracking-wide text-ink"
            onClick={() => select(turn.id)}
          >
            {turn.role}
          </button>
          <Words>{turn.module ?? turn.by}</Words>
          <span>{moment(turn.at)}</span>
          {turn.usage?.output !== undefined && (
            <span>
              {(turn.usage.input ?? 0).toLocaleString("en")} + {turn.usage.output.toLocaleString("en")} tokens
            </span>
          )}
        </header>
      )}
      {turn.parts.map((part, at) => (
        <Piece key={at} part={part} select={select} />
      ))}
    </article>
  );
}

function Piece({ part, select }: { readonly part: Part; readonly select: (id: string) => void }): ReactNode {
  switch (part.type) {
    case "text": {
      const fields = fieldsIn(part.text);
      if (fields !== undefined)
        return (
          <div className="mt-1 max-w-[68ch]">
            <Links value={false}>
              <Value value={fields} />
            </Links>
          </div>
        );
      return (
        <div dir="auto" className="prose-read mt-1">
          <Suspense fallback={<p className="whitespace-pre-wrap">{part.text}</p>}>
            <Markdown text={part.text} />
          </Suspense>
        </div>
      );
    }
    case "reasoning":
      return (
        <details className="mt-2 max-w-[68ch] text-soft">
          <summary className="cursor-pointer text-row">Reasoning</summary>
          <p dir="auto" className="whitespace-pre-wrap font-serif italic">
            <Long text={part.text} />
          </p>
        </details>
      );
    case "notice":
      return (
        <p
          className={`mt-1 text-row ${part.row.tone === "plain" ? "text-soft" : (TONES[part.row.tone] ?? "")}`}
        >
          <Words>{`${part.row.by.replace(/^\w+:/, "")} ${plainly(part.row.label)}`}</Words>
        </p>
      );
    case "image":
      return <Picture part={part} />;
    case "call":
      return <CallCard call={part} select={select} />;
  }
}

function CallCard({
  call,
  select,
}: {
  readonly call: Extract<Part, { type: "call" }>;
  readonly select: (id: string) => void;
}): ReactNode {
  const isBad = call.state === "failed" || call.state === "in-doubt";
  return (
    <details className="card mt-2 max-w-[88ch]" open={isBad}>
      <summary className="flex cursor-pointer items-baseline gap-3 px-3 py-2">
        <code dir="auto">{visible(call.tool)}</code>
        <span className="min-w-0 flex-1 truncate text-soft" dir="auto">
          {visible(briefOf(contentOf(call.input)))}
        </span>
        {call.attempts > 1 && <span className="meta">{call.attempts} attempts</span>}
        {call.ms !== undefined && <span className="meta">{duration(call.ms)}</span>}
        <State state={call.state} />
      </summary>
      <div className="border-t border-rule px-3 py-2">
        <h4 className="meta">Input</h4>
        <Content shown={call.input} />
        {call.tries.map((failure, at) => (
          <div key={at} className="mt-2">
            <h4 className="meta">Attempt {at + 1} failed</h4>
            <Content shown={failure} />
          </div>
        ))}
        {call.commands.map((one) => (
          <div key={one.id} className="mt-2">
            <p dir="auto" className="font-mono text-meta">
              <span aria-hidden="true">$ </span>
              {visible(one.command.text)}{" "}
              <span className={one.code === 0 ? "text-good" : "text-bad"}>{one.outcome}</span>{" "}
              {duration(one.ms)}
            </p>
            {one.stdout !== undefined && one.stdout.size > 0 && <Content terminal shown={one.stdout} />}
            {one.stderr !== undefined && one.stderr.size > 0 && <Content terminal shown={one.stderr} />}
          </div>
        ))}
        {call.outcome !== undefined && (
          <>
            <h4 className="meta mt-2">Result</h4>
            <Content terminal shown={call.outcome} />
          </>
        )}
        {call.notes.map((note) => (
          <p key={note.id} className={`mt-1 text-row ${TONES[note.tone] ?? ""}`}>
            <Words>{`${note.by} ${plainly(note.label)}`}</Words>
          </p>
        ))}
        {call.files.length > 0 && (
          <p className="meta mt-2">
            Files: {call.files.map(({ path, change }) => `${change} ${visible(path)}`).join(", ")}
          </p>
        )}
        <p className="mt-2">
          <Button quiet onClick={() => select(call.id)}>
            Details
          </Button>
        </p>
      </div>
    </details>
  );
}

/** Content of the record as a value where it is JSON. */
function contentOf({ text, json }: Shown): unknown {
  try {
    return json ? JSON.parse(text) : text;
  } catch {
    // Cut content is shown as it is.
    return text;
  }
}

/** The fields of an answer that is an object: agents with structured output answer in JSON. */
function fieldsIn(text: string): unknown {
  if (!/^\s*\{/.test(text)) return undefined;
  const value = contentOf({ text, json: true } as Shown);
  return typeof value === "object" ? value : undefined;
}

/** Text that is being written; it is no fact yet, and goes when its fact arrives. */
function useStreaming(name: string): string {
  const [text, setText] = useState("");
  useEffect(
    () =>
      onEvent(({ type, data }) => {
        if (data.name !== name) return;
        // Each event has the whole of what is written so far, as much of it as the server keeps.
        if (type === "delta" && typeof data.text === "string") setText(data.text);
        if (type === "move") setText("");
      }),
    [name],
  );
  return text;
}
