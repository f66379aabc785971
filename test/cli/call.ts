import { type ChildProcess, execFile } from "node:child_process";
import { Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { main } from "../../src/cli/main.js";

/** The command as users run it: the built program. `npm test` builds before it tests. */
export const program: string =
  process.env.OPENRATH_COMMAND ?? fileURLToPath(new URL("../../dist/cli/rath.js", import.meta.url));

/** The environment of the tests, before any call changes it. */
export const surroundings: NodeJS.ProcessEnv = { ...process.env };

export type Said = { readonly code: number; readonly stdout: string; readonly stderr: string };
export type Place = {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly stdin?: string | undefined;
};

/** These start the built program themselves, or print past the streams that they are given. */
const ALWAYS_SPAWNED = new Set(["demo", "complete", "completion"]);

/** With OPENRATH_SPAWN=1 every call is a process of its own, and with another command every call is for that one. */
const spawnsAll = [process.env.OPENRATH_SPAWN, process.env.OPENRATH_COMMAND].some((it) => it !== undefined);

/** Calls the command from the sources in this process, which saves starting one for each call. */
export function call(words: readonly string[], place: Place): Promise<Said> {
  if (spawnsAll || place.stdin !== undefined || ALWAYS_SPAWNED.has(words[0] ?? ""))
    return spawned(words, place);
  const said = last.then(() => inProcess(words, place));
  last = said.catch(() => {});
  return said;
}

/** Calls the built program in a process of its own. A process that a signal ended has the code -1. */
export function spawned(words: readonly string[], { cwd, env, stdin = "" }: Place): Promise<Said> {
  return new Promise((done) => {
    const child: ChildProcess = execFile(
      process.execPath,
      [program, ...words],
      { cwd, env, maxBuffer: 1 << 28 },
      (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
        done({ code, stdout, stderr });
      },
    );
    child.stdin?.on("error", () => {});
    child.stdin?.end(stdin);
  });
}

/** A process has one folder and one environment: calls wait for each other. */
let last: Promise<unknown> = Promise.resolve();

async function inProcess(words: readonly string[], { cwd, env }: Place): Promise<Said> {
  const streams = { stdout: new Collected(), stderr: new Collected() };
  const before = { cwd: process.cwd(), env: process.env };
  process.chdir(cwd);
  process.env = { ...env };
  try {
    const code = await main(words, streams);
    return { code, stdout: streams.stdout.text, stderr: streams.stderr.text };
  } finally {
    process.env = before.env;
    process.chdir(before.cwd);
  }
}

class Collected extends Writable {
  readonly #pieces: Buffer[] = [];

  get text(): string {
    return Buffer.concat(this.#pieces).toString();
  }

  override _write(piece: Buffer, _encoding: string, done: () => void): void {
    this.#pieces.push(piece);
    done();
  }
}
