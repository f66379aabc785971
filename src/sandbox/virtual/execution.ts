import { AsyncResource } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import { CommandExecution, killedBy, lateAfter, type Signal } from "../execution.js";
import type { ExecOptions } from "../sandbox.js";
import type { Limits } from "../spec.js";

/** What the shell makes of a command. */
export type ShellResult = {
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  readonly code: number;
  /** Whether its time was over when it ended. */
  readonly isLate: boolean;
};

/** Runs a command with all of its input, until the signal aborts. `full` is called when it has used up its room. */
export type Runner = (
  input: Uint8Array,
  left: number,
  signal: AbortSignal,
  full: () => void,
) => Promise<ShellResult | { readonly unstarted: string }>;

/** How long the shell may take to stop. It stops between two commands, and the longest single one is short. */
const STOP_MILLISECONDS = 2_000;

/**
 * A command in a virtual sandbox. The shell takes all input at once and gives all output at once, so a command whose
 * input is open begins when that ends.
 */
export class VirtualExecution extends CommandExecution {
  readonly #runner: Runner;
  readonly #milliseconds: number;
  readonly #until: number;
  readonly #aborter = new AbortController();
  #stopped: () => void = () => {};

  constructor(options: ExecOptions, limits: Required<Limits>, runner: Runner) {
    super(randomUUID(), options, limits);
    this.#runner = runner;
    this.#milliseconds = options.wall ?? limits.wall;
    this.#until = performance.now() + this.#milliseconds;
  }

  async kill(signal: Signal = "SIGKILL"): Promise<void> {
    this.stop({ ...killedBy(signal), signal });
    await this.result;
  }

  protected override terminate(): void {
    this.#stopped();
    this.#aborter.abort();
  }

  protected async begin(): Promise<void> {
    this.wall?.start();
    const input = await this.#input();
    if (this.reason !== undefined) return this.finish({ code: null, ...this.reason });
    this.collector.start();
    // Called from within the shell, which forbids commands to set a timer.
    const full = AsyncResource.bind(() =>
      this.stop({ outcome: "disk", why: "it made the workspace grow by more than its limit" }),
    );
    const left = this.#until - performance.now();
    const ran = await this.#inTime(this.#runner(input, left, this.#aborter.signal, full));
    if (ran !== undefined && "unstarted" in ran) return this.refuse(ran.unstarted);
    if (ran !== undefined) {
      this.take("stdout", ran.stdout);
      this.take("stderr", ran.stderr);
    }
    // It gave the timer no turn, and ended because the shell looked at the clock.
    if (ran?.isLate === true) this.reason ??= lateAfter(this.#milliseconds);
    if (this.reason !== undefined) this.finish({ code: null, ...this.reason });
    else if (ran !== undefined) this.finish({ code: ran.code, outcome: ran.code === 0 ? "ok" : "error" });
  }

  protected override failed(error: unknown): void {
    this.take("stderr", Buffer.from(`${error instanceof Error ? error.message : String(error)}\n`));
    this.finish({ code: null, outcome: "error", why: "the shell failed", ...this.reason });
  }

  protected released(): void {}

  /** All of its input, or what there is of it when the command is ended before. */
  async #input(): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    await new Promise<void>((resolve) => {
      this.#stopped = resolve;
      this.connectInput({ write: async (bytes) => void parts.push(bytes), end: resolve });
    });
    return Buffer.concat(parts);
  }

  /** What the shell makes of it; undefined if it does not stop although it should. */
  async #inTime<Result>(running: Promise<Result>): Promise<Result | undefined> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<undefined>((resolve) => {
      const expire = () => {
        timer = setTimeout(() => resolve(undefined), STOP_MILLISECONDS);
      };
      this.#aborter.signal.addEventListener("abort", expire, { once: true });
    });
    try {
      return await Promise.race([running, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}
