import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { CommandExecution, outcomeOf, type ProcessExit, readSlowly, type Signal } from "../execution.js";
import { BOX_VARIABLE } from "../local/janitor.js";
import { sealed } from "../local/launcher.js";
import { processIds, processStat, textIn } from "../proc.js";
import type { ExecOptions } from "../sandbox.js";
import type { Environment } from "./provider.js";

/** How long a command that was killed may take to be gone. */
const KILL_MILLISECONDS = 3000;

export type HostCommand = {
  readonly id: string;
  readonly words: readonly string[];
  readonly directory: string;
  readonly environment: Environment;
  readonly limits: { readonly wall: number; readonly output: number };
  readonly options: ExecOptions;
  /** Called when it began, and when it is over. */
  readonly began: (execution: HostExecution) => void;
  readonly over: (execution: HostExecution) => void;
};

/** A command that runs on the host itself, in a session and a group of its own, so that it can be ended as a whole. */
export class HostExecution extends CommandExecution {
  readonly #command: HostCommand;
  #child: ChildProcess | undefined;
  #exit: ProcessExit | undefined;

  constructor(command: HostCommand) {
    super(command.id, command.options, command.limits);
    this.#command = command;
  }

  /** The first process of the command, while it runs. */
  get process(): number | undefined {
    return this.#exit === undefined ? this.#child?.pid : undefined;
  }

  async kill(signal: Signal = "SIGKILL"): Promise<void> {
    const pid = this.process;
    if (pid === undefined || this.isOver) return;
    this.sent.add(signal);
    signalCommand(pid, signal);
    if (signal !== "SIGKILL") return;
    // A process that hangs in the kernel cannot be ended by anybody: waiting for it must not hang as well.
    this.expectEnd(KILL_MILLISECONDS, () =>
      this.finish({ code: null, outcome: "lost", why: "it was killed and did not end" }),
    );
  }

  override suspend(): void {
    super.suspend();
    if (this.process !== undefined) signalCommand(this.process, "SIGSTOP");
  }

  resume(): void {
    if (this.process === undefined) return;
    signalCommand(this.process, "SIGCONT");
    this.wall?.start();
  }

  protected override get isOver(): boolean {
    return super.isOver || this.#exit !== undefined;
  }

  protected begin(): void {
    const { words, directory: cwd, environment: env, options, began } = this.#command;
    const [program = "", ...rest] = words;
    const stdio = sealed([options.stdin === undefined ? "ignore" : "pipe", "pipe", "pipe"]);
    const child = spawn(program, rest, { cwd, env, stdio, detached: true });
    this.#child = child;
    child.once("error", (error: NodeJS.ErrnoException) => {
      if (child.pid === undefined) this.refuse(obstacleOf(program, error));
    });
    const { stdin } = child;
    stdin?.on("error", () => {});
    if (child.pid === undefined) return;
    began(this);
    this.collector.start();
    this.wall?.start();
    this.#read("stdout", child.stdout);
    this.#read("stderr", child.stderr);
    child.once("exit", (code, signal) => this.#exited(code, signal));
    if (stdin === null) return;
    this.connectInput({
      write: (bytes) =>
        new Promise((resolve) => (stdin.writable ? stdin.write(bytes, () => resolve()) : resolve())),
      end: () => stdin.end(),
    });
  }

  #read(from: "stdout" | "stderr", stream: Readable | null): void {
    stream?.on("data", (bytes: Buffer) => this.take(from, bytes));
    stream?.on("error", () => {});
    stream?.once("close", () => {
      if (this.#exit !== undefined && this.#isRead) this.#conclude(this.#exit);
    });
  }

  get #isRead(): boolean {
    return this.#child?.stdout?.closed === true && this.#child.stderr?.closed === true;
  }

  /** The command is over. Processes that it left behind may hold the pipes and still write. */
  #exited(code: number | null, signal: NodeJS.Signals | null): void {
    const exit =
      signal === null
        ? { status: code ?? 0, signalled: false }
        : { status: 128 + constants.signals[signal], signalled: true };
    this.#exit = exit;
    this.clearTimers();
    if (this.#isRead || this.collector.ended) this.#conclude(exit);
    else {
      for (const stream of [this.#child?.stdout, this.#child?.stderr])
        if (stream !== null && stream !== undefined) readSlowly(stream);
      this.drain(() => this.#conclude(exit));
    }
  }

  #conclude(exit: ProcessExit): void {
    this.finish(outcomeOf(exit, { reason: this.reason, sent: this.sent, outOfMemory: false }));
  }

  protected released(): void {
    this.#child?.stdin?.destroy();
    for (const stream of [this.#child?.stdout, this.#child?.stderr]) {
      // A process that still writes must not die of it, and must not keep us running: it is read slowly from here on.
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

/** Sends a signal to a command: its group, and what of its session is in another one (`timeout`, a shell with jobs). */
export function signalCommand(leader: number, signal: NodeJS.Signals): void {
  send(-leader, signal);
  for (const pid of processIds()) {
    const { session, group } = processStat(pid) ?? {};
    if (pid !== leader && session === leader && group !== leader) send(pid, signal);
  }
}

/** Sends a signal to everything that a box's commands have started and left, and says which processes those were. */
export function signalBox(name: string, signal: NodeJS.Signals): readonly number[] {
  const found = processIds().filter((pid) => names(pid, name));
  for (const pid of found) send(pid, signal);
  return found;
}

/**
 * Ends every process of a box, and of the command `leader`; false if one remains after three seconds. A dying
 * process loses its variables first, so those found are waited for by pid and birth.
 */
export async function endBox(name: string, leader?: number): Promise<boolean> {
  const end = performance.now() + 3000;
  const born = new Map<number, number>();
  const note = (pid: number): void => {
    const start = processStat(pid)?.start;
    if (start !== undefined) born.set(pid, start);
  };
  if (leader !== undefined) {
    for (const pid of processIds()) {
      const { group, session } = processStat(pid) ?? {};
      if (group === leader || session === leader) note(pid);
    }
    signalCommand(leader, "SIGKILL");
  }
  for (;;) {
    signalBox(name, "SIGKILL").forEach(note);
    for (const [pid, start] of born) if (isOver(pid, start)) born.delete(pid);
    if (born.size === 0) return true;
    if (performance.now() > end) return false;
    await sleep(10);
  }
}

/** Whether a process is over, or another one has its number by now. */
function isOver(pid: number, start: number): boolean {
  const stat = processStat(pid);
  return stat?.start !== start || stat.state === "Z" || stat.state === "X";
}

function send(target: number, signal: NodeJS.Signals): void {
  try {
    process.kill(target, signal);
  } catch {
    // It is gone, or has become somebody else's.
  }
}

/** Whether a process was started with the variable of a box, and is not over. */
function names(pid: number, name: string): boolean {
  const environment = textIn(`/proc/${pid}/environ`);
  return `\0${environment}`.includes(`\0${BOX_VARIABLE}=${name}\0`) && processStat(pid)?.state !== "Z";
}
