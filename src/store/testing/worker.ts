import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const script = fileURLToPath(new URL("./tasks.mjs", import.meta.url));

/** Builds the package if its sources changed since the last build: workers run what is shipped. */
export function ensureBuilt(): void {
  const program =
    'import("./scripts/build.mjs").then(({ ensureBuilt }) => process.exit(ensureBuilt() ? 0 : 1))';
  const { status, stderr } = spawnSync(process.execPath, ["--eval", program], {
    cwd: root,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`the package does not build: ${stderr}`);
}

/** A process that does one of the tasks of `tasks.mjs`. */
export class Worker {
  readonly process: ChildProcess;
  readonly #told: AsyncIterator<string>;

  constructor(task: string, url: string, options: object = {}) {
    this.process = spawn(
      process.execPath,
      [script, JSON.stringify({ dist: `${root}dist`, url, task, ...options })],
      { stdio: ["pipe", "pipe", "inherit"] },
    );
    this.#told = createInterface({ input: this.process.stdout as NodeJS.ReadableStream })[
      Symbol.asyncIterator
    ]();
    onTestFinished(() => {
      this.process.kill("SIGKILL");
    });
  }

  /** The next thing it tells. */
  async next<Told>(): Promise<Told> {
    const { value, done } = await this.#told.next();
    if (done) throw new Error("the process ended without a word");
    return JSON.parse(value) as Told;
  }

  go(): void {
    this.process.stdin?.write("go\n");
  }
}
