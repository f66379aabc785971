import { setTimeout as sleep } from "node:timers/promises";
import { firstLine } from "../../util/index.js";
import { commandFault, lengthFault } from "../check.js";
import { EngineError } from "../error.js";
import type { Outcome, Signal } from "../execution.js";
import { CommandExecution, killedBy, OUT_OF_MEMORY, signalNamed } from "../execution.js";
import { bytesOfName, namesOf } from "../path.js";
import type { ExecOptions } from "../sandbox.js";
import type { ContainerSandbox } from "./container.js";
import { untilUnpaused } from "./helper.js";
import { environment } from "./launch.js";
import { startOf, WORKSPACE } from "./script.js";
import { exitOf, Wire } from "./wire.js";

/** How commands end with the container that they were in. */
export type Loss = { readonly outcome: "lost" | "killed"; readonly why: string };

/** How long a command that was killed may take to be gone; and one that the signal could not even be sent to. */
const KILL_MILLISECONDS = 5_000;
const FULL_MILLISECONDS = 250;
const START_MILLISECONDS = 60_000;

export class ContainerExecution extends CommandExecution {
  readonly #host: ContainerSandbox;
  readonly #command: string | readonly string[];
  /** The mistake in the request. */
  readonly #fault: string | undefined;
  readonly #since = Date.now();
  #wire: Wire | undefined;
  #loss: Loss | undefined;

  constructor(
    host: ContainerSandbox,
    id: string,
    command: string | readonly string[],
    limits: { readonly wall: number; readonly output: number },
    asked: ExecOptions,
  ) {
    const fault = commandFault(command, asked);
    super(id, fault === undefined ? asked : {}, limits);
    this.#host = host;
    this.#fault = fault;
    this.#command = fault === undefined ? command : [];
  }

  async kill(signal: Signal = "SIGKILL"): Promise<void> {
    if (this.collector.ended) return;
    this.sent.add(signal);
    // Before it began nobody knows its number; it is killed as soon as it is known.
    await this.#send(signal);
  }

  /** The container is gone, or about to go. */
  lose(loss: Loss): void {
    this.#loss ??= loss;
    this.#wire?.cut();
  }

  resume(): void {
    if (this.#process === undefined) return;
    this.wall?.start();
    // Signals that were sent meanwhile could not arrive.
    this.#sendAll();
  }

  /** Begins, and goes on to its end. */
  protected async begin(): Promise<void> {
    const exec = await this.#host.gate.together(() => this.#start());
    if (exec !== undefined) await this.#end(exec);
  }

  protected override failed(error: unknown): void {
    // A refused command did not begin; without an answer, nobody knows.
    const isUnknown = error instanceof EngineError && (error.status === null || error.status === 404);
    if (isUnknown) void this.#vanish();
    else this.refuse(firstLine(error instanceof Error ? error.message : String(error)));
  }

  protected released(): void {
    this.#wire?.cut();
    this.#host.over(this);
  }

  get #process(): number | undefined {
    return this.#wire?.handshake.pid;
  }

  /** Until the command reports its number, or the engine the reason; the answer is the engine's name of it. */
  async #start(): Promise<string | undefined> {
    const hindered = await this.#host.hindrance();
    if (this.reason !== undefined) {
      this.finish({ code: null, ...this.reason });
      return undefined;
    }
    const obstacle = this.#loss?.why ?? hindered ?? this.#fault ?? lengthFault([this.#command].flat());
    if (obstacle !== undefined) {
      this.refuse(obstacle);
      return undefined;
    }
    const [exec, wire] = await untilUnpaused(() => this.#open());
    const { handshake, closed } = wire;
    const late = sleep(START_MILLISECONDS, true, { ref: false });
    if ((await Promise.race([handshake.done, closed, late])) === true)
      this.lose({ outcome: "lost", why: "the engine did not say in time whether it began" });
    if (handshake.pid === undefined) return exec;
    if (!this.#host.isSuspended) this.wall?.start();
    if (this.options.stdin !== undefined)
      this.connectInput({ write: (bytes) => wire.feed(bytes), end: () => void wire.feed("end") });
    this.#sendAll();
    return exec;
  }

  async #open(): Promise<readonly [string, Wire]> {
    const { engine, container, environment: common } = this.#host;
    const { env = {}, pty, stdin, directory } = this.options;
    const size = pty === undefined ? {} : { ConsoleSize: [pty.rows ?? 24, pty.columns ?? 80] };
    const { Id } = await engine.json<{ Id: string }>("POST", `/containers/${container}/exec`, {
      body: {
        AttachStdin: stdin !== undefined,
        AttachStdout: true,
        AttachStderr: true,
        Tty: pty !== undefined,
        Env: [...common, ...environment(env)],
        Cmd: startOf(this.#command, directoryOf(directory), pty),
        ...size,
      },
    });
    const body = { Detach: false, Tty: pty !== undefined, ...size };
    const socket = await engine.upgrade(`/exec/${Id}/start`, { body });
    this.#wire = new Wire(socket, this.collector, pty !== undefined);
    return [Id, this.#wire];
  }

  async #end(exec: string): Promise<void> {
    const wire = this.#wire as Wire;
    const isHopeless = (): boolean => this.#loss !== undefined || this.#process === undefined;
    const code = await exitOf(this.#host.engine, exec, wire, isHopeless);
    this.clearTimers();
    if (code === undefined) return this.#vanish();
    await wire.drain();
    if (wire.fault !== undefined) this.#loss ??= { outcome: "lost", why: wire.fault };
    if (this.#loss !== undefined) return this.#vanish();
    if (this.#process === undefined) return this.refuse(wire.handshake.refusal(this.#command));
    this.finish(await this.#outcomeOf(code));
  }

  async #outcomeOf(code: number): Promise<Outcome> {
    // The engine tells no signal: perhaps the command has chosen a code that looks so.
    const signal = code > 128 ? signalNamed(code - 128) : undefined;
    if (signal !== undefined && this.sent.has(signal))
      return { code: null, signal, ...(this.reason ?? killedBy(signal)) };
    if (code === 0) return { code, outcome: "ok" };
    if (await this.#host.outOfMemory(this.#since, code))
      return { ...(signal === "SIGKILL" ? { code: null, signal } : { code }), ...OUT_OF_MEMORY };
    // Nobody here sent that: perhaps everything in the container was ended.
    const loss = signal === "SIGKILL" ? await this.#host.loss() : undefined;
    return loss === undefined ? { code, outcome: "error" } : { code: null, ...loss };
  }

  async #vanish(): Promise<void> {
    const loss = this.#loss ?? (await this.#host.loss()) ?? FORGOTTEN;
    this.finish({ code: null, ...(this.reason ?? loss) });
  }

  #sendAll(): void {
    for (const signal of this.sent) void this.#send(signal);
  }

  async #send(signal: string): Promise<void> {
    const process = this.#process;
    if (process === undefined || this.collector.ended || this.#host.isSuspended) return;
    const abandon = (): void => {
      if (!this.collector.ended)
        void this.#host.abandon("a command in it could not be ended").catch(() => {});
    };
    const isLast = signal === "SIGKILL" && this.expectEnd(KILL_MILLISECONDS, abandon);
    const isSent = await this.#host.signal(process, signal).catch(() => false);
    if (!isLast || isSent || this.collector.ended) return;
    // Nothing more can be started in the container: it is full of processes.
    this.expectEnd(FULL_MILLISECONDS, abandon, true);
  }
}

const FORGOTTEN: Loss = { outcome: "lost", why: "the engine does not know it any longer" };

/** Where a command runs, as a path of the container. */
function directoryOf(directory = ""): Uint8Array {
  return bytesOfName(directory.startsWith("/") ? directory : [WORKSPACE, ...namesOf(directory)].join("/"));
}
