import { setTimeout as sleep } from "node:timers/promises";
import { commandFault, lengthFault } from "../check-call.js";
import { Collector } from "../collector.js";
import type { ExecEvent, ExecOptions, ExecResult, Execution } from "../sandbox.js";
import { directoryOf, signalIn } from "./command.js";
import type { Engine } from "./engine.js";
import { EngineError } from "./error.js";
import { exitOf } from "./exit.js";
import type { Gate } from "./gate.js";
import { startOf } from "./script.js";
import { settled } from "./settle.js";
import { Stopwatch } from "./stopwatch.js";
import { Wire } from "./wire.js";

/** What a command needs of the container it runs in. */
export interface Ground {
  readonly engine: Engine;
  readonly container: string;
  readonly gate: Gate;
  readonly environment: readonly string[];
  /** Nothing in the container runs until it is resumed. */
  readonly isSuspended: boolean;
  /** Why no command can begin now. */
  obstacle(): Promise<string | undefined>;
  over(execution: ContainerExecution): void;
  /** Sends a signal to the processes of a command; whether that could be done. */
  signal(session: number, signal: string): Promise<boolean>;
  /** Ends everything in the container, because a command in it could not be ended. */
  abandon(why: string): Promise<void>;
  /** Whether a process was ended for want of memory since a time. */
  outOfMemory(since: number, code: number): Promise<boolean>;
  /** What became of the container that a command was in; undefined when it is there and runs. */
  fate(): Promise<Fate | undefined>;
}

export type Fate = { readonly outcome: "lost" | "killed"; readonly why: string };
type Reason = { readonly outcome: "timeout" | "killed"; readonly why: string };
type Signal = NonNullable<Parameters<Execution["kill"]>[0]>;
type Ending = Omit<ExecResult, "stdout" | "stderr" | "cut" | "milliseconds">;

/** How long a command that was killed may take to be gone; and one that the signal could not even be sent to. */
const KILL_MILLISECONDS = 5_000;
const FULL_MILLISECONDS = 250;
const START_MILLISECONDS = 60_000;

/** A command in a container. */
export class ContainerExecution implements Execution {
  readonly id: string;
  readonly #ground: Ground;
  readonly #command: string | readonly string[];
  /** What is wrong with what was asked for. */
  readonly #fault: string | undefined;
  readonly #options: ExecOptions;
  readonly #collector: Collector;
  readonly #began = performance.now();
  readonly #since = Date.now();
  readonly #wall: Stopwatch | undefined;
  readonly #sent = new Set<Signal>();
  readonly #input: (Uint8Array | "end")[] = [];
  #wire: Wire | undefined;
  #reason: Reason | undefined;
  #fate: Fate | undefined;
  #lastResort: NodeJS.Timeout | undefined;

  constructor(
    ground: Ground,
    id: string,
    command: string | readonly string[],
    limits: { readonly wall: number; readonly output: number },
    asked: ExecOptions,
  ) {
    this.#ground = ground;
    this.id = id;
    this.#fault = commandFault(command, asked);
    this.#command = this.#fault === undefined ? command : [];
    const options = this.#fault === undefined ? asked : {};
    this.#options = options;
    this.#collector = new Collector(options.output ?? limits.output);
    const wall = options.wall ?? limits.wall;
    if (options.background !== true)
      this.#wall = new Stopwatch(wall, () =>
        this.stop({ outcome: "timeout", why: `it took longer than ${wall} ms` }),
      );
    const { stdin } = options;
    if (stdin !== undefined && stdin !== "open") this.#input.push(Buffer.from(stdin), "end");
  }

  get result(): Promise<ExecResult> {
    return this.#collector.result;
  }

  [Symbol.asyncIterator](): AsyncIterator<ExecEvent> {
    return this.#collector[Symbol.asyncIterator]();
  }

  /** Begins, and goes on to its end. Never throws. */
  async run(): Promise<void> {
    const { signal } = this.#options;
    if (signal?.aborted === true) return this.#finish(unstarted("it was aborted before it began"));
    signal?.addEventListener("abort", this.#abort, { once: true });
    try {
      const exec = await this.#ground.gate.together(() => this.#start());
      if (exec !== undefined) await this.#end(exec);
    } catch (error) {
      // What the engine refused did not begin; of what it did not answer to nobody knows.
      const isUnknown = error instanceof EngineError && (error.status === null || error.status === 404);
      if (isUnknown) return this.#vanish();
      this.#finish(
        unstarted((error instanceof Error ? error.message : String(error)).split("\n")[0] as string),
      );
    }
  }

  async write(bytes: Uint8Array | string): Promise<void> {
    if (this.#options.stdin !== "open" || this.#collector.ended || this.#input.includes("end")) return;
    const taken = Buffer.from(bytes);
    if (this.#process === undefined) this.#input.push(taken);
    else await this.#wire?.feed(taken);
  }

  end(): void {
    if (this.#options.stdin !== "open" || this.#input.includes("end")) return;
    this.#input.push("end");
    if (this.#process !== undefined) void this.#wire?.feed("end");
  }

  async kill(signal: Signal = "SIGKILL"): Promise<void> {
    if (this.#collector.ended) return;
    this.#sent.add(signal);
    // Before it began nobody knows its number; it is killed as soon as it is known.
    await this.#send(signal);
  }

  /** Ends it for a reason; the first one counts. */
  stop(reason: Reason): void {
    if (this.#collector.ended) return;
    this.#reason ??= reason;
    void this.kill("SIGKILL");
  }

  /** The container is gone, or about to go. */
  lose(fate: Fate): void {
    this.#fate ??= fate;
    this.#wire?.cut();
  }

  /** Time does not count while the sandbox is suspended. */
  suspend(): void {
    this.#wall?.stop();
  }

  resume(): void {
    if (this.#process === undefined) return;
    this.#wall?.start();
    // What was sent meanwhile could not arrive.
    for (const signal of this.#sent) void this.#send(signal);
  }

  readonly #abort = (): void => this.stop({ outcome: "killed", why: "it was aborted" });

  get #process(): number | undefined {
    return this.#wire?.handshake.pid;
  }

  /** Until the command says its number, or the engine why there is none; the engine's name of it. */
  async #start(): Promise<string | undefined> {
    const hindered = await this.#ground.obstacle();
    const obstacle =
      this.#reason?.why ?? this.#fate?.why ?? hindered ?? this.#fault ?? lengthFault([this.#command].flat());
    if (obstacle !== undefined) {
      this.#finish(this.#reason === undefined ? unstarted(obstacle) : { code: null, ...this.#reason });
      return undefined;
    }
    const exec = await settled(() => this.#open());
    const { handshake, closed } = this.#wire as Wire;
    const late = sleep(START_MILLISECONDS, true, { ref: false });
    if ((await Promise.race([handshake.done, closed, late])) === true)
      this.lose({ outcome: "lost", why: "the engine did not say in time whether it began" });
    if (handshake.pid === undefined) return exec;
    if (!this.#ground.isSuspended) this.#wall?.start();
    for (const bytes of this.#input) void this.#wire?.feed(bytes);
    for (const signal of this.#sent) void this.#send(signal);
    return exec;
  }

  async #open(): Promise<string> {
    const { engine, container, environment } = this.#ground;
    const { env = {}, pty, stdin, directory } = this.#options;
    const size = pty === undefined ? {} : { ConsoleSize: [pty.rows ?? 24, pty.columns ?? 80] };
    const { Id } = await engine.json<{ Id: string }>("POST", `/containers/${container}/exec`, {
      body: {
        AttachStdin: stdin !== undefined,
        AttachStdout: true,
        AttachStderr: true,
        Tty: pty !== undefined,
        Env: [...environment, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)],
        Cmd: startOf(this.#command, directoryOf(directory), pty),
        ...size,
      },
    });
    const body = { Detach: false, Tty: pty !== undefined, ...size };
    const socket = await engine.upgrade(`/exec/${Id}/start`, { body });
    this.#wire = new Wire(socket, this.#collector, pty !== undefined);
    return Id;
  }

  async #end(exec: string): Promise<void> {
    const wire = this.#wire as Wire;
    const isHopeless = (): boolean => this.#fate !== undefined || this.#process === undefined;
    const code = await exitOf(this.#ground.engine, exec, wire, isHopeless);
    this.#wall?.stop();
    clearTimeout(this.#lastResort);
    if (code === undefined) return this.#vanish();
    await wire.drain();
    if (wire.fault !== undefined) this.#fate ??= { outcome: "lost", why: wire.fault };
    if (this.#fate !== undefined) return this.#vanish();
    if (this.#process === undefined) return this.#finish(unstarted(wire.handshake.refusal(this.#command)));
    this.#finish(await this.#meaningOf(code));
  }

  async #meaningOf(code: number): Promise<Ending> {
    const signal = signalIn(code);
    if (signal !== undefined && this.#sent.has(signal as Signal))
      return { code: null, signal, ...(this.#reason ?? { outcome: "killed", why: `it was sent ${signal}` }) };
    if (code === 0) return { code, outcome: "ok" };
    if (await this.#ground.outOfMemory(this.#since, code))
      return {
        ...(signal === "SIGKILL" ? { code: null, signal } : { code }),
        outcome: "oom",
        why: "the sandbox has used up its memory",
      };
    // Nobody here sent that: perhaps everything in the container was ended.
    const fate = signal === "SIGKILL" ? await this.#ground.fate() : undefined;
    return fate === undefined ? { code, outcome: "error" } : { code: null, ...fate };
  }

  async #vanish(): Promise<void> {
    const fate = this.#fate ?? (await this.#ground.fate()) ?? FORGOTTEN;
    this.#finish({ code: null, ...(this.#reason ?? fate) });
  }

  async #send(signal: Signal): Promise<void> {
    const process = this.#process;
    if (process === undefined || this.#collector.ended || this.#ground.isSuspended) return;
    const isLast = signal === "SIGKILL" && this.#lastResort === undefined;
    const abandon = (): void => {
      if (!this.#collector.ended)
        void this.#ground.abandon("a command in it could not be ended").catch(() => {});
    };
    if (isLast) this.#lastResort = setTimeout(abandon, KILL_MILLISECONDS);
    const isSent = await this.#ground.signal(process, signal).catch(() => false);
    if (!isLast || isSent || this.#collector.ended) return;
    // Nothing more can be started in the container: it is full of processes.
    clearTimeout(this.#lastResort);
    this.#lastResort = setTimeout(abandon, FULL_MILLISECONDS);
  }

  #finish(ending: Ending): void {
    if (this.#collector.ended) return;
    this.#wall?.stop();
    clearTimeout(this.#lastResort);
    this.#options.signal?.removeEventListener("abort", this.#abort);
    this.#wire?.cut();
    this.#collector.end({ ...ending, milliseconds: performance.now() - this.#began });
    this.#ground.over(this);
  }
}

const FORGOTTEN: Fate = { outcome: "lost", why: "the engine does not know it any more" };

function unstarted(why: string): Ending {
  return { code: null, outcome: "unstarted", why };
}
