import { closeSync, constants } from "node:fs";
import { Collector } from "../collector.js";
import type { ExecEvent, ExecOptions, ExecResult, Execution } from "../sandbox.js";
import { type Ending, endingOf, type Reason } from "./ending.js";
import type { Ground } from "./ground.js";
import { Inlet } from "./inlet.js";
import { Outlet } from "./outlet.js";
import type { Slot } from "./pipes.js";
import type { Report } from "./report.js";
import { Wall } from "./wall.js";

type Signal = NonNullable<Parameters<Execution["kill"]>[0]>;

/** How long output is awaited that a process left behind by the command may still write: until so long nothing came. */
const QUIET_MILLISECONDS = 100;
const DRAIN_MILLISECONDS = 1_000;
const BEGIN_MILLISECONDS = 60_000;
/** How long a command that was killed may take to be gone. */
const KILL_MILLISECONDS = 3_000;

/** A command in a sandbox: its pipes, its time, and what becomes of it. */
export class LocalExecution implements Execution {
  readonly id: string;
  readonly number: number;
  readonly words: readonly string[];
  readonly options: ExecOptions;
  /** When it was asked for, in milliseconds of the process. */
  readonly began: number = performance.now();
  readonly #ground: Ground;
  readonly #collector: Collector;
  /** How long it may take; in the background, to begin. */
  readonly #wall: Wall;
  readonly #sent = new Set<string>();
  /** Signals that came before there was a process. */
  readonly #unsent: Signal[] = [];
  /** What was written before there was a pipe. */
  readonly #early: (Uint8Array | string)[] = [];
  #earlyEnd: boolean;
  #process: number | undefined;
  #slot: Slot | undefined;
  #outlets: readonly Outlet[] = [];
  #inlet: Inlet | undefined;
  #reason: Reason | undefined;
  #obstacle: string | undefined;
  #exit: { readonly status: number; readonly signalled: boolean } | undefined;
  #memory = 0;
  #asked = 0;
  #timer: NodeJS.Timeout | undefined;
  #quiet: NodeJS.Timeout | undefined;

  constructor(
    ground: Ground,
    place: { readonly id: string; readonly number: number; readonly words: readonly string[] },
    limits: { readonly wall: number; readonly output: number },
    options: ExecOptions,
  ) {
    this.#ground = ground;
    this.id = place.id;
    this.number = place.number;
    this.words = place.words;
    this.options = options;
    this.#collector = new Collector(options.output ?? limits.output);
    this.#earlyEnd = options.stdin !== "open";
    const wall = options.background === true ? BEGIN_MILLISECONDS : (options.wall ?? limits.wall);
    this.#wall = new Wall(wall, () =>
      this.stop({ outcome: "timeout", why: `it took longer than ${wall} ms` }),
    );
  }

  get result(): Promise<ExecResult> {
    return this.#collector.result;
  }

  [Symbol.asyncIterator](): AsyncIterator<ExecEvent> {
    return this.#collector[Symbol.asyncIterator]();
  }

  /** Gets its pipes and begins. Never throws. */
  async begin(): Promise<void> {
    const { signal } = this.options;
    if (signal?.aborted === true) {
      this.refuse("it was aborted before it began");
      return;
    }
    signal?.addEventListener("abort", this.#abort, { once: true });
    try {
      const taken = this.#ground.pipes.take();
      const slot = taken instanceof Promise ? await taken : taken;
      if (this.#collector.ended) this.#ground.pipes.give(slot);
      else this.#open(slot);
    } catch (error) {
      this.refuse(error instanceof Error ? error.message : String(error));
    }
  }

  /** It never began. */
  refuse(why: string): void {
    this.#finish({ code: null, outcome: "unstarted", why });
  }

  take(report: Exclude<Report, { readonly kind: "ready" }>): void {
    if (this.#exit !== undefined || this.#collector.ended) return;
    if (report.kind === "unstarted") this.#obstacle = report.why;
    else if (report.kind === "start") this.#started(report.process);
    else {
      this.#exit = report;
      this.#exited();
    }
  }

  /** The sandbox is gone, and the command with it. */
  lose(outcome: "lost" | "killed", why: string): void {
    if (this.#collector.ended) return;
    for (const outlet of this.#outlets) outlet.drain();
    this.#finish({ code: null, outcome, why, ...this.#reason });
  }

  /** Ends it for a reason; the first one counts. */
  stop(reason: Reason): void {
    if (this.#collector.ended) return;
    this.#reason ??= reason;
    if (this.#slot === undefined) this.#finish({ code: null, ...this.#reason });
    else {
      this.#expectEnd();
      void this.kill("SIGKILL");
    }
  }

  async write(bytes: Uint8Array | string): Promise<void> {
    if (this.#inlet !== undefined) await this.#inlet.write(bytes);
    else if (!this.#earlyEnd && !this.#collector.ended) this.#early.push(bytes);
  }

  end(): void {
    this.#earlyEnd = true;
    this.#inlet?.end();
  }

  async kill(signal: Signal = "SIGKILL"): Promise<void> {
    if (this.#collector.ended || this.#exit !== undefined) return;
    if (this.#slot === undefined) this.stop({ outcome: "killed", why: `it was sent ${signal}` });
    else if (this.#process === undefined) this.#unsent.push(signal);
    else await this.#send(signal, this.#process);
  }

  suspend(): void {
    this.#wall.stop();
  }

  resume(): void {
    if (this.#exit === undefined && !this.#isUnbounded) this.#wall.start();
  }

  /** Whether time does not matter to it any more. */
  get #isUnbounded(): boolean {
    return this.options.background === true && this.#process !== undefined;
  }

  readonly #abort = (): void => this.stop({ outcome: "killed", why: "it was aborted" });

  /** Opens our ends before the command is sent: it would wait for us otherwise. */
  #open(slot: Slot): void {
    const { pipes } = this.#ground;
    const { stdin } = this.options;
    const opened: number[] = [];
    const open = (name: string, flags: number) => {
      const descriptor = pipes.open(name, flags);
      opened.push(descriptor);
      return descriptor;
    };
    this.#memory = this.#ground.outOfMemory();
    this.#asked = this.#ground.networkMark();
    try {
      const stdout = open(slot.stdout, constants.O_RDONLY);
      const stderr = open(slot.stderr, constants.O_RDONLY);
      const input = stdin === undefined ? undefined : open(slot.stdin, constants.O_RDWR);
      this.#ground.begin(this, slot);
      this.#slot = slot;
      this.#outlets = [
        new Outlet(stdout, (bytes) => this.#take("stdout", bytes), this.#let),
        new Outlet(stderr, (bytes) => this.#take("stderr", bytes), this.#let),
      ];
      if (input !== undefined) this.#inlet = new Inlet(input);
    } catch (error) {
      for (const descriptor of opened) closeSync(descriptor);
      pipes.give(slot);
      throw error;
    }
    this.#wall.start();
    if (stdin !== undefined && stdin !== "open") void this.#inlet?.write(stdin);
    for (const bytes of this.#early.splice(0)) void this.#inlet?.write(bytes);
    if (this.#earlyEnd) this.#inlet?.end();
  }

  #started(process: number): void {
    this.#process = process;
    if (this.#isUnbounded) this.#wall.stop();
    this.#inlet?.opened();
    if (this.#obstacle === undefined) this.#collector.start();
    for (const signal of this.#unsent.splice(0)) void this.#send(signal, process);
  }

  async #send(signal: Signal, process: number): Promise<void> {
    this.#sent.add(signal);
    if (signal === "SIGKILL") this.#expectEnd();
    await this.#ground.signal(process, signal);
  }

  /** One that is not over soon, or does not even begin, has got hold of what should end it. */
  #expectEnd(): void {
    if (this.#exit === undefined)
      this.#timer ??= setTimeout(
        () => this.#ground.abandon("a command in it could not be ended"),
        KILL_MILLISECONDS,
      );
  }

  #take(from: "stdout" | "stderr", bytes: Uint8Array): void {
    this.#quiet?.refresh();
    this.#collector.take(from, bytes);
  }

  /** The command is over. What it wrote is in the pipes by now; what it left behind may still write. */
  #exited(): void {
    clearTimeout(this.#timer);
    this.#wall.stop();
    const all = this.#outlets.map((outlet) => outlet.drain());
    if (this.#obstacle !== undefined || !all.includes(false)) this.#conclude();
    else {
      this.#quiet = setTimeout(() => this.#conclude(), QUIET_MILLISECONDS);
      this.#timer = setTimeout(() => this.#conclude(), DRAIN_MILLISECONDS);
    }
  }

  /** Somebody let go of a pipe. */
  readonly #let = (): void => {
    if (this.#outlets.some((outlet) => !outlet.ended)) return;
    if (this.#exit !== undefined) this.#conclude();
    this.#release();
  };

  #conclude(): void {
    if (this.#exit === undefined || this.#collector.ended) return;
    const outOfMemory = this.#exit.status !== 0 && this.#ground.outOfMemory() > this.#memory;
    if (this.#obstacle === undefined)
      this.#finish(endingOf({ ...this.#exit, reason: this.#reason, sent: this.#sent, outOfMemory }));
    else if (this.#obstacle === "directory") this.refuse(`there is no directory ${this.options.directory}`);
    else this.refuse(`there is no program ${this.words[0]}`);
  }

  #finish(ending: Ending): void {
    if (this.#collector.ended) return;
    clearTimeout(this.#timer);
    clearTimeout(this.#quiet);
    this.#wall.stop();
    this.options.signal?.removeEventListener("abort", this.#abort);
    this.#inlet?.close();
    const network = this.#slot === undefined ? undefined : this.#ground.network(this.#asked);
    this.#collector.end({
      ...ending,
      milliseconds: performance.now() - this.began,
      ...(network !== undefined && { network }),
    });
    this.#ground.over(this);
    this.#release();
  }

  /** Gives the pipes back, once it is over and nobody inside holds them any more. */
  #release(): void {
    if (!this.#collector.ended || this.#slot === undefined) return;
    // One that never began has not opened them.
    const isHeld = this.#obstacle === undefined && this.#outlets.some((outlet) => !outlet.ended);
    if (isHeld && this.#ground.pipes.mayWait(this.#slot)) {
      for (const outlet of this.#outlets) outlet.ignore();
      return;
    }
    for (const outlet of this.#outlets) outlet.close();
    if (!isHeld) this.#ground.pipes.give(this.#slot);
    this.#slot = undefined;
  }
}
