import type { ExecEvent, ExecResult } from "./sandbox.js";

/** How a command ended, without its output: that is the collector's part of the result. */
export type Ending = Omit<ExecResult, "stdout" | "stderr" | "cut">;

type Kind = "stdout" | "stderr";

const FIRST_BYTES = 4096;

/**
 * The output of one command: keeps what comes up to a limit, for both kinds together, and counts the rest. It can be
 * iterated any number of times, during and after; each iteration begins with what was kept so far and ends with the
 * exit. Everything kept lies in one buffer beside a list of runs (bytes of one kind in a row), so that a command which
 * writes single bytes, now here, now there, costs little more than its bytes.
 */
export class Collector implements AsyncIterable<ExecEvent> {
  /** Never rejects. */
  readonly result: Promise<ExecResult>;
  readonly #limit: number;
  #bytes: Uint8Array = new Uint8Array(0);
  #kept = 0;
  #cut = 0;
  /** Twice the length of each run, and one more for stderr. The last one grows. */
  readonly #runs: number[] = [];
  #started = false;
  #ended: ExecResult | undefined;
  #resolve: (result: ExecResult) => void = () => {};
  #news: Bell = bell();

  /** @param limit how many bytes are kept */
  constructor(limit: number) {
    this.#limit = limit;
    this.result = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  /** Bytes that were dropped so far. */
  get cut(): number {
    return this.#cut;
  }

  get ended(): boolean {
    return this.#ended !== undefined;
  }

  /** The command began. */
  start(): void {
    if (this.#started || this.#ended !== undefined) return;
    this.#started = true;
    this.#tell();
  }

  /** Takes a copy of what the command wrote. After the end nothing is taken. */
  take(from: Kind, bytes: Uint8Array): void {
    if (this.#ended !== undefined) return;
    const taken = bytes.subarray(0, Math.max(0, this.#limit - this.#kept));
    this.#cut += bytes.length - taken.length;
    if (taken.length === 0) return;
    this.#room(this.#kept + taken.length).set(taken, this.#kept);
    this.#kept += taken.length;
    const bit = from === "stderr" ? 1 : 0;
    const last = this.#runs.length - 1;
    const run = this.#runs[last];
    if (run !== undefined && run % 2 === bit) this.#runs[last] = run + 2 * taken.length;
    else this.#runs.push(2 * taken.length + bit);
    this.#tell();
  }

  /** The command ended. The first end counts; what it made is returned to later ones too. */
  end(ending: Ending): ExecResult {
    if (this.#ended !== undefined) return this.#ended;
    const [stdout, stderr] = [this.#all(0), this.#all(1)];
    this.#ended = Object.freeze({ ...ending, stdout, stderr, cut: this.#cut });
    this.#resolve(this.#ended);
    this.#tell();
    return this.#ended;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ExecEvent, void, undefined> {
    let started = false;
    // The run that is being told, where it begins, and how much of it was told.
    let [place, begin, told] = [0, 0, 0];
    for (;;) {
      const run = this.#runs[place] ?? 0;
      const length = Math.floor(run / 2);
      if (this.#started && !started) {
        started = true;
        yield { type: "start" };
      } else if (told < length) {
        // A copy: anyone who looks on must not be able to change the result.
        const bytes = this.#bytes.slice(begin + told, begin + length);
        told = length;
        yield { type: "output", from: run % 2 === 1 ? "stderr" : "stdout", bytes };
      } else if (place + 1 < this.#runs.length) {
        place += 1;
        begin += length;
        told = 0;
      } else if (this.#ended !== undefined) {
        yield { type: "exit", result: this.#ended };
        return;
      } else await this.#news.promise;
    }
  }

  /** The buffer, long enough for this many bytes. */
  #room(needed: number): Uint8Array {
    if (needed <= this.#bytes.length) return this.#bytes;
    const longer = new Uint8Array(
      Math.min(this.#limit, Math.max(FIRST_BYTES, 2 * this.#bytes.length, needed)),
    );
    longer.set(this.#bytes.subarray(0, this.#kept));
    this.#bytes = longer;
    return longer;
  }

  #all(bit: 0 | 1): Uint8Array {
    const total = this.#runs.reduce((sum, run) => (run % 2 === bit ? sum + Math.floor(run / 2) : sum), 0);
    const all = new Uint8Array(total);
    let [from, to] = [0, 0];
    for (const run of this.#runs) {
      const length = Math.floor(run / 2);
      if (run % 2 === bit) {
        all.set(this.#bytes.subarray(from, from + length), to);
        to += length;
      }
      from += length;
    }
    return all;
  }

  #tell(): void {
    const { ring } = this.#news;
    this.#news = bell();
    ring();
  }
}

type Bell = { readonly promise: Promise<void>; readonly ring: () => void };

/** A promise for all that wait for news. */
function bell(): Bell {
  let ring = () => {};
  const promise = new Promise<void>((resolve) => {
    ring = resolve;
  });
  return { promise, ring };
}
