import { closeSync, constants } from "node:fs";
import { defined } from "../../util/index.js";
import type { Outcome, ProcessExit, Signal } from "../execution.js";
import { CommandExecution, killedBy, outcomeOf } from "../execution.js";
import type { ExecOptions } from "../sandbox.js";
import type { Commands } from "./commands.js";
import { Inlet, Outlet, type Slot } from "./pipes.js";
import type { Report } from "./shell.js";

const BEGIN_MILLISECONDS = 60_000;
/** How long a command that was killed may take to be gone. */
const KILL_MILLISECONDS = 3_000;

/** A command in a sandbox: its pipes, and what process 1 reports of it. */
export class LocalExecution extends CommandExecution {
  readonly number: number;
  readonly words: readonly string[];
  readonly #host: Commands;
  /** Signals that came before there was a process. */
  readonly #unsent: Signal[] = [];
  #process: number | undefined;
  #slot: Slot | undefined;
  #outlets: readonly Outlet[] = [];
  #inlet: Inlet | undefined;
  #obstacle: string | undefined;
  #exit: ProcessExit | undefined;
  #memory = 0;
  #asked = 0;

  constructor(
    host: Commands,
    command: { readonly id: string; readonly number: number; readonly words: readonly string[] },
    limits: { readonly wall: number; readonly output: number },
    options: ExecOptions,
  ) {
    // In the background it has no time but to begin.
    const wall = options.background === true ? BEGIN_MILLISECONDS : (options.wall ?? limits.wall);
    super(command.id, options, limits, wall);
    this.#host = host;
    this.number = command.number;
    this.words = command.words;
  }

  report(report: Exclude<Report, { readonly kind: "ready" }>): void {
    if (this.isOver) return;
    if (report.kind === "unstarted") this.#obstacle = report.why;
    else if (report.kind === "start") this.#started(report.process);
    else this.#exited(report);
  }

  /** The sandbox is gone, and the command with it. */
  lose(outcome: "lost" | "killed", why: string): void {
    if (this.collector.ended) return;
    for (const outlet of this.#outlets) outlet.drain();
    this.finish({ code: null, outcome, why, ...this.reason });
  }

  async kill(signal: Signal = "SIGKILL"): Promise<void> {
    if (this.isOver) return;
    if (this.#slot === undefined) this.stop(killedBy(signal));
    else if (this.#process === undefined) this.#unsent.push(signal);
    else await this.#send(signal, this.#process);
  }

  resume(): void {
    if (this.#exit === undefined && !this.#isUnbounded) this.wall?.start();
  }

  protected override get isOver(): boolean {
    return super.isOver || this.#exit !== undefined;
  }

  protected override terminate(): void {
    if (this.#slot === undefined) this.finish({ code: null, outcome: "killed", ...this.reason });
    else {
      this.#awaitEnd();
      super.terminate();
    }
  }

  /** Gets its pipes, and is sent into the sandbox. */
  protected async begin(): Promise<void> {
    const { pipes } = this.#host.options;
    const taken = pipes.take();
    const slot = taken instanceof Promise ? await taken : taken;
    if (this.collector.ended) pipes.give(slot);
    else this.#open(slot);
  }

  protected override finish(outcome: Outcome): void {
    if (this.collector.ended) return;
    const network = this.#slot && this.#host.options.network?.attempts.since(this.#asked);
    super.finish({ ...outcome, ...defined({ network }) });
  }

  protected released(): void {
    this.#inlet?.close();
    this.#host.over(this);
    this.#release();
  }

  /** Whether its time does not matter: it runs in the background. */
  get #isUnbounded(): boolean {
    return this.options.background === true && this.#process !== undefined;
  }

  /** Opens our ends before the command is sent: it would wait for us otherwise. */
  #open(slot: Slot): void {
    const { pipes, outOfMemory, network } = this.#host.options;
    const opened: number[] = [];
    const open = (name: string, flags: number) => {
      const descriptor = pipes.open(name, flags);
      opened.push(descriptor);
      return descriptor;
    };
    this.#memory = outOfMemory();
    this.#asked = network?.attempts.mark ?? 0;
    try {
      const stdout = open(slot.stdout, constants.O_RDONLY);
      const stderr = open(slot.stderr, constants.O_RDONLY);
      const input = this.options.stdin === undefined ? undefined : open(slot.stdin, constants.O_RDWR);
      this.#host.begin(this, slot);
      this.#slot = slot;
      this.#outlets = [
        new Outlet(stdout, (bytes) => this.take("stdout", bytes), this.#pipeEnded),
        new Outlet(stderr, (bytes) => this.take("stderr", bytes), this.#pipeEnded),
      ];
      if (input !== undefined) this.#inlet = new Inlet(input);
    } catch (error) {
      for (const descriptor of opened) closeSync(descriptor);
      pipes.give(slot);
      throw error;
    }
    this.wall?.start();
    if (this.#inlet !== undefined) this.connectInput(this.#inlet);
  }

  #started(process: number): void {
    this.#process = process;
    if (this.#isUnbounded) this.wall?.stop();
    this.#inlet?.opened();
    if (this.#obstacle === undefined) this.collector.start();
    for (const signal of this.#unsent.splice(0)) void this.#send(signal, process);
  }

  async #send(signal: Signal, process: number): Promise<void> {
    this.sent.add(signal);
    if (signal === "SIGKILL") this.#awaitEnd();
    await this.#host.signal(process, signal);
  }

  /** One that is not over soon, or does not even begin, has got hold of what should end it. */
  #awaitEnd(): void {
    this.expectEnd(KILL_MILLISECONDS, () => this.#host.abandon("a command in it could not be ended"));
  }

  /** The command is over. Its output is in the pipes by now; processes that it left behind may still write. */
  #exited(exit: ProcessExit): void {
    this.#exit = exit;
    this.clearTimers();
    const all = this.#outlets.map((outlet) => outlet.drain());
    if (this.#obstacle !== undefined || !all.includes(false)) this.#conclude();
    else this.drain(() => this.#conclude());
  }

  readonly #pipeEnded = (): void => {
    if (this.#outlets.some((outlet) => !outlet.ended)) return;
    this.#conclude();
    this.#release();
  };

  #conclude(): void {
    const exit = this.#exit;
    if (exit === undefined || this.collector.ended) return;
    const { reason, sent } = this;
    const outOfMemory = exit.status !== 0 && this.#host.options.outOfMemory() > this.#memory;
    if (this.#obstacle === undefined) this.finish(outcomeOf(exit, { reason, sent, outOfMemory }));
    else if (this.#obstacle === "directory") this.refuse(`there is no directory ${this.options.directory}`);
    else this.refuse(`there is no program ${this.words[0]}`);
  }

  /** Gives the pipes back, once it is over and nobody inside holds them. */
  #release(): void {
    if (!this.collector.ended || this.#slot === undefined) return;
    // One that never began has not opened them.
    const isHeld = this.#obstacle === undefined && this.#outlets.some((outlet) => !outlet.ended);
    const { pipes } = this.#host.options;
    if (isHeld && pipes.mayWait(this.#slot)) {
      for (const outlet of this.#outlets) outlet.ignore();
      return;
    }
    for (const outlet of this.#outlets) outlet.close();
    if (!isHeld) pipes.give(this.#slot);
    this.#slot = undefined;
  }
}
