import { constants } from "node:os";
import type { Readable } from "node:stream";
import { deferred } from "./lazy.js";
import type { ExecEvent, ExecOptions, ExecResult, Execution } from "./sandbox.js";
import { WallTimer } from "./timer.js";

export type Signal = NonNullable<Parameters<Execution["kill"]>[0]>;
/** How a command ended; its output and its time are added by `CommandExecution`. */
export type Outcome = Omit<ExecResult, "stdout" | "stderr" | "cut" | "milliseconds">;
/** Why we end a command. */
export type StopReason = Pick<Outcome, "signal"> & {
  readonly outcome: "timeout" | "killed" | "disk";
  readonly why: string;
};

/** Where the input of a command goes once it has begun. */
export type InputSink = {
  /** Resolves when the bytes are taken, or never will be. */
  write(bytes: Uint8Array): Promise<void>;
  end(): void;
};

/** How long output is awaited that a process left behind by the command may still write: until so long nothing came. */
const QUIET_MILLISECONDS = 100;
const DRAIN_MILLISECONDS = 1_000;

/**
 * The life of a command in any sandbox: early input, timeouts, late output, one result. Subclasses start it
 * and send signals.
 */
export abstract class CommandExecution implements Execution {
  readonly id: string;
  readonly options: ExecOptions;
  protected readonly collector: Collector;
  /** undefined where time does not end it. */
  protected readonly wall: WallTimer | undefined;
  /** The signals that it was sent by us. */
  protected readonly sent: Set<string> = new Set();
  protected reason: StopReason | undefined;
  readonly #began = performance.now();
  readonly #early: Uint8Array[] = [];
  #isInputOpen: boolean;
  #sink: InputSink | undefined;
  /** Whether output came since it was last asked. */
  #hasNews = false;
  #quiet: NodeJS.Timeout | undefined;
  #last: NodeJS.Timeout | undefined;

  constructor(
    id: string,
    options: ExecOptions,
    limits: { readonly wall: number; readonly output: number },
    wall: number | undefined = options.background === true ? undefined : (options.wall ?? limits.wall),
  ) {
    this.id = id;
    this.options = options;
    this.collector = new Collector(options.output ?? limits.output);
    if (wall !== undefined) this.wall = new WallTimer(wall, () => this.stop(lateAfter(wall)));
    const { stdin } = options;
    this.#isInputOpen = stdin === "open";
    if (stdin !== undefined && stdin !== "open") this.#early.push(Buffer.from(stdin));
  }

  get result(): Promise<ExecResult> {
    return this.collector.result;
  }

  [Symbol.asyncIterator](): AsyncIterator<ExecEvent> {
    return this.collector[Symbol.asyncIterator]();
  }

  /** Begins. Never throws: a command that cannot begin has that as its result. */
  async run(): Promise<void> {
    const { signal } = this.options;
    if (signal?.aborted === true) return this.refuse("it was aborted before it began");
    signal?.addEventListener("abort", this.#abort, { once: true });
    try {
      await this.begin();
    } catch (error) {
      this.failed(error);
    }
  }

  /** It never began. */
  refuse(why: string): void {
    this.finish({ code: null, outcome: "unstarted", why });
  }

  /** Ends it for a reason; the first one counts. */
  stop(reason: StopReason): void {
    if (this.isOver) return;
    this.reason ??= reason;
    this.terminate();
  }

  async write(bytes: Uint8Array | string): Promise<void> {
    if (!this.#isInputOpen || this.collector.ended) return;
    const taken = Buffer.from(bytes);
    if (this.#sink === undefined) this.#early.push(taken);
    else await this.#sink.write(taken);
  }

  end(): void {
    if (!this.#isInputOpen) return;
    this.#isInputOpen = false;
    this.#sink?.end();
  }

  abstract kill(signal?: Signal): Promise<void>;

  /** Time does not count while the sandbox is suspended. */
  suspend(): void {
    this.wall?.stop();
  }

  /** Starts the command. An error is the reason why it did not begin. */
  protected abstract begin(): void | Promise<void>;

  /** Gives back what the command held, once it is over. */
  protected abstract released(): void;

  /** Whether it is settled how it ended. */
  protected get isOver(): boolean {
    return this.collector.ended;
  }

  protected terminate(): void {
    void this.kill("SIGKILL");
  }

  protected failed(error: unknown): void {
    this.refuse(error instanceof Error ? error.message : String(error));
  }

  /** From here on input goes to the command, first what came before it began. */
  protected connectInput(sink: InputSink): void {
    this.#sink = sink;
    for (const bytes of this.#early.splice(0)) void sink.write(bytes);
    if (!this.#isInputOpen) sink.end();
  }

  protected take(from: "stdout" | "stderr", bytes: Uint8Array): void {
    this.#hasNews = true;
    this.#quiet?.refresh();
    this.collector.take(from, bytes);
  }

  /** Does something if the command, which was killed, is not gone in time. False when that was arranged before. */
  protected expectEnd(milliseconds: number, late: () => void, again = false): boolean {
    if (this.#last !== undefined && !again) return false;
    clearTimeout(this.#last);
    this.#last = setTimeout(late, milliseconds);
    return true;
  }

  /** The command itself is over: neither its time nor its end is waited for. */
  protected clearTimers(): void {
    clearTimeout(this.#quiet);
    clearTimeout(this.#last);
    this.#last = undefined;
    this.wall?.stop();
  }

  /**
   * Waits for what processes that the command left behind still write, but not for long. When a time is up, the pipes are
   * read once more: in a busy process the time can pass before the command's own output was read.
   */
  protected drain(over: () => void): void {
    this.#quiet = setTimeout(() => {
      this.#hasNews = false;
      setImmediate(() => {
        if (!this.#hasNews) over();
      });
    }, QUIET_MILLISECONDS);
    this.#last = setTimeout(() => setImmediate(over), DRAIN_MILLISECONDS);
  }

  /** Its result, and the end of all of it. The first one counts. */
  protected finish(outcome: Outcome): void {
    if (this.collector.ended) return;
    this.clearTimers();
    this.options.signal?.removeEventListener("abort", this.#abort);
    this.collector.end({ ...outcome, milliseconds: performance.now() - this.#began });
    this.released();
  }

  readonly #abort = (): void => this.stop({ outcome: "killed", why: "it was aborted" });
}

export type ProcessExit = {
  /** As shells count: 128 and the number of the signal, if one ended it. */
  readonly status: number;
  readonly signalled: boolean;
};

/** The events in the life of a command that explain its end. */
type Circumstances = {
  readonly reason: StopReason | undefined;
  readonly sent: ReadonlySet<string>;
  /** Whether the kernel ended a process of the sandbox for want of memory while it ran. */
  readonly outOfMemory: boolean;
};

/** How a command ended, and why. */
export function outcomeOf(
  { status, signalled }: ProcessExit,
  { reason, sent, outOfMemory }: Circumstances,
): Outcome {
  const signal = signalNamed(status - 128);
  const how = signalled && signal !== undefined ? { code: null, signal } : { code: status };
  // One that was over by itself when our signal came was not ended by it.
  if (reason !== undefined && signalled) return { ...how, ...reason };
  if (status !== 0 && outOfMemory) return { ...how, ...OUT_OF_MEMORY };
  if (signal !== undefined && sent.has(signal)) return { ...how, ...killedBy(signal) };
  return { ...how, outcome: status === 0 ? "ok" : "error" };
}

export const OUT_OF_MEMORY = { outcome: "oom", why: "the sandbox has used up its memory" } as const;

export function killedBy(signal: string): StopReason {
  return { outcome: "killed", why: `it was sent ${signal}` };
}

export function lateAfter(milliseconds: number): StopReason {
  return { outcome: "timeout", why: `it took longer than ${milliseconds} ms` };
}

/** The name of a signal of this system; undefined when no signal has the number. */
export function signalNamed(number: number): string | undefined {
  return Object.entries(constants.signals).find(([, one]) => one === number)?.[0];
}

/** How a command ended, without its output: that is the collector's part of the result. */
export type Ending = Omit<ExecResult, "stdout" | "stderr" | "cut">;

type Kind = "stdout" | "stderr";

const FIRST_BYTES = 4096;

/**
 * The output of one command, up to a limit for both streams together. It can be iterated any number of times.
 * All of it is in one buffer beside a list of runs (bytes of one kind in a row), so single bytes are cheap.
 */
export class Collector implements AsyncIterable<ExecEvent> {
  /** Never rejects. */
  readonly result: Promise<ExecResult>;
  readonly #outcome = deferred<ExecResult>();
  readonly #limit: number;
  #bytes: Uint8Array = new Uint8Array(0);
  #kept = 0;
  #cut = 0;
  /** Twice the length of each run, and one more for stderr. The last one grows. */
  readonly #runs: number[] = [];
  #started = false;
  #ended: ExecResult | undefined;
  #news = deferred<void>();

  /** @param limit how many bytes are kept */
  constructor(limit: number) {
    this.#limit = limit;
    this.result = this.#outcome.promise;
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

  /** The command ended. The first end counts; later ones get its result. */
  end(ending: Ending): ExecResult {
    if (this.#ended !== undefined) return this.#ended;
    const [stdout, stderr] = [this.#all(0), this.#all(1)];
    this.#ended = Object.freeze({ ...ending, stdout, stderr, cut: this.#cut });
    this.#outcome.resolve(this.#ended);
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
        // Output can be read before the news that the command began, which comes another way: it waits for that.
      } else if (!this.#started && this.#ended === undefined) await this.#news.promise;
      else if (told < length) {
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
    const { resolve } = this.#news;
    this.#news = deferred();
    resolve();
  }
}

/** More than a pipe or a socket holds: what a command wrote before it ended is always read. */
export const AFTERWARDS_BYTES: number = 1024 ** 2;
const PAUSE_MILLISECONDS = 1_000;

/** Reads the output of a process that outlived its command slowly, so it neither keeps us busy nor breaks. */
export function readSlowly(stream: Readable): void {
  let count = 0;
  stream.on("data", (bytes: Buffer) => {
    count += bytes.length;
    if (count < AFTERWARDS_BYTES) return;
    count = 0;
    stream.pause();
    setTimeout(() => stream.resume(), PAUSE_MILLISECONDS).unref();
  });
}
