import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { EngineError } from "../error.js";
import type { Collector } from "../execution.js";
import { deferred } from "../lazy.js";
import type { Engine } from "./engine.js";

/** How long output is awaited that a process left behind by the command may still write: until so long nothing came. */
const QUIET_MILLISECONDS = 200;
const DRAIN_MILLISECONDS = 2_500;

/** The connection to a command: its output to anyone who collects it, and its input. */
export class Wire {
  readonly handshake: Handshake = new Handshake();
  /** Resolves when nothing more comes. */
  readonly closed: Promise<void>;
  isClosed = false;
  /** The reason why the connection was cut, if its data were wrong. */
  fault: string | undefined;
  readonly #socket: Duplex;
  readonly #collector: Collector;
  readonly #isTerminal: boolean;
  readonly #frames = new Frames();
  #lastByte = performance.now();

  constructor(socket: Duplex, collector: Collector, isTerminal: boolean) {
    this.#socket = socket;
    this.#collector = collector;
    this.#isTerminal = isTerminal;
    this.closed = new Promise((resolve) => {
      const over = (): void => {
        this.isClosed = true;
        resolve();
      };
      socket.on("close", over);
      socket.on("end", over);
    });
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
  }

  /** Sends input. Resolves when it was taken, or nobody is there to take it. */
  async feed(bytes: Uint8Array | "end"): Promise<void> {
    const socket = this.#socket;
    if (socket.destroyed || socket.writableEnded) return;
    if (bytes === "end" && !this.#isTerminal) socket.end();
    // A terminal has no end; this is the key that says so.
    else await new Promise<void>((done) => socket.write(bytes === "end" ? "\x04" : bytes, () => done()));
  }

  /** Waits for output on its way, but not for processes left behind that go on writing. */
  async drain(): Promise<void> {
    const until = performance.now() + DRAIN_MILLISECONDS;
    this.#lastByte = performance.now();
    while (!this.isClosed) {
      const left = Math.min(until, this.#lastByte + QUIET_MILLISECONDS) - performance.now();
      if (left <= 0) return;
      await Promise.race([this.closed, sleep(left)]);
    }
  }

  cut(): void {
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    this.#lastByte = performance.now();
    try {
      const pieces: Piece[] = this.#isTerminal
        ? [{ from: "stdout", bytes: chunk }]
        : this.#frames.take(chunk);
      for (const piece of pieces)
        for (const { from, bytes } of this.handshake.take(piece, this.#isTerminal)) {
          this.#collector.start();
          if (bytes.length > 0) this.#collector.take(from === "stderr" ? "stderr" : "stdout", bytes);
        }
    } catch (error) {
      this.fault ??= error instanceof Error ? error.message : String(error);
      this.cut();
    }
  }
}

/** How often the engine is asked whether a command has ended, at first, at most, and once its output has ended. */
const [SOON, SELDOM, CLOSED] = [25, 1_000, 50] as const;
/** How often an answer that leads nowhere is put up with. */
const PATIENCE = 5;

/**
 * The code that a command ended with; undefined when the engine cannot say. It is asked more and more seldom,
 * and at once when the output ends: a child may hold that open, so its end is not enough.
 *
 * @param isHopeless whether the command cannot be running, whatever the engine says
 */
export async function exitOf(
  engine: Engine,
  exec: string,
  output: { readonly closed: Promise<void>; readonly isClosed: boolean },
  isHopeless: () => boolean,
): Promise<number | undefined> {
  let doubts = 0;
  for (let wait: number = SOON; ; wait = Math.min(SELDOM, Math.ceil(wait * 1.5))) {
    await (output.isClosed ? sleep(Math.min(wait, CLOSED)) : Promise.race([output.closed, sleep(wait)]));
    const said = await ask(engine, exec);
    if (typeof said === "number") return said;
    // A command that closed its output and goes on is waited for.
    const isDoubtful = said === "unknown" || (output.isClosed && isHopeless());
    doubts = isDoubtful ? doubts + 1 : 0;
    if (said === "gone" || doubts >= PATIENCE) return undefined;
  }
}

async function ask(engine: Engine, exec: string): Promise<number | "running" | "unknown" | "gone"> {
  try {
    const said = await engine.json<{ Running?: boolean; ExitCode?: number | null }>(
      "GET",
      `/exec/${exec}/json`,
    );
    return said.Running === false && typeof said.ExitCode === "number" ? said.ExitCode : "running";
  } catch (error) {
    return error instanceof EngineError && error.status === 404 ? "gone" : "unknown";
  }
}

/** A piece of what a command wrote, or with "engine" what the engine has to say about it. */
export type Piece = { readonly from: "stdout" | "stderr" | "engine"; readonly bytes: Uint8Array };

const HEADER = 8;
const SOURCES = ["stdout", "stdout", "stderr", "engine"] as const;

/** Splits the engine's stream into frames: kind (one byte), three zeros, length (four bytes), bytes. */
export class Frames {
  readonly #header: Buffer = Buffer.alloc(HEADER);
  /** How much of the header is there; a whole one means that a body is being read. */
  #have = 0;
  #left = 0;

  /** The pieces in a chunk; an error when the stream is of another kind. */
  take(chunk: Uint8Array): Piece[] {
    const pieces: Piece[] = [];
    for (let at = 0; at < chunk.length; ) {
      if (this.#have < HEADER) {
        const part = chunk.subarray(at, at + HEADER - this.#have);
        this.#header.set(part, this.#have);
        this.#have += part.length;
        at += part.length;
        if (this.#have === HEADER) this.#begin();
        continue;
      }
      const bytes = chunk.subarray(at, at + this.#left);
      this.#left -= bytes.length;
      at += bytes.length;
      pieces.push({ from: SOURCES[this.#header[0] as number] as Piece["from"], bytes });
      if (this.#left === 0) this.#have = 0;
    }
    return pieces;
  }

  #begin(): void {
    const [kind = 255, ...zeros] = this.#header.subarray(0, 4);
    if (kind >= SOURCES.length || zeros.some((byte) => byte !== 0))
      throw new EngineError(
        "to tell the output of a command",
        101,
        "it sent bytes that are not a frame of it",
      );
    this.#left = this.#header.readUInt32BE(4);
    if (this.#left === 0) this.#have = 0;
  }
}

const LONGEST = 4096;

/** The first line of a command on standard error: its number, or why it does not start. */
export class Handshake {
  /** The number of the command's first process, and of the session it leads. */
  pid: number | undefined;
  /** Resolves when the line is there. */
  readonly done: Promise<void>;
  readonly #held: Piece[] = [];
  readonly #line = deferred<void>();
  #text = "";
  #isOver = false;

  constructor() {
    this.done = this.#line.promise;
  }

  /** The command's own output in a piece. Output that comes before the first line is held back until then. */
  take(piece: Piece, terminal: boolean): readonly Piece[] {
    if (this.pid !== undefined) return [piece];
    if (this.#isOver) return [];
    if (piece.from !== "stderr" && !terminal) {
      this.#held.push(piece);
      return [];
    }
    const { bytes } = piece;
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
    const end = text.indexOf("\n");
    this.#text += end < 0 ? text : text.slice(0, end);
    this.#isOver = end >= 0 || this.#text.length > LONGEST;
    if (!this.#isOver) return [];
    const [, pid] = /^\+(\d{1,10})\r?$/.exec(this.#text) ?? [];
    if (pid !== undefined) this.pid = Number(pid);
    this.#line.resolve();
    if (this.pid === undefined) return [];
    return [...this.#held.splice(0), { from: piece.from, bytes: bytes.subarray(end + 1) }];
  }

  /** Why there is no number. */
  refusal(command: string | readonly string[]): string {
    const complaint = Buffer.concat(this.#held.map(({ bytes }) => bytes)).toString("utf8");
    const said = `${this.#text}${complaint}`.slice(0, LONGEST).trim();
    if (said === "-directory") return "there is no such directory";
    if (said === "-program")
      return `there is no program ${typeof command === "string" ? "for the shell" : command[0]}`;
    return said === "" ? "the engine did not start it and did not say why" : said;
  }
}
