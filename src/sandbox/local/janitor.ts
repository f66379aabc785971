import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { type Belongings, lineOf, startCleaning } from "./cleaner.js";

/**
 * A small shell process beside this one that outlives it, by an instant: when this process ends, in whatever way, its
 * input ends, and it kills and removes every box it was told of. It has a session of its own, so that what is sent to our
 * group does not reach it, and if it is killed itself, another one is started.
 */
export class Janitor {
  readonly #state: string;
  readonly #boxes = new Map<string, Belongings>();
  #sign: string | undefined;
  #process: ChildProcess | undefined;
  /** Milliseconds until another one is started when this one ends; longer each time. */
  #patience = 100;
  #closed = false;

  /** @param state the state directory: boxes are `live/<name>` in it, and nothing elsewhere is ever removed */
  constructor(state: string) {
    this.#state = state;
  }

  /** The process, while there is one. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** From now on it looks after this box. Told again, it knows better what belongs to it. */
  add(name: string, belongings: Belongings): void {
    this.#boxes.set(name, belongings);
    if (this.#process === undefined) this.#start();
    else this.#tell(lineOf(name, belongings));
  }

  /** Our sign of life, which is to go with us. */
  sign(name: string): void {
    this.#sign = name;
    if (this.#process === undefined) this.#start();
    else this.#tell(`sign ${name}\n`);
  }

  /** The box is gone. */
  remove(name: string): void {
    if (this.#boxes.delete(name)) this.#tell(`del ${name}\n`);
  }

  /** Lets it go; it removes what it was not told to be gone. Resolves when it has, or after five seconds. */
  async close(): Promise<void> {
    this.#closed = true;
    const child = this.#process;
    if (child === undefined) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, 5000);
      child.once("close", () => {
        clearTimeout(timer);
        resolve();
      });
      child.ref();
      child.stdin?.end();
    });
  }

  #start(): void {
    if (this.#closed || process.platform === "win32") return;
    const child = startCleaning(this.#state, "ignore");
    this.#process = child;
    const over = (): void => {
      if (this.#process !== child) return;
      this.#process = undefined;
      setTimeout(() => this.#restart(), this.#patience).unref();
      this.#patience = Math.min(60_000, 2 * this.#patience);
    };
    child.once("error", over);
    child.once("exit", over);
    // It must not keep us running: that we end is what it waits for.
    child.unref();
    (child.stdin as unknown as { unref?: () => void } | null)?.unref?.();
    if (this.#sign !== undefined) this.#tell(`sign ${this.#sign}\n`);
    for (const [name, belongings] of this.#boxes) this.#tell(lineOf(name, belongings));
  }

  #restart(): void {
    if (this.#process === undefined && this.#boxes.size > 0) this.#start();
  }

  #tell(line: string): void {
    this.#process?.stdin?.write(line);
  }
}

/** When a process of this machine started, in the kernel's ticks; 0 when it is gone or the system does not tell. */
export function startOf(pid: number): number {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    const start = Number(text.slice(text.lastIndexOf(")") + 2).split(" ")[19]);
    return Number.isSafeInteger(start) ? start : 0;
  } catch {
    return 0;
  }
}
