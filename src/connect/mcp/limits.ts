import type { Loss } from "./error.js";

/** The limits of a server. A hostile one must not cost more than this. */
export type Limits = {
  /** Milliseconds that one request may take. Default 60,000. */
  readonly deadline: number;
  /** Milliseconds until a server must have introduced itself. Default 30,000. */
  readonly connect: number;
  /** Bytes of one message. Default 16 MiB. */
  readonly frame: number;
  /** Tools, resources or prompts that are taken from one list. Default 1,000. */
  readonly items: number;
  /** Milliseconds that a task of the server may take, of which it is asked again and again. Default a day. */
  readonly task: number;
  /** Messages at once that nobody reads one by one; they refill at a tenth of it each second. Default 20,000. */
  readonly burst: number;
};

export const LIMITS: Limits = {
  deadline: 60_000,
  connect: 30_000,
  frame: 16 * 1024 * 1024,
  items: 1_000,
  task: 86_400_000,
  burst: 20_000,
};

/** Maximum number of pages of one list. */
export const PAGES = 100;
/** Lines that are not messages, before the connection is given up: some servers print a few words on the wrong stream. */
export const NOISE = 100;
/** How deep a message may be nested: what reads it recurses. */
export const DEPTH = 100;

/** A server did what none may do; the connection is over. */
export class Breach extends Error {
  readonly loss: Loss;

  constructor(loss: Loss, message: string) {
    super(message);
    this.loss = loss;
  }
}

/** Counts messages, and says when they are too many. */
export class Meter {
  readonly #burst: number;
  #room: number;
  #at = performance.now();

  constructor(burst: number) {
    this.#burst = burst;
    this.#room = burst;
  }

  take(): void {
    const now = performance.now();
    this.#room = Math.min(this.#burst, this.#room + ((now - this.#at) / 1000) * (this.#burst / 10));
    this.#at = now;
    this.#room -= 1;
    if (this.#room < 0) throw new Breach("flood", "it sends more messages than anybody could read");
  }
}

/** Whether a value is nested deeper than what reads it can bear. */
export function tooDeep(value: unknown, deepest = DEPTH): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > deepest) return true;
    level = level.flatMap((one) =>
      typeof one === "object" && one !== null
        ? Object.values(one).filter((inner) => typeof inner === "object" && inner !== null)
        : [],
    );
  }
  return false;
}

const NEWLINE = 10;

/**
 * Puts lines together from what comes in pieces. A line that is longer than allowed is refused as soon as that can be
 * seen: what a server sends without an end is never held.
 */
export class Frames {
  readonly #most: number;
  #pieces: Buffer[] = [];
  #held = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** The lines that are whole with this piece. */
  *take(piece: Buffer): Generator<string> {
    let from = 0;
    for (let end = piece.indexOf(NEWLINE); end !== -1; end = piece.indexOf(NEWLINE, from)) {
      this.#hold(piece.subarray(from, end));
      from = end + 1;
      const line = Buffer.concat(this.#pieces, this.#held).toString("utf8").trim();
      this.clear();
      if (line !== "") yield line;
    }
    if (from < piece.length) this.#hold(Buffer.from(piece.subarray(from)));
  }

  /** Whether the beginning of a line is waiting for its end. */
  get partial(): boolean {
    return this.#held > 0;
  }

  clear(): void {
    this.#pieces = [];
    this.#held = 0;
  }

  #hold(piece: Buffer): void {
    this.#held += piece.length;
    if (this.#held > this.#most) {
      this.clear();
      throw new Breach("frame", `it sent a message of more than ${this.#most} bytes`);
    }
    this.#pieces.push(piece);
  }
}

/** The caller's own signal: what it says is not ours to put into other words. */
export class Aborted extends Error {
  readonly reason: unknown;

  constructor(reason: unknown) {
    super("aborted");
    this.reason = reason;
  }
}

/** Acts with a signal that is given at the deadline, or when the caller's own is; neither is waited beyond. */
export async function timed<Value>(
  milliseconds: number,
  outer: AbortSignal | undefined,
  act: (signal: AbortSignal) => Promise<Value>,
  late: () => Error,
): Promise<Value> {
  if (outer?.aborted === true) throw new Aborted(outer.reason);
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let abort: (() => void) | undefined;
  try {
    const stopped = new Promise<never>((_, reject) => {
      const stop = (error: Error): void => {
        // First our own word: what the package says about the abort comes after it.
        reject(error);
        controller.abort(error);
      };
      if (milliseconds !== Number.POSITIVE_INFINITY) timer = setTimeout(() => stop(late()), milliseconds);
      abort = () => stop(new Aborted(outer?.reason));
      outer?.addEventListener("abort", abort, { once: true });
    });
    const work = act(controller.signal);
    work.catch(() => {});
    return await Promise.race([work, stopped]);
  } finally {
    clearTimeout(timer);
    if (abort !== undefined) outer?.removeEventListener("abort", abort);
  }
}

export async function pause(milliseconds: number): Promise<void> {
  await new Promise<void>((resolve) => setTimeout(resolve, milliseconds).unref());
}
