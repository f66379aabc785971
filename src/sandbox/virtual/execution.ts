import { AsyncResource } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import { Collector, type Ending } from "../collector.js";
import type { ExecEvent, ExecOptions, ExecResult, Execution } from "../sandbox.js";
import type { Limits } from "../spec.js";
import { LongTimer } from "../timer.js";

type Signal = NonNullable<Parameters<Execution["kill"]>[0]>;
type Stop = Pick<Ending, "outcome" | "why" | "signal">;

/** What the shell makes of a command. */
export type Ran = {
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  readonly code: number;
  /** Whether its time was over when it ended. */
  readonly isLate: boolean;
};

/** Runs a command with all of its input, until the signal says stop. `full` is told when it has used up its room. */
export type Runner = (
  input: Uint8Array,
  left: number,
  signal: AbortSignal,
  full: () => void,
) => Promise<Ran | { readonly unstarted: string }>;

/** How long the shell may take to stop. It stops between two commands, and the longest single one is short. */
const STOP_MILLISECONDS = 2_000;

/**
 * A command in a virtual sandbox. The shell takes all input at once and gives all output at once, so a command whose
 * input is open begins when that ends.
 */
export class VirtualExecution implements Execution {
  readonly id: string = randomUUID();
  readonly #collector: Collector;
  readonly #began = performance.now();
  readonly #stop = new AbortController();
  readonly #input: Uint8Array[] = [];
  readonly #signal: AbortSignal | undefined;
  #wall: LongTimer | undefined;
  #inputEnd: () => void = () => {};
  #isOpen: boolean;
  #why: Stop | undefined;

  constructor(options: ExecOptions, limits: Required<Limits>) {
    this.#collector = new Collector(options.output ?? limits.output);
    const { stdin, signal } = options;
    this.#signal = signal;
    this.#isOpen = stdin === "open";
    if (stdin !== undefined && stdin !== "open") this.#input.push(Buffer.from(stdin as string));
  }

  get result(): Promise<ExecResult> {
    return this.#collector.result;
  }

  [Symbol.asyncIterator](): AsyncIterator<ExecEvent> {
    return this.#collector[Symbol.asyncIterator]();
  }

  /** Runs it to its end. Never rejects. */
  async run(runner: Runner, wall: number): Promise<void> {
    if (this.#collector.ended) return;
    if (this.#signal?.aborted === true) return this.refuse("it was aborted before it began");
    this.#signal?.addEventListener("abort", this.#abort, { once: true });
    this.#wall = new LongTimer(wall, () =>
      this.stop({ outcome: "timeout", why: `it took longer than ${wall} ms` }),
    );
    try {
      await this.#inputEnded();
      if (this.#isStopped()) return this.#finish({ code: null, outcome: "killed", ...this.#why });
      this.#collector.start();
      // Told from within the shell, which forbids what is on its behalf to set a timer.
      const full = AsyncResource.bind(() =>
        this.stop({ outcome: "disk", why: "it made the workspace grow by more than its limit" }),
      );
      const left = wall - (performance.now() - this.#began);
      const ran = await this.#withinReason(runner(Buffer.concat(this.#input), left, this.#stop.signal, full));
      if (ran !== undefined && "unstarted" in ran) return this.refuse(ran.unstarted);
      if (ran !== undefined) {
        this.#collector.take("stdout", ran.stdout);
        this.#collector.take("stderr", ran.stderr);
      }
      // It gave the timer no turn, and ended because the shell looked at the clock.
      if (ran?.isLate === true) this.#why ??= { outcome: "timeout", why: `it took longer than ${wall} ms` };
      if (this.#isStopped()) this.#finish({ code: null, outcome: "killed", ...this.#why });
      else if (ran !== undefined) this.#finish({ code: ran.code, outcome: ran.code === 0 ? "ok" : "error" });
    } catch (error) {
      this.#collector.take(
        "stderr",
        Buffer.from(`${error instanceof Error ? error.message : String(error)}\n`),
      );
      this.#finish({ code: null, outcome: "error", why: "the shell failed", ...this.#why });
    }
  }

  /** It never began. */
  refuse(why: string): void {
    this.#finish({ code: null, outcome: "unstarted", why });
  }

  /** Ends it for a reason; the first one counts. */
  stop(why: Stop): void {
    if (this.#collector.ended) return;
    this.#why ??= why;
    this.#inputEnd();
    this.#stop.abort();
  }

  async write(bytes: Uint8Array | string): Promise<void> {
    if (this.#isOpen) this.#input.push(Buffer.from(bytes as string));
  }

  end(): void {
    this.#isOpen = false;
    this.#inputEnd();
  }

  async kill(signal: Signal = "SIGKILL"): Promise<void> {
    this.stop({ outcome: "killed", why: `it was sent ${signal}`, signal });
    await this.result;
  }

  readonly #abort = (): void => this.stop({ outcome: "killed", why: "it was aborted" });

  #isStopped(): boolean {
    return this.#why !== undefined;
  }

  #inputEnded(): Promise<void> {
    if (!this.#isOpen) return Promise.resolve();
    return new Promise((resolve) => {
      this.#inputEnd = resolve;
    });
  }

  /** What the shell makes of it, or nothing if it does not stop although it should. */
  async #withinReason<Result>(running: Promise<Result>): Promise<Result | undefined> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<undefined>((resolve) => {
      this.#stop.signal.addEventListener(
        "abort",
        () => {
          timer = setTimeout(() => resolve(undefined), STOP_MILLISECONDS);
        },
        { once: true },
      );
    });
    try {
      return await Promise.race([running, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  #finish(ending: Omit<Ending, "milliseconds">): void {
    this.#wall?.clear();
    this.#signal?.removeEventListener("abort", this.#abort);
    this.#isOpen = false;
    this.#collector.end({ ...ending, milliseconds: performance.now() - this.#began });
  }
}
