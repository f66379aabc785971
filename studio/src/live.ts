import type { QueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { offline } from "./client";

/** One stream of events for all tabs of a browser: an event says that something is new, and facts are read by cursor. */

export type Connection = {
  readonly state: "connecting" | "live" | "broken" | "offline" | "refused";
  /** When the next attempt is made. */
  readonly again?: number;
  readonly since: number;
  /** The store that the stream belongs to; another one makes everything on the screen old. */
  readonly store?: string;
  /** Milliseconds by which the clock of the server is ahead of the clock of this browser. */
  readonly ahead: number;
  readonly isReplaced: boolean;
  /** The link that opened this page signed nobody in. */
  readonly isLinkUsed: boolean;
};

export type Event = {
  readonly type: string;
  readonly data: { readonly name?: string; readonly [field: string]: unknown };
};

const SILENCE = 40_000;
const ASK = "what is the state of the stream?";
const listeners = new Set<() => void>();
const heard = new Set<(event: Event) => void>();
let connection: Connection = {
  state: offline === undefined ? "connecting" : "offline",
  since: Date.now(),
  ahead: 0,
  isReplaced: false,
  isLinkUsed: false,
};

function become(change: Partial<Connection>): void {
  connection = { ...connection, since: Date.now(), ...change };
  for (const tell of listeners) tell();
}

export function useConnection(): Connection {
  return useSyncExternalStore(
    (tell) => {
      listeners.add(tell);
      return () => listeners.delete(tell);
    },
    () => connection,
  );
}

/** Calls for each event until the returned function is called. */
export function onEvent(hear: (event: Event) => void): () => void {
  heard.add(hear);
  return () => heard.delete(hear);
}

/** The person has read that the store is another one. */
export function acceptStore(): void {
  become({ isReplaced: false });
}

/** HTTP/1.1 gives an origin six connections: one tab holds the stream and tells the others. */
export function startLive(queries: QueryClient, isLinkUsed: boolean): void {
  if (offline !== undefined) return;
  become({ isLinkUsed });
  const channel = new BroadcastChannel("rath-studio");
  let isHolder = false;
  channel.onmessage = (message: MessageEvent<Event | Connection | typeof ASK>) => {
    if (message.data === ASK) isHolder && channel.postMessage(connection);
    else if ("type" in message.data) receive(queries, message.data);
    else become({ ...message.data, isLinkUsed });
  };
  // Another tab may hold the stream already, and its next event may be far away.
  channel.postMessage(ASK);
  void navigator.locks.request("rath-studio-stream", async () => {
    isHolder = true;
    listeners.add(() => channel.postMessage(connection));
    await hold((event) => {
      channel.postMessage(event);
      receive(queries, event);
    });
  });
}

/** Reconnects for as long as the page is open, from the last event it has seen. */
async function hold(tell: (event: Event) => void): Promise<never> {
  let last: string | undefined;
  let wait = 500;
  for (;;) {
    const stop = new AbortController();
    let timer = setTimeout(() => stop.abort(), SILENCE);
    try {
      const response = await fetch("/api/events", {
        headers: { accept: "text/event-stream", ...(last !== undefined && { "last-event-id": last }) },
        signal: stop.signal,
        cache: "no-store",
      });
      if (response.status === 401 || response.status === 403) become({ state: "refused" });
      if (!response.ok || response.body === null) throw new Error(String(response.status));
      become({ state: "live" });
      // Nobody knows what happened before this stream: another tab held the last one, or this page began without one.
      if (last === undefined) tell({ type: "reset", data: {} });
      wait = 500;
      for await (const event of eventsOf(response.body)) {
        clearTimeout(timer);
        timer = setTimeout(() => stop.abort(), SILENCE);
        if (event.id !== undefined) last = event.id;
        if (event.type === "reset") last = undefined;
        if (event.type !== "") tell({ type: event.type, data: event.data });
      }
    } catch {
      // What broke it does not matter: the next attempt goes on where this one ended.
    }
    clearTimeout(timer);
    stop.abort();
    const pause = wait * (0.75 + Math.random() / 2);
    if (connection.state !== "refused") become({ state: "broken", again: Date.now() + pause });
    await pauseOrNow(pause);
    wait = Math.min(wait * 2, 30_000);
  }
}

let wake: (() => void) | undefined;
/** Tries again at once. */
export function reconnectNow(): void {
  wake?.();
}

function pauseOrNow(ms: number): Promise<void> {
  return new Promise((done) => {
    const timer = setTimeout(done, ms);
    wake = () => {
      clearTimeout(timer);
      done();
    };
  });
}

type Sent = { readonly type: string; readonly id: string | undefined; readonly data: Event["data"] };

/** The events of a stream; a comment comes as an event without a type, so that silence can be told from it. */
async function* eventsOf(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<Sent> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += value;
    const blocks = rest.split(/\r?\n\r?\n/);
    rest = blocks.pop() ?? "";
    for (const block of blocks) yield sentOf(block);
  }
}

function sentOf(block: string): Sent {
  let [type, data]: [string, string] = ["", ""];
  let id: string | undefined;
  for (const line of block.split(/\r?\n/)) {
    const [field, value] = [
      line.slice(0, line.indexOf(":")),
      line.slice(line.indexOf(":") + 1).replace(/^ /, ""),
    ];
    if (field === "event") type = value;
    else if (field === "id") id = value;
    else if (field === "data") data += data === "" ? value : `\n${value}`;
  }
  try {
    return {
      type: type === "" && data !== "" ? "message" : type,
      id,
      data: data === "" ? {} : JSON.parse(data),
    };
  } catch {
    return { type: "", id, data: {} };
  }
}

/** Whether these new facts may ask a person for something, or answer it. */
function mayWait(rows: unknown): boolean {
  return (
    !Array.isArray(rows) ||
    rows.some((row: { readonly type?: unknown }) =>
      /^(?:approval|signal|run|effect|timer)-/.test(String(row.type)),
    )
  );
}

const stale = new Set<string>();
let timer: ReturnType<typeof setTimeout> | undefined;
let told = 0;

/** A thousand events a second become ten rounds of reading: the first at once, the others together. */
function receive(queries: QueryClient, event: Event): void {
  for (const hear of heard) hear(event);
  if (event.type === "hello") {
    const { store, clock } = event.data as { store?: string; clock?: number };
    const isOther = connection.store !== undefined && store !== undefined && store !== connection.store;
    become({
      state: "live",
      ...(store !== undefined && { store }),
      ...(clock !== undefined && { ahead: clock - Date.now() }),
      isReplaced: connection.isReplaced || isOther,
    });
    // Nothing on the screen is of this store; drafts and folds of the person stay.
    if (isOther) void queries.resetQueries();
    return;
  }
  if (event.type === "delta") return;
  if (event.type === "reset" || event.type === "erase") stale.add("*");
  if (event.type === "pending") stale.add("pending");
  if (event.type === "move") {
    stale.add("sessions");
    if (event.data.name !== undefined) stale.add(`name:${event.data.name}`);
    if (mayWait(event.data.rows)) stale.add("pending");
  }
  if (timer !== undefined) return;
  const pause = Math.max(0, told + 100 - performance.now());
  timer = setTimeout(() => {
    timer = undefined;
    told = performance.now();
    const now = new Set(stale);
    stale.clear();
    void queries.invalidateQueries({
      predicate: ({ queryKey: [first, second], meta }) =>
        meta?.sealed !== true &&
        (now.has("*") || now.has(String(first)) || (first === "name" && now.has(`name:${second}`))),
    });
  }, pause);
}
