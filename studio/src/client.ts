import { useSyncExternalStore } from "react";
import { answerFor, type Copy } from "./copy";

/** One door to the server: answers as JSON, refusals as Problem. Offline, the same answers come from files beside the page. */

export class Problem extends Error {
  readonly status: number;
  readonly code: string | undefined;
  readonly hint: string | undefined;
  readonly data: unknown;

  constructor(
    status: number,
    body: { detail?: string; title?: string; code?: string; hint?: string; data?: unknown },
  ) {
    super(body.detail ?? body.title ?? `The server answered ${status}.`);
    this.status = status;
    this.code = body.code;
    this.hint = body.hint;
    this.data = body.data;
  }
}

export type Query = { readonly [name: string]: string | number | boolean | undefined | null };

declare global {
  interface Window {
    readonly RATH_OFFLINE?: Copy;
  }
}
export const offline: Copy | undefined = window.RATH_OFFLINE;

export function addressOf(path: string, query: Query = {}): string {
  const given = Object.entries(query).filter(
    ([, value]) => value !== undefined && value !== null && value !== "",
  );
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text === "" ? path : `${path}?${text}`;
}

/** How far the server has read a session about which it is asked for the first time. */
export type Reading = { readonly facts: number; readonly total?: number };
const readings = new Map<string, Reading>();
const onReading = new Set<() => void>();

export function useReading(): Reading | undefined {
  return useSyncExternalStore(
    (tell) => {
      onReading.add(tell);
      return () => onReading.delete(tell);
    },
    () => readings.values().next().value,
  );
}

function tellReading(address: string, reading: Reading | undefined): void {
  if (reading === undefined && !readings.has(address)) return;
  if (reading === undefined) readings.delete(address);
  else readings.set(address, reading);
  for (const tell of onReading) tell();
}

export async function get<T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> {
  if (offline !== undefined) return held(offline, path, query) as T;
  const init = { ...(signal !== undefined && { signal }) };
  const address = addressOf(path, query);
  try {
    for (;;) {
      try {
        return await answerOf<T>(await reach(address, init));
      } catch (error) {
        // The index of a long session is being made: the answer comes a little later.
        if (!(error instanceof Problem) || error.code !== "indexing") throw error;
        tellReading(address, error.data as Reading);
      }
      await new Promise((done) => setTimeout(done, 1_000));
      signal?.throwIfAborted();
    }
  } finally {
    tellReading(address, undefined);
  }
}

/** An act: never repeated silently, because the key names it. */
export async function post<T>(path: string, body: unknown): Promise<T> {
  if (offline !== undefined)
    throw new Problem(0, { detail: "This page is a read-only copy without a server." });
  return answerOf<T>(
    await reach(path, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-rath": "1",
        "idempotency-key": crypto.randomUUID(),
      },
      body: JSON.stringify(body),
    }),
  );
}

/** An answer that is not JSON: a blob, an export. */
export async function raw(path: string, query?: Query, init: RequestInit = {}): Promise<Response> {
  if (offline !== undefined) return new Response(String(held(offline, path, query)));
  const response = await reach(addressOf(path, query), init);
  if (!response.ok) await answerOf(response);
  return response;
}

async function reach(address: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(address, { credentials: "same-origin", ...init });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Problem(0, {
      detail: "The server does not answer. The page shows the state before the connection was lost.",
      hint: "Restart the server: rath studio",
    });
  }
}

async function answerOf<T>(response: Response): Promise<T> {
  const text = await response.text();
  let body: unknown;
  try {
    body = text === "" ? {} : JSON.parse(text);
  } catch {
    body = { detail: text.slice(0, 300) };
  }
  if (!response.ok) throw new Problem(response.status, body as object);
  return body as T;
}

function held(copy: Copy, path: string, query: Query | undefined): unknown {
  const answer = answerFor(copy, path, query ?? {});
  if (answer !== undefined) return answer;
  throw new Problem(404, {
    detail: "This copy does not contain this view.",
    hint: `Open the store that contains ${copy.name}: rath studio`,
  });
}
