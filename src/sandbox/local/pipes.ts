import { execFile } from "node:child_process";
import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";

/** The pipes of one command: three names in the folder of a sandbox. */
export type Slot = { readonly stdin: string; readonly stdout: string; readonly stderr: string };

const AT_FIRST = 4;
const MORE = 32;

/**
 * The named pipes of a sandbox, made outside and seen read-only inside: a command can write into one, and cannot put
 * anything else in its place. They are used again once nobody holds them.
 */
export class Pipes {
  readonly folder: string;
  readonly #free: Slot[] = [];
  readonly #waiting: ((slot: Slot | Error) => void)[] = [];
  #count = 0;
  #making = false;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async open(folder: string): Promise<Pipes> {
    await mkdir(folder, { mode: 0o700 });
    const pipes = new Pipes(folder);
    await pipes.#make(AT_FIRST);
    return pipes;
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

  /** Gives a slot back that nobody inside holds any more. */
  give(slot: Slot): void {
    const waiting = this.#waiting.shift();
    if (waiting === undefined) this.#free.push(slot);
    else waiting(slot);
  }

  /** Opens a pipe on our side, which must be what we made. */
  open(name: string, flags: number): number {
    const descriptor = openSync(join(this.folder, name), flags | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    if (fstatSync(descriptor).isFIFO()) return descriptor;
    closeSync(descriptor);
    throw new Error(`${name} is no pipe`);
  }

  async #make(count: number): Promise<void> {
    this.#making = true;
    const slots = Array.from({ length: count }, (): Slot => {
      const number = this.#count++;
      return { stdin: `${number}.in`, stdout: `${number}.out`, stderr: `${number}.err` };
    });
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

/** Node cannot make a named pipe itself. */
function makePipes(paths: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile("mkfifo", ["-m", "600", "--", ...paths], { timeout: 20_000 }, (error) =>
      error === null ? resolve() : reject(error),
    );
  });
}
