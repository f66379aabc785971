import { closeSync, constants, fstatSync, mkdirSync, openSync, readSync, unlink } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import { AFTERWARDS_BYTES, readSlowly } from "../execution.js";
import { programOf, runProgram } from "./probe.js";

/** The pipes of one command: three names in the folder of a sandbox. */
export type Slot = { readonly stdin: string; readonly stdout: string; readonly stderr: string };

const AT_FIRST = 4;
const MORE = 32;
const MOST_HELD = 64;

/** The named pipes of a sandbox: a command can write into one but not replace it. They are reused. */
export class Pipes {
  readonly folder: string;
  readonly #free: Slot[] = [];
  readonly #waiting: ((slot: Slot | Error) => void)[] = [];
  readonly #held = new Set<Slot>();
  #count = 0;
  #making = false;

  /** Makes pipes in several new folders at once: starting a process for each would cost more than the pipes. */
  static async prepare(folders: readonly string[]): Promise<void> {
    for (const folder of folders) mkdirSync(folder, { mode: 0o700 });
    const names = Array.from({ length: AT_FIRST }, (_, number) => Object.values(slotOf(number))).flat();
    await makePipes(folders.flatMap((folder) => names.map((name) => join(folder, name))));
  }

  /** The pipes of a folder that was prepared. */
  constructor(folder: string) {
    this.folder = folder;
    while (this.#count < AT_FIRST) this.#free.push(slotOf(this.#count++));
  }

  /** A slot that nobody uses. */
  take(): Slot | Promise<Slot> {
    const slot = this.#free.pop();
    if (slot !== undefined) return slot;
    return new Promise((resolve, reject) => {
      this.#waiting.push((answer) => (answer instanceof Error ? reject(answer) : resolve(answer)));
      if (!this.#making) void this.#make(MORE).catch(() => {});
    });
  }

  /** Gives a slot back that nobody inside holds. */
  give(slot: Slot): void {
    this.#held.delete(slot);
    const waiting = this.#waiting.shift();
    if (waiting === undefined) this.#free.push(slot);
    else waiting(slot);
  }

  /** Whether a slot may wait, with our ends open, until nobody holds it. Too many are given up. */
  mayWait(slot: Slot): boolean {
    if (this.#held.size < MOST_HELD) {
      this.#held.add(slot);
      return true;
    }
    for (const name of Object.values(slot)) unlink(join(this.folder, name), () => {});
    return false;
  }

  /** Opens a pipe on our side, which must be what we made. */
  open(name: string, flags: number): number {
    const descriptor = openSync(join(this.folder, name), flags | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    if (fstatSync(descriptor).isFIFO()) return descriptor;
    closeSync(descriptor);
    throw new Error(`${name} is not a pipe`);
  }

  async #make(count: number): Promise<void> {
    this.#making = true;
    const slots = Array.from({ length: count }, () => slotOf(this.#count++));
    try {
      await makePipes(slots.flatMap((slot) => Object.values(slot)).map((name) => join(this.folder, name)));
    } catch (error) {
      for (const waiting of this.#waiting.splice(0)) waiting(error as Error);
      throw error;
    } finally {
      this.#making = false;
    }
    for (const slot of slots) this.give(slot);
    if (this.#waiting.length > 0) void this.#make(MORE).catch(() => {});
  }
}

function slotOf(number: number): Slot {
  return { stdin: `${number}.in`, stdout: `${number}.out`, stderr: `${number}.err` };
}

/** Node cannot make a named pipe itself. */
async function makePipes(paths: readonly string[]): Promise<void> {
  const { error } = await runProgram(programOf("mkfifo") ?? "mkfifo", ["-m", "600", "--", ...paths]);
  if (error !== null) throw error;
}

/** Our end of the pipe that a command reads from. */
export class Inlet {
  readonly #socket: Socket;
  #open = false;
  #ending = false;
  #waiting = 0;

  /** @param descriptor opened for reading too: so it can be written to before the command has opened it */
  constructor(descriptor: number) {
    this.#socket = new Socket({ fd: descriptor, readable: false, writable: true });
    this.#socket.on("error", () => {});
  }

  /** Resolves when the bytes are in the pipe, or when nobody will read them. */
  write(bytes: Uint8Array | string): Promise<void> {
    if (this.#ending || this.#socket.destroyed) return Promise.resolve();
    this.#waiting += 1;
    return new Promise((resolve) => {
      this.#socket.write(bytes, () => {
        this.#waiting -= 1;
        resolve();
        this.#settle();
      });
    });
  }

  /** No more input: the command sees the end of it after what was written. */
  end(): void {
    this.#ending = true;
    this.#settle();
  }

  /** The command has opened its end. Before that ours must stay: it would wait for another forever. */
  opened(): void {
    this.#open = true;
    this.#settle();
  }

  close(): void {
    this.#ending = true;
    this.#socket.destroy();
  }

  #settle(): void {
    if (this.#open && this.#ending && this.#waiting === 0) this.#socket.destroy();
  }
}

const CHUNK = Buffer.allocUnsafe(64 * 1024);

/** Our end of a pipe that a command writes into. */
export class Outlet {
  readonly #descriptor: number;
  readonly #socket: Socket;
  #take: (bytes: Uint8Array) => void;
  #ended = false;

  /** @param ended called once nobody holds the other end */
  constructor(descriptor: number, take: (bytes: Uint8Array) => void, ended: () => void) {
    this.#descriptor = descriptor;
    this.#take = take;
    this.#socket = new Socket({ fd: descriptor, readable: true, writable: false });
    this.#socket.on("data", (bytes: Buffer) => this.#take(bytes));
    this.#socket.on("error", () => {});
    this.#socket.once("end", () => {
      this.#ended = true;
      ended();
    });
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Reads what is in the pipe after the command; false if a process that it left may still write more. */
  drain(): boolean {
    readSlowly(this.#socket);
    // One that is filled as fast as it is emptied has no end.
    for (let left = AFTERWARDS_BYTES; !this.#ended; ) {
      if (this.#socket.destroyed) return true;
      const count = left > 0 ? this.#read() : undefined;
      if (count === undefined) return false;
      if (count === 0) this.#ended = true;
      else this.#take(CHUNK.subarray(0, count));
      left -= count;
    }
    return true;
  }

  /** Goes on reading and drops what comes: anyone who still writes must not die of it. */
  ignore(): void {
    this.#take = () => {};
    this.#socket.unref();
  }

  close(): void {
    this.#socket.destroy();
  }

  /** undefined: nothing now. */
  #read(): number | undefined {
    try {
      return readSync(this.#descriptor, CHUNK, 0, CHUNK.length, null);
    } catch {
      return undefined;
    }
  }
}
