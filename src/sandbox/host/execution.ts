import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import type { Readable } from "node:stream";
import { readSlowly } from "../afterwards.js";
import { Collector, type Ending } from "../collector.js";
import { sealed } from "../local/descriptors.js";
import { endingOf, type Reason } from "../local/ending.js";
import { Wall } from "../local/wall.js";
import type { ExecEvent, ExecOptions, ExecResult, Execution } from "../sandbox.js";
import type { Environment } from "./environment.js";
import { signalCommand } from "./processes.js";

/** How long output is awaited that a process left behind by the command may still write: until so long nothing came. */
const QUIET_MILLISECONDS = 100;
const DRAIN_MILLISECONDS = 1000;
/** How long a command that was killed may take to be gone. */
const KILL_MILLISECONDS = 3000;

type Signal = NonNullable<Parameters<Execution["kill"]>[0]>;

export type HostCommand = {
  readonly id: string;
  readonly words: readonly string[];
  readonly directory: string;
  readonly environment: Environment;
  readonly wall: number;
  readonly output: number;
  readonly options: ExecOptions;
  /** Told when it began, and when it is over. */
  readonly began: (execution: HostExecution) => void;
  readonly over: (execution: HostExecution) => void;
};

/** A command that runs on the host itself, in a session and a group of its own, so that it can be ended as a whole. */
export class HostExecution implements Execution {
  readonly id: string;
  readonly #command: HostCommand;
  readonly #collector: Collector;
  readonly #wall: Wall | undefined;
  readonly #since = performance.now();
  readonly #sent = new Set<string>();
  #child: ChildProcess | undefined;
  #reason: Reason | undefined;
  #exit: { readonly status: number; readonly signalled: boolean } | undefined;
  #quiet: NodeJS.Timeout | undefined;
  #last: NodeJS.Timeout | undefined;

  constructor(command: HostCommand) {
    this.id = command.id;
    this.#command = command;
    this.#collector = new Collector(command.output);
    if (command.options.background === true) return;
    this.#wall = new Wall(command.wall, () =>
      this.stop({ outcome: "timeout", why: `it took longer than ${command.wall} ms` }),
    );
  }

  get result(): Promise<ExecResult> {
    return this.#collector.result;
  }

  /** The first process of the command, while it runs. */
  get process(): number | undefined {
    return this.#exit === undefined ? this.#child?.pid : undefined;
  }

  [Symbol.asyncIterator](): AsyncIterator<ExecEvent> {
    return this.#collector[Symbol.asyncIterator]();
  }

  /** Never throws. */
  begin(): void {
    const { words, options } = this.#command;
    if (options.signal?.aborted === true) this.refuse("it was aborted before it began");
    else
      try {
        this.#start(words[0] ?? "", words.slice(1));
      } catch (error) {
        this.refuse(error instanceof Error ? error.message : String(error));
      }
  }

  /** It never began. */
  refuse(why: string): void {
    this.#finish({ code: null, outcome: "unstarted", why });
  }

  /** Ends it for a reason; the first one counts. */
  stop(reason: Reason): void {
    if (this.#collector.ended || this.#exit !== undefined) return;
    this.#reason ??= reason;
    void this.kill("SIGKILL");
  }

  async write(bytes: Uint8Array | string): Promise<void> {
    const stdin = this.#child?.stdin;
    if (stdin === null || stdin === undefined || !stdin.writable) return;
    // Whether it was taken or will never be: there is nothing more to wait for.
    await new Promise<void>((resolve) => stdin.write(bytes, () => resolve()));
  }

  end(): void {
    this.#child?.stdin?.end();
  }

  async kill(signal: Signal = "SIGKILL"): Promise<void> {
    const pid = this.process;
    if (pid === undefined || this.#collector.ended) return;
    this.#sent.add(signal);
    signalCommand(pid, signal);
    if (signal !== "SIGKILL") return;
    // A process that hangs in the kernel cannot be ended by anybody. Whoever waits for it shall not hang as well.
    this.#last ??= setTimeout(
      () => this.#finish({ code: null, outcome: "lost", why: "it was killed and did not end" }),
      KILL_MILLISECONDS,
    );
  }

  suspend(): void {
    this.#wall?.stop();
    if (this.process !== undefined) signalCommand(this.process, "SIGSTOP");
  }

  resume(): void {
    if (this.process === undefined) return;
    signalCommand(this.process, "SIGCONT");
    this.#wall?.start();
  }

  #start(program: string, words: readonly string[]): void {
    const { directory: cwd, environment: env, options, began } = this.#command;
    const stdio = sealed([options.stdin === undefined ? "ignore" : "pipe", "pipe", "pipe"]);
    const child = spawn(program, words, { cwd, env, stdio, detached: true });
    this.#child = child;
    child.once("error", (error: NodeJS.ErrnoException) => {
      if (child.pid === undefined) this.refuse(obstacleOf(program, error));
    });
    child.stdin?.on("error", () => {});
    if (child.pid === undefined) return;
    options.signal?.addEventListener("abort", this.#abort, { once: true });
    began(this);
    this.#collector.start();
    this.#wall?.start();
    this.#read("stdout", child.stdout);
    this.#read("stderr", child.stderr);
    child.once("exit", (code, signal) => this.#exited(code, signal));
    if (options.stdin !== undefined && options.stdin !== "open") child.stdin?.end(options.stdin);
  }

  readonly #abort = (): void => this.stop({ outcome: "killed", why: "it was aborted" });

  #read(from: "stdout" | "stderr", stream: Readable | null): void {
    stream?.on("data", (bytes: Buffer) => {
      this.#quiet?.refresh();
      this.#collector.take(from, bytes);
    });
    stream?.on("error", () => {});
    stream?.once("close", () => this.#conclude());
  }

  /** The command is over. What it left behind may hold the pipes and still write. */
  #exited(code: number | null, signal: NodeJS.Signals | null): void {
    this.#exit =
      signal === null
        ? { status: code ?? 0, signalled: false }
        : { status: 128 + constants.signals[signal], signalled: true };
    clearTimeout(this.#last);
    this.#wall?.stop();
    this.#conclude();
    if (this.#collector.ended) return;
    for (const stream of [this.#child?.stdout, this.#child?.stderr])
      if (stream !== null && stream !== undefined) readSlowly(stream);
    this.#quiet = setTimeout(() => this.#conclude(true), QUIET_MILLISECONDS);
    this.#last = setTimeout(() => this.#conclude(true), DRAIN_MILLISECONDS);
  }

  #conclude(anyway = false): void {
    const { stdout, stderr } = this.#child ?? {};
    if (this.#exit === undefined || (!anyway && !(stdout?.closed && stderr?.closed))) return;
    this.#finish(endingOf({ ...this.#exit, reason: this.#reason, sent: this.#sent, outOfMemory: false }));
  }

  #finish(ending: Omit<Ending, "milliseconds">): void {
    if (this.#collector.ended) return;
    clearTimeout(this.#quiet);
    clearTimeout(this.#last);
    this.#wall?.stop();
    this.#command.options.signal?.removeEventListener("abort", this.#abort);
    this.#collector.end({ ...ending, milliseconds: performance.now() - this.#since });
    this.#child?.stdin?.destroy();
    for (const stream of [this.#child?.stdout, this.#child?.stderr]) {
      // Whoever still writes must not die of it, and must not keep us running: it is read slowly from here on.
      (stream as { unref?: () => void } | null | undefined)?.unref?.();
    }
    this.#command.over(this);
  }
}

function obstacleOf(program: string, { code, message }: NodeJS.ErrnoException): string {
  if (code === "ENOENT") return `there is no program ${program}`;
  if (code === "EACCES") return `${program} may not be run`;
  if (code === "E2BIG") return "it is longer than the kernel takes: put it into a file of the workspace";
  return message;
}
