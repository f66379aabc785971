import { constants as system } from "node:os";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { Collector } from "../collector.js";
import { bytesOfName, namesOf } from "../path.js";
import type { ExecEvent, ExecOptions, ExecResult, Execution } from "../sandbox.js";
import type { Engine } from "./engine.js";
import { EngineError } from "./error.js";
import { Frames, type Piece } from "./frames.js";
import type { Gate } from "./gate.js";
import { Handshake } from "./handshake.js";
import { startOf, WORKSPACE } from "./script.js";
import { Stopwatch } from "./stopwatch.js";

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

/** How long output is awaited that a process left behind by the command may still write: until so long nothing came. */
const QUIET_MILLISECONDS = 200;
const DRAIN_MILLISECONDS = 2_500;
/** How long a command that was killed may take to be gone. */
const KILL_MILLISECONDS = 5_000;
const FULL_MILLISECONDS = 250;
const START_MILLISECONDS = 60_000;
/** How often the engine is asked whether a command has ended that does not close its output, at first and at most. */
const [SOON, SELDOM] = [25, 1_000] as const;
const PATIENCE = 5;

/** A command in a container. */
export class ContainerExecution implements Execution {
  readonly id: string;
  readonly #ground: Ground;
  readonly #command: string | readonly string[];
  readonly #options: ExecOptions;
  readonly #collector: Collector;
  readonly #began = performance.now();
  readonly #since = Date.now();
  readonly #frames = new Frames();
  readonly #handshake = new Handshake();
  readonly #wall: Stopwatch | undefined;
  readonly #sent = new Set<string>();
  readonly #input: (Uint8Array | "end")[] = [];
  #socket: Duplex | undefined;
  #closed: Promise<void> = Promise.resolve();
  #lastByte = 0;
  #reason: Reason | undefined;
  #fate: Fate | undefined;
  #lastResort: NodeJS.Timeout | undefined;

  constructor(
    ground: Ground,
    id: string,
    command: string | readonly string[],
    limits: { readonly wall: number; readonly output: number },
    options: ExecOptions,
  ) {
    this.#ground = ground;
    this.id = id;
    this.#command = command;
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
      if (exec !== undefined) await this.#watch(exec);
    } catch (error) {
      await this.#fail(error);
    }
  }

  async write(bytes: Uint8Array | string): Promise<void> {
    if (this.#options.stdin !== "open" || this.#collector.ended || this.#input.includes("end")) return;
    const taken = Buffer.from(bytes);
    if (this.#handshake.pid === undefined) this.#input.push(taken);
    else await this.#feed(taken);
  }

  end(): void {
    if (this.#options.stdin !== "open" || this.#input.includes("end")) return;
    this.#input.push("end");
    if (this.#handshake.pid !== undefined) void this.#feed("end");
  }

  async kill(signal: Signal = "SIGKILL"): Promise<void> {
    if (this.#collector.ended) return;
    this.#sent.add(signal);
    // Before it began nobody knows its number; it is killed as soon as it is known.
    if (this.#handshake.pid !== undefined) await this.#send(signal);
  }

  /** Ends it for a reason; the first one counts. */
  stop(reason: Reason): void {
    if (this.#collector.ended) return;
    this.#reason ??= reason;
    void this.kill("SIGKILL").catch(() => {});
  }

  /** The container is gone, or about to go. */
  lose(fate: Fate): void {
    this.#fate ??= fate;
    this.#socket?.destroy();
  }

  /** Time does not count while the sandbox is suspended. */
  suspend(): void {
    this.#wall?.stop();
  }

  resume(): void {
    if (this.#handshake.pid === undefined) return;
    this.#wall?.start();
    // What was sent meanwhile could not arrive.
    for (const signal of this.#sent) void this.#send(signal as Signal);
  }

  readonly #abort = (): void => this.stop({ outcome: "killed", why: "it was aborted" });

  /** Until the command says its number, or the engine why there is none; the engine's name of it. */
  async #start(): Promise<string | undefined> {
    const { engine, container, environment } = this.#ground;
    const hindered = await this.#ground.obstacle();
    const obstacle = this.#reason?.why ?? this.#fate?.why ?? hindered ?? flawOf(this.#command);
    if (obstacle !== undefined) {
      this.#finish(this.#reason === undefined ? unstarted(obstacle) : { code: null, ...this.#reason });
      return undefined;
    }
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
    const socket = await engine.upgrade(`/exec/${Id}/start`, {
      body: { Detach: false, Tty: pty !== undefined, ...size },
    });
    this.#listen(socket);
    const late = sleep(START_MILLISECONDS, undefined, { ref: false });
    const isLate = await Promise.race([this.#handshake.done, this.#closed, late.then(() => true)]);
    if (isLate === true)
      this.lose({ outcome: "lost", why: "the engine did not say in time whether it began" });
    if (this.#handshake.pid === undefined) return Id;
    this.#collector.start();
    this.#wall?.start();
    if (pty !== undefined)
      await engine
        .json("POST", `/exec/${Id}/resize`, { query: { h: `${pty.rows ?? 24}`, w: `${pty.columns ?? 80}` } })
        .catch(() => {});
    for (const bytes of this.#input) void this.#feed(bytes);
    for (const signal of this.#sent) void this.#send(signal as Signal);
    return Id;
  }

  #listen(socket: Duplex): void {
    this.#socket = socket;
    this.#closed = new Promise((resolve) => {
      socket.on("close", resolve);
      socket.on("end", resolve);
    });
    socket.on("data", (chunk: Buffer) => {
      this.#lastByte = performance.now();
      try {
        const pieces: Piece[] =
          this.#options.pty === undefined ? this.#frames.take(chunk) : [{ from: "stdout", bytes: chunk }];
        for (const piece of pieces) this.#take(piece);
      } catch (error) {
        this.#fate ??= { outcome: "lost", why: error instanceof Error ? error.message : String(error) };
        socket.destroy();
      }
    });
  }

  #take(piece: Piece): void {
    for (const { from, bytes } of this.#handshake.take(piece, this.#options.pty !== undefined))
      if (bytes.length > 0) this.#collector.take(from === "stderr" ? "stderr" : "stdout", bytes);
  }

  /** The engine is asked how it is, more and more seldom, and when the output ends: a child may hold that open. */
  async #watch(exec: string): Promise<void> {
    let [wait, doubts] = [SOON, 0] as [number, number];
    let isClosed = false;
    void this.#closed.then(() => {
      isClosed = true;
    });
    for (;;) {
      await Promise.race([isClosed ? sleep(Math.min(wait, 50)) : this.#closed, sleep(wait)]);
      wait = Math.min(SELDOM, Math.ceil(wait * 1.5));
      const code = await this.#ask(exec);
      if (typeof code === "number") return this.#conclude(code);
      if (code === "unknown" || (isClosed && code === "running")) doubts += 1;
      else doubts = 0;
      // Its output has ended and it goes on: only a command that closed it does that, and it is waited for.
      const limit = code === "unknown" || this.#fate !== undefined ? PATIENCE : Number.POSITIVE_INFINITY;
      if (code === "gone" || doubts >= limit) return this.#vanish();
    }
  }

  async #ask(exec: string): Promise<number | "running" | "unknown" | "gone"> {
    try {
      const said = await this.#ground.engine.json<{ Running?: boolean; ExitCode?: number | null }>(
        "GET",
        `/exec/${exec}/json`,
      );
      return said.Running === false && typeof said.ExitCode === "number" ? said.ExitCode : "running";
    } catch (error) {
      return error instanceof EngineError && error.status === 404 ? "gone" : "unknown";
    }
  }

  async #conclude(code: number): Promise<void> {
    this.#wall?.stop();
    clearTimeout(this.#lastResort);
    await this.#drain();
    if (this.#fate !== undefined) return this.#finish({ code: null, ...this.#fate });
    if (this.#handshake.pid === undefined)
      return this.#finish(unstarted(this.#handshake.refusal(this.#command)));
    const signal = signalOf(code);
    const killed = signal !== undefined && this.#sent.has(signal);
    if (killed && this.#reason !== undefined) return this.#finish({ code: null, signal, ...this.#reason });
    if (killed) return this.#finish({ code: null, signal, outcome: "killed", why: `it was sent ${signal}` });
    if (code !== 0 && (await this.#ground.outOfMemory(this.#since, code)))
      return this.#finish({
        ...(signal === "SIGKILL" ? { code: null, signal } : { code }),
        outcome: "oom",
        why: "the sandbox has used up its memory",
      });
    // Nobody here sent that: perhaps everything in the container was ended.
    const fate = signal === "SIGKILL" ? await this.#ground.fate() : undefined;
    this.#finish(
      fate === undefined ? { code, outcome: code === 0 ? "ok" : "error" } : { code: null, ...fate },
    );
  }

  /** What it wrote may still be on the way; what it left behind may go on writing, and is not waited for. */
  async #drain(): Promise<void> {
    const until = performance.now() + DRAIN_MILLISECONDS;
    this.#lastByte = performance.now();
    let isOver = false;
    void this.#closed.then(() => {
      isOver = true;
    });
    await Promise.resolve();
    while (!isOver) {
      const now = performance.now();
      const left = Math.min(until, this.#lastByte + QUIET_MILLISECONDS) - now;
      if (left <= 0) return;
      await Promise.race([this.#closed, sleep(left)]);
    }
  }

  async #vanish(): Promise<void> {
    const fate = this.#fate ?? (await this.#ground.fate()) ?? FORGOTTEN;
    this.#finish({ code: null, ...(this.#reason ?? fate) });
  }

  async #fail(error: unknown): Promise<void> {
    const why = error instanceof Error ? error.message : String(error);
    // What the engine refused did not begin; of what it did not answer to nobody knows.
    if (error instanceof EngineError && (error.status === null || error.status === 404))
      return this.#vanish();
    this.#finish(unstarted(why.split("\n")[0] as string));
  }

  async #feed(bytes: Uint8Array | "end"): Promise<void> {
    const socket = this.#socket;
    if (socket === undefined || socket.destroyed || socket.writableEnded) return;
    const isTerminal = this.#options.pty !== undefined;
    if (bytes === "end" && !isTerminal) socket.end();
    // A terminal has no end; this is the key that says so.
    else await new Promise<void>((done) => socket.write(bytes === "end" ? "\x04" : bytes, () => done()));
  }

  async #send(signal: Signal): Promise<void> {
    const { pid } = this.#handshake;
    if (pid === undefined || this.#collector.ended || this.#ground.isSuspended) return;
    const isLast = signal === "SIGKILL" && this.#lastResort === undefined;
    const abandon = (): void => {
      if (!this.#collector.ended)
        void this.#ground.abandon("a command in it could not be ended").catch(() => {});
    };
    if (isLast) this.#lastResort = setTimeout(abandon, KILL_MILLISECONDS);
    const isSent = await this.#ground.signal(pid, signal).catch(() => false);
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
    this.#socket?.destroy();
    this.#collector.end({ ...ending, milliseconds: performance.now() - this.#began });
    this.#ground.over(this);
  }
}

const FORGOTTEN: Fate = { outcome: "lost", why: "the engine does not know it any more" };

function unstarted(why: string): Ending {
  return { code: null, outcome: "unstarted", why };
}

/** The longest word that the kernel takes; a longer command must be a file of the workspace. */
const LONGEST_WORD = 128 * 1024 - 1;

function flawOf(command: string | readonly string[]): string | undefined {
  const words = typeof command === "string" ? [command] : command;
  if (typeof command !== "string" && (words.length === 0 || words[0] === "")) return "it names no program";
  if (words.some((word) => word.includes("\0"))) return "it holds a NUL character";
  if (words.some((word) => Buffer.byteLength(word) > LONGEST_WORD))
    return "it is too long for the kernel: put it into a file of the workspace";
  return undefined;
}

function directoryOf(directory: string | undefined): Uint8Array {
  if (directory?.startsWith("/") === true) return bytesOfName(directory);
  return bytesOfName([WORKSPACE, ...namesOf(directory ?? "")].join("/"));
}

/** The signal that a command died of, as the engine tells it: or the command has chosen a code that looks so. */
function signalOf(code: number): string | undefined {
  if (code <= 128) return undefined;
  return Object.entries(system.signals).find(([, number]) => number === code - 128)?.[0];
}
