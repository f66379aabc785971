import type { FetchLike } from "@modelcontextprotocol/client";
import { Breach, type Limits, Meter } from "./limits.js";

/** What goes with every request: names, and values or where to get them. They are never recorded. */
export type Values = {
  readonly [name: string]: string | (() => string | Promise<string>);
};

/** The values as they are now: a token may be another one than a minute ago. */
export async function valuesOf(values: Values): Promise<{ [name: string]: string }> {
  const entries = Object.entries(values).map(
    async ([name, value]) => [name, typeof value === "function" ? await value() : value] as const,
  );
  return Object.fromEntries(await Promise.all(entries));
}

/**
 * Fetches within limits: an answer that is longer than a message may be, or a stream with such a message in it or with
 * too many, breaks off. `fault` is told why.
 */
export function limitedFetch(
  headers: () => Promise<{ [name: string]: string }>,
  limits: Limits,
  fault: (breach: Breach) => void,
): FetchLike {
  const meter = new Meter(limits.burst);
  return async (url, init) => {
    const all = new Headers(await headers());
    // What the protocol says about itself is not for anybody else to say.
    new Headers(init?.headers).forEach((value, name) => {
      all.set(name, value);
    });
    const response = await fetch(url, { ...init, headers: all, redirect: "error" });
    if (response.body === null) return response;
    const stream = /^text\/event-stream/i.test(response.headers.get("content-type") ?? "");
    const body = response.body.pipeThrough(
      stream ? events(limits.frame, meter, fault) : whole(limits.frame, fault),
    );
    return new Response(body, {
      status: response.status,
      statusText: response.statusText,
      headers: response.headers,
    });
  };
}

function whole(most: number, fault: (breach: Breach) => void): TransformStream<Uint8Array, Uint8Array> {
  let held = 0;
  return new TransformStream({
    transform(piece, controller) {
      held += piece.length;
      if (held > most) refuse(new Breach("frame", `it sent more than ${most} bytes`), controller, fault);
      else controller.enqueue(piece);
    },
  });
}

const NEWLINE = 10;
const RETURN = 13;

/** Counts the bytes of each event, which an empty line ends. */
function events(
  most: number,
  meter: Meter,
  fault: (breach: Breach) => void,
): TransformStream<Uint8Array, Uint8Array> {
  let held = 0;
  let newline = false;
  return new TransformStream({
    transform(piece, controller) {
      try {
        for (const byte of piece) {
          if (byte === RETURN) continue;
          if (byte === NEWLINE && newline) {
            held = 0;
            meter.take();
          } else held += 1;
          newline = byte === NEWLINE;
        }
        if (held > most) throw new Breach("frame", `it sent a message of more than ${most} bytes`);
        controller.enqueue(piece);
      } catch (error) {
        if (!(error instanceof Breach)) throw error;
        refuse(error, controller, fault);
      }
    },
  });
}

function refuse(
  breach: Breach,
  controller: TransformStreamDefaultController,
  fault: (breach: Breach) => void,
): void {
  fault(breach);
  controller.error(breach);
}
