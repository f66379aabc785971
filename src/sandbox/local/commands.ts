import { setTimeout as wait } from "node:timers/promises";
import { quoteShell } from "../../util/index.js";
import { commandFault, lengthFault } from "../check.js";
import { SandboxLostError } from "../error.js";
import { namesOf } from "../path.js";
import { type ProcessStat, processIds, processStat } from "../proc.js";
import type { ExecOptions, Execution } from "../sandbox.js";
import type { Limits } from "../spec.js";
import { WORKSPACE } from "./arguments.js";
import type { DiskWatch } from "./disk-watch.js";
import { LocalExecution } from "./execution.js";
import type { Pipes, Slot } from "./pipes.js";
import type { NetworkProxy } from "./proxy.js";
import { ordered, type Report, ulimits } from "./shell.js";
import type { Supervisor } from "./supervisor.js";

export type CommandsOptions = {
  readonly id: string;
  readonly pipes: Pipes;
  readonly limits: Required<Limits>;
  /** Whether RLIMIT_NPROC counts for each sandbox apart. */
  readonly countsProcesses: boolean;
  readonly disk: DiskWatch;
  /** How often a process of the sandbox was ended for want of memory. */
  readonly outOfMemory: () => number;
  /** It knows which hosts commands asked for. */
  readonly network: NetworkProxy | undefined;
  /** Told when the first one is over. */
  readonly used: () => void;
};

/** The commands that run in a sandbox. */
export class Commands {
  readonly options: CommandsOptions;
  readonly #running = new Map<number, LocalExecution>();
  #supervisor: Supervisor | undefined;
  #number = 0;
  #used = false;
  /** The command that the worker is busy with. */
  #worker: LocalExecution | undefined;

  constructor(options: CommandsOptions) {
    this.options = options;
  }

  attach(supervisor: Supervisor): void {
    this.#supervisor = supervisor;
  }

  /** @param obstacle why none can begin now */
  exec(command: string | readonly string[], options: ExecOptions, obstacle: string | undefined): Execution {
    const number = ++this.#number;
    const fault = commandFault(command, options);
    const given = fault === undefined ? options : {};
    const words = fault === undefined ? wordsOf(command, given) : [];
    const place = { id: `${this.options.id}/${number}`, number, words };
    const execution = new LocalExecution(this, place, this.options.limits, given);
    const why = obstacle ?? fault ?? lengthFault(words);
    if (why !== undefined) execution.refuse(why);
    else void execution.run();
    return execution;
  }

  suspend(): void {
    for (const execution of this.#running.values()) execution.suspend();
  }

  resume(): void {
    for (const execution of this.#running.values()) execution.resume();
  }

  /** The sandbox is gone, and with it every command. */
  lose(outcome: "lost" | "killed", why: string): void {
    for (const execution of [...this.#running.values()]) execution.lose(outcome, why);
  }

  /** Takes a report of the supervisor. Reports about commands that are over, or never existed, are ignored. */
  readonly take = (report: Report): void => {
    if (report.kind !== "ready") this.#running.get(report.number)?.report(report);
  };

  /** Sends the order for a command into the sandbox. */
  begin(execution: LocalExecution, slot: Slot): void {
    const { number, words, options } = execution;
    const { limits, countsProcesses, disk, id } = this.options;
    const supervisor = this.#supervisor;
    if (supervisor === undefined) throw new SandboxLostError(id, "it has not begun");
    const { stdin, ...outputs } = slot;
    const source = ordered({
      ...{ number, words },
      pipes: options.stdin === undefined ? outputs : slot,
      directory: directoryOf(options.directory),
      environment: options.env ?? {},
      limits: ulimits(limits, countsProcesses),
    });
    // The worker does one at a time; for another meanwhile, process 1 makes a shell of its own.
    if (this.#worker === undefined) {
      supervisor.order(source);
      this.#worker = execution;
    } else supervisor.tell(`{\n${source}\n} &`);
    this.#running.set(number, execution);
    disk.begin(execution);
    supervisor.hold(true);
  }

  /** It ended: its number means nothing from here on. */
  over(execution: LocalExecution): void {
    if (this.#worker === execution) this.#worker = undefined;
    if (!this.#running.delete(execution.number)) return;
    if (!this.#used) this.options.used();
    this.#used = true;
    this.options.disk.end(execution);
    if (this.#running.size === 0) this.#supervisor?.hold(false);
  }

  async signal(process: number, signal: string): Promise<void> {
    const supervisor = this.#supervisor;
    if (supervisor === undefined) return;
    const family = new Family(supervisor.process, process);
    const send = (numbers: readonly number[]) =>
      supervisor.tell(`kill -${signal.replace(/^SIG/, "")} -- ${numbers.join(" ")} 2>/dev/null`);
    // To each of them once: what is handled would be handled twice.
    send([-process, ...family.look(process)]);
    // A process that was just being started is found the next time.
    if (signal === "SIGKILL") void pursue(family, send);
  }

  /** Ends the whole sandbox, because a command in it could not be ended. */
  abandon(why: string): void {
    void this.#supervisor?.end(why);
  }
}

const PURSUIT_MILLISECONDS = [2, 10, 30, 100, 300];

async function pursue(family: Family, send: (numbers: readonly number[]) => void): Promise<void> {
  for (const milliseconds of PURSUIT_MILLISECONDS) {
    await wait(milliseconds, undefined, { ref: false });
    const left = family.look();
    if (left.length > 0) send(left);
  }
}

/** The program and its arguments. A text is for the shell; a terminal is made by `script`, which then runs the rest. */
function wordsOf(command: string | readonly string[], { pty }: ExecOptions): readonly string[] {
  const words = typeof command === "string" ? ["/bin/bash", "-c", command] : [...command];
  if (pty === undefined) return words;
  const size = `stty rows ${Number(pty.rows ?? 24)} cols ${Number(pty.columns ?? 80)} 2>/dev/null`;
  return ["script", "-qefc", `${size}; exec ${words.map(quoteShell).join(" ")}`, "/dev/null"];
}

function directoryOf(directory: string | undefined): string | undefined {
  if (directory === undefined) return undefined;
  return directory.startsWith("/") ? directory : [WORKSPACE, ...namesOf(directory)].join("/");
}

/**
 * The processes of a command: its group, its descendants, and the groups and sessions of these (job control,
 * `timeout`). Numbers are read from the sandbox's own /proc, which nothing inside can replace. A second look
 * finds late children.
 */
export class Family {
  readonly #first: number;
  readonly #members: Set<number>;
  readonly #groups: Set<number>;
  readonly #sessions = new Set<number>();

  /**
   * @param first process 1 of the sandbox, as the host sees it
   * @param command the first process of the command, as the sandbox sees it
   */
  constructor(first: number, command: number) {
    this.#first = first;
    this.#members = new Set([command]);
    this.#groups = new Set([command]);
  }

  /**
   * Those that are there now.
   *
   * @param but a group whose processes are left out
   */
  look(but?: number): readonly number[] {
    const all = processesOf(this.#first);
    const found = new Set<Process>();
    for (let size = -1; size !== found.size; ) {
      size = found.size;
      for (const one of all) if (this.#owns(one)) found.add(this.#adopt(one));
    }
    return [...found].filter(({ group }) => group !== but).map(({ number }) => number);
  }

  #owns({ number, parent, group, session }: Process): boolean {
    return (
      this.#members.has(number) ||
      this.#members.has(parent) ||
      this.#groups.has(group) ||
      this.#sessions.has(session)
    );
  }

  #adopt(one: Process): Process {
    this.#members.add(one.number);
    // The first of each is ours: process 1 and those that report are in it.
    if (one.group !== 1) this.#groups.add(one.group);
    if (one.session !== 1) this.#sessions.add(one.session);
    return one;
  }
}

/** Whether all processes of a sandbox stand still, but for its first. */
export function areStopped(first: number): boolean {
  return processesOf(first).every(({ number, state }) => number === 1 || /^[Tt]$/.test(state));
}

type Process = ProcessStat & { readonly number: number };

/** All processes of a sandbox. None when it cannot be looked into. */
function processesOf(first: number): readonly Process[] {
  const root = `/proc/${first}/root/proc`;
  return processIds(root).flatMap((number) => {
    const stat = processStat(number, root);
    return stat === undefined || /^[ZX]$/.test(stat.state) ? [] : [{ ...stat, number }];
  });
}
