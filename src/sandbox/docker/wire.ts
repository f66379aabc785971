import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { Collector } from "../collector.js";
import type { Engine } from "./engine.js";
import { EngineError } from "./error.js";
import { Frames, type Piece } from "./frames.js";
import { Handshake } from "./handshake.js";

/** How long output is awaited that a process left behind by the command may still write: until so long nothing came. */
const QUIET_MILLISECONDS = 200;
const DRAIN_MILLISECONDS = 2_500;

/** The connection to a command: its output to anyone who collects it, and its input. */
export class Wire {
  readonly handshake: Handshake = new Handshake();
  /** Resolves when nothing more comes. */
  readonly closed: Promise<void>;
  isClosed = false;
  /** What came that should not have. */
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

  /** What the command wrote may still be on the way; what it left behind may go on writing, and is not waited for. */
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
