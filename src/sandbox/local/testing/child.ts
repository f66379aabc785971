import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";
import { compiled, withSources } from "../../../util/testing/compile.js";

/** A process that runs a program of ours. `import { x } from "@/sandbox/…"` in it means the sources. */
export class Child {
  readonly process: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  /**
   * @param options.leak a descriptor that the process gets as number 40, and does not know of
   * @param options.user who runs it, where we may choose
   * @param options.within the program that it is started by, and its arguments
   */
  constructor(
    program: string,
    args: readonly string[] = [],
    options: { readonly leak?: number; readonly user?: number; readonly within?: readonly string[] } = {},
  ) {
    const { leak, user, within = [] } = options;
    mkdirSync(compiled, { recursive: true });
    const file = join(compiled, `child-${process.hrtime.bigint()}.js`);
    writeFileSync(file, withSources(program));
    const [command = "", ...words] = [...within, process.execPath, file, ...args];
    this.process = spawn(command, words, {
      stdio: [
        ...(["pipe", "pipe", "inherit"] as const),
        ...(leak === undefined ? [] : [...Array<"ignore">(37).fill("ignore"), leak]),
      ],
      ...(user !== undefined && { uid: user, gid: user, env: { PATH: process.env.PATH, HOME: "/" } }),
    });
    this.process.stdin?.on("error", () => {});
    this.#lines = createInterface({ input: this.process.stdout as NodeJS.ReadableStream })[
      Symbol.asyncIterator
    ]();
    onTestFinished(() => {
      this.process.kill("SIGKILL");
    });
  }

  /** The next line it tells, as JSON. One that tells nothing for a minute will not. */
  async next<Told>(): Promise<Told> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error("the process has told nothing for a minute")), 60_000);
    });
    try {
      const { value, done } = await Promise.race([this.#lines.next(), late]);
      if (done) throw new Error("the process ended without a word");
      return JSON.parse(value) as Told;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends it as a crash would, and waits until it is over. */
  async crash(): Promise<void> {
    const over = this.ended();
    this.process.kill("SIGKILL");
    await over;
  }

  async ended(): Promise<number | null> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return this.process.exitCode;
    return new Promise((resolve) => {
      this.process.once("exit", resolve);
    });
  }
}
