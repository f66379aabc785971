import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import type { Socket } from "node:net";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { BOX_VARIABLE, endBox, lineOf, processStat, sealed, startCleaning } from "../../sandbox/index.js";
import { brief, type Loss } from "./error.js";
import { Breach, Frames, type Limits, Meter, NOISE, pause, tooDeep } from "./limits.js";

/** Bytes of the last words that a server says on its error stream. */
const LAST_WORDS = 4_096;

const DRAIN_MILLISECONDS = 250;

/** Why a connection is over. */
export type Fault = { readonly loss: Loss; readonly reason: string };

/**
 * A server that is a process of ours: one message a line on its input and its output. A breach of its limits ends the
 * connection, and the process with all that it started.
 */
export class StdioTransport implements Transport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: Transport["onmessage"];
  /** The negotiation expects an older, perhaps silent server behind a transport with these two. */
  readonly stderr = null;
  /** The reason of the end, and the last line that was not a message. */
  fault: Fault | undefined;
  noise: string | undefined;
  readonly #command: () => Promise<Command>;
  readonly #limits: Limits;
  readonly #frames: Frames;
  readonly #meter: Meter;
  #child: Child | undefined;
  #words = "";
  #noises = 0;
  #closed = false;

  constructor(command: () => Promise<Command>, limits: Limits) {
    this.#command = command;
    this.#limits = limits;
    this.#frames = new Frames(limits.frame);
    this.#meter = new Meter(limits.burst);
  }

  get pid(): number | null {
    return this.#child?.process.pid ?? null;
  }

  async start(): Promise<void> {
    const command = await this.#command();
    if (this.#closed) throw new Error("it was closed before it began");
    const child = new Child(command);
    this.#child = child;
    const { stdin, stdout, stderr } = child.process;
    // A pipe that breaks is noticed by the end of the process; without a listener it would end ours.
    for (const stream of [stdin, stdout, stderr]) stream?.on("error", () => {});
    stderr?.on("data", (bytes: Buffer) => {
      this.#words = (this.#words + bytes.toString("utf8")).slice(-LAST_WORDS);
    });
    stdout?.on("data", (piece: Buffer) => this.#read(piece));
    // A process without its output can report nothing; one that ends has a code to report.
    stdout?.once("end", () => {
      const over = (): void => this.#over({ loss: "ended", reason: "it closed its output" });
      setTimeout(over, 2 * DRAIN_MILLISECONDS).unref();
    });
    child.process.once("exit", (code, signal) => {
      const over = (): void => this.#over({ loss: "ended", reason: this.#ending(code, signal) });
      // Its last output may still be on its way; its children may hold the pipe forever.
      if (stdout === null || stdout.closed) over();
      else {
        stdout.once("close", over);
        setTimeout(over, DRAIN_MILLISECONDS).unref();
      }
    });
    await new Promise<void>((resolve, reject) => {
      child.process.once("spawn", resolve);
      child.process.once("error", (error) => {
        this.#over({ loss: "ended", reason: error.message });
        reject(error);
      });
    });
  }

  /** Whether a message has begun that has no end. */
  get partial(): boolean {
    return this.#frames.partial;
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.process.stdin;
    if (this.#closed || stdin === null || stdin === undefined || !stdin.writable)
      throw new Error(this.fault?.reason ?? "it is not connected");
    // A server that reads nothing must not make us hold what it does not read.
    if (stdin.writableLength > this.#limits.frame) throw new Error("it does not read what it is sent");
    stdin.write(`${JSON.stringify(message)}\n`);
  }

  /** Whether our process stays for it: only while something is asked. */
  hold(held: boolean): void {
    const { process: child } = this.#child ?? {};
    if (child === undefined) return;
    for (const one of [child, child.stdin, child.stdout, child.stderr] as readonly Holds[])
      if (held) one?.ref?.();
      else one?.unref?.();
  }

  async close(): Promise<void> {
    this.#over({ loss: "closed", reason: "the connection was closed" });
    // Nothing else may keep the process alive until it is over.
    const awake = setInterval(() => {}, 60_000);
    try {
      await this.#child?.end();
    } finally {
      clearInterval(awake);
    }
  }

  #read(piece: Buffer): void {
    if (this.#closed) return;
    try {
      for (const line of this.#frames.take(piece)) {
        if (this.#closed) return;
        this.#meter.take();
        const message = messageIn(line);
        if (message === undefined) this.#hear(line);
        else this.#tell(message);
      }
    } catch (error) {
      const { loss, message } = error instanceof Breach ? error : new Breach("broken", String(error));
      this.#over({ loss, reason: message });
    }
  }

  /** An error of the reader of a message is not a reason to stop reading. */
  #tell(message: JSONRPCMessage): void {
    try {
      this.onmessage?.(message);
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #hear(line: string): void {
    this.noise = `it wrote a line that is not a message: ${brief(line, 200)}`;
    this.#noises += 1;
    if (this.#noises > NOISE)
      throw new Breach("broken", `it wrote more than ${NOISE} lines that are not messages`);
  }

  #ending(code: number | null, signal: NodeJS.Signals | null): string {
    const how = signal === null ? `it ended with code ${code}` : `it was ended by ${signal}`;
    const cut = this.#frames.partial ? ", in the middle of a message" : "";
    const words = this.#words.trim();
    return `${how}${cut}${words === "" ? "" : `; its last words: ${brief(words.slice(-300), 300)}`}`;
  }

  #over(fault: Fault): void {
    if (this.#closed) return;
    this.#closed = true;
    this.fault = fault;
    this.#frames.clear();
    // Nothing it still says is listened to; that it may go on writing must not fill anything here.
    void this.#child?.end().catch(() => {});
    this.onclose?.();
  }
}

type Holds = { readonly ref?: () => void; readonly unref?: () => void } | null | undefined;

/** The message that a line is, if it is one that can be read without harm. */
function messageIn(line: string): JSONRPCMessage | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value) || tooDeep(value)) return undefined;
  return (value as { readonly jsonrpc?: unknown }).jsonrpc === "2.0" ? (value as JSONRPCMessage) : undefined;
}

export type Command = {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: { readonly [name: string]: string };
  readonly cwd: string | undefined;
};

/** How long a server that is asked to end may take over it. */
const GRACE_MILLISECONDS = 500;

/**
 * A server's process, in a session and a group of its own, so that it ends as a whole: with the connection, and with us,
 * whatever we die of.
 */
export class Child {
  readonly process: ChildProcess;
  readonly #name = randomBytes(16).toString("hex");
  readonly #over: Promise<void>;
  #ended: Promise<void> | undefined;

  constructor({ command, args, env, cwd }: Command) {
    this.process = spawn(command, [...args], {
      env: { ...inherited(), ...env, [BOX_VARIABLE]: this.#name },
      ...(cwd !== undefined && { cwd }),
      stdio: sealed(["pipe", "pipe", "pipe"]),
      detached: process.platform !== "win32",
      windowsHide: true,
    });
    this.#over = new Promise((resolve) => {
      this.process.once("exit", () => resolve());
      this.process.once("error", () => resolve());
    });
    const { pid } = this.process;
    if (pid !== undefined) watch(this.#name, pid);
  }

  /** Ends it and everything that it started: in peace, if it goes when its input ends. */
  end(): Promise<void> {
    this.#ended ??= this.#end();
    return this.#ended;
  }

  async #end(): Promise<void> {
    const { pid, stdin, stdout, stderr } = this.process;
    stdin?.end();
    if (pid !== undefined) {
      await Promise.race([this.#over, pause(GRACE_MILLISECONDS)]);
      // Where a group cannot be told from others.
      if (process.platform === "win32") this.process.kill("SIGKILL");
      await endBox(this.#name, pid);
      // Where the system does not list its processes, this is all that tells of the end.
      await Promise.race([this.#over, pause(GRACE_MILLISECONDS)]);
      unwatch(this.#name);
    }
    for (const stream of [stdin, stdout, stderr]) stream?.destroy();
  }
}

/** The variables that a program needs to run at all. Everything else may be a secret that is not meant for it. */
const INHERITED: readonly string[] =
  process.platform === "win32"
    ? ["APPDATA", "COMSPEC", "LOCALAPPDATA", "PATH", "PATHEXT", "SYSTEMROOT", "TEMP", "USERPROFILE", "WINDIR"]
    : ["HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER"];

function inherited(): { [name: string]: string } {
  return Object.fromEntries(
    INHERITED.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

let cleaner: ChildProcess | undefined;

/** Has a process ended that outlives us: one that learns of our end by its input. */
function watch(name: string, pid: number): void {
  if (process.platform === "win32") return;
  if (cleaner === undefined || cleaner.exitCode !== null || cleaner.signalCode !== null) {
    cleaner = startCleaning("/", "ignore");
    cleaner.on("error", () => {});
    cleaner.unref();
    (cleaner.stdin as Partial<Socket> | null)?.unref?.();
  }
  cleaner.stdin?.write(
    lineOf(name, { processes: [{ pid, start: processStat(pid)?.start ?? 0 }], cgroups: [] }),
  );
}

function unwatch(name: string): void {
  cleaner?.stdin?.write(`del ${name}\n`);
}
