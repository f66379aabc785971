import type { ExecOptions } from "../sandbox.js";
import type { Limits } from "../spec.js";
import type { ShellResult } from "./execution.js";
import { Quota, type Scratch } from "./quota.js";
import type { Shell, VirtualCommand } from "./shell.js";
import { ShellFiles } from "./shell-files.js";
import { type Space, WORKSPACE } from "./space.js";
import { PathError } from "./walk.js";

type Parts = {
  readonly shell: Shell;
  readonly commands: readonly VirtualCommand[];
  readonly space: Space;
  readonly limits: Required<Limits>;
  readonly environment: { readonly [name: string]: string };
};

/** What a command is run with: all of its input, how long, when to stop, and whom to tell that its room is used up. */
type Circumstances = {
  readonly input: Uint8Array;
  /** Milliseconds. */
  readonly left: number;
  readonly signal: AbortSignal;
  readonly full: () => void;
};

/** Runs the commands of one sandbox. Each gets a shell of its own over the same files. */
export class Interpreter {
  readonly #parts: Parts;
  readonly #scratch: Scratch = { used: 0 };

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async run(
    command: string | readonly string[],
    { directory, env }: ExecOptions,
    { input, left, signal, full }: Circumstances,
  ): Promise<ShellResult | { readonly unstarted: string }> {
    const { shell, commands, space, limits, environment } = this.#parts;
    const files = new ShellFiles(space, new Quota(limits, this.#scratch, full));
    const cwd = files.resolvePath(`/${WORKSPACE}`, directory ?? ".");
    if (!(await isDirectory(files, cwd))) return { unstarted: `there is no directory ${directory}` };
    const [script, args] =
      typeof command === "string" ? [command, []] : [quoted(command[0] ?? ""), command.slice(1)];
    const watch = new Watch(left, signal);
    const bash = new shell.Bash({
      fs: files,
      cwd,
      env: { ...BASE, ...environment, ...env },
      customCommands: [...commands] as never,
      // The signal cannot end what gives it no turn, so the shell looks at the clock as well: at another clock, and a moment
      // later, so that what it ends is late by ours too.
      executionLimits: { maxExecutionTimeMs: Math.max(1, Math.ceil(left)) + CLOCK_MILLISECONDS },
      ...(shell.isWatched && { coverage: watch }),
    });
    try {
      const { stdout, stderr, exitCode } = await bash.exec(script, {
        args,
        signal,
        rawScript: true,
        stdin: Buffer.from(input).toString("latin1"),
        stdinKind: "bytes",
      });
      if (typeof command !== "string" && exitCode === 127 && /: command not found\n$/.test(stderr))
        return { unstarted: `there is no program ${command[0]}` };
      const isLate = watch.isLate;
      return { stdout: bytesOfOutput(stdout), stderr: bytesOfOutput(stderr), code: exitCode, isLate };
    } catch (error) {
      if (watch.isLate)
        return { stdout: new Uint8Array(0), stderr: new Uint8Array(0), code: 124, isLate: true };
      // Written to through a redirection, where the shell does not expect that it can fail.
      if (!(error instanceof PathError)) throw error;
      return {
        stdout: new Uint8Array(0),
        stderr: Buffer.from(`bash: ${error.message}\n`),
        code: 1,
        isLate: false,
      };
    } finally {
      files.close();
    }
  }
}

/** How far two clocks of one process may be apart when they are read after each other. */
const CLOCK_MILLISECONDS = 20;

const BASE = {
  PATH: "/usr/local/bin:/usr/bin:/bin",
  HOME: "/home",
  USER: "user",
  LOGNAME: "user",
  SHELL: "/bin/bash",
  LANG: "C.UTF-8",
  TMPDIR: "/tmp",
} as const;

async function isDirectory(files: ShellFiles, path: string): Promise<boolean> {
  try {
    return (await files.stat(path)).isDirectory;
  } catch {
    return false;
  }
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/**
 * The bytes of what the shell printed. It hands out a text, in which bytes that are not UTF-8 stand as the characters
 * U+0080 to U+00FF, beside real characters of that range. No text has control characters from there, binary data nearly
 * always does; so they tell one from the other. What is neither (text in Latin-1) comes out as the same text in UTF-8.
 * This is why the capability `exact` is false. Files are not concerned: commands read and write their bytes.
 */
export function bytesOfOutput(text: string): Uint8Array {
  return Buffer.from(text, isBinary(text) ? "latin1" : "utf8");
}

function isBinary(text: string): boolean {
  let control = false;
  for (let place = 0; place < text.length; place++) {
    const unit = text.charCodeAt(place);
    if (unit > 0xff) return false;
    if (unit >= 0x80 && unit <= 0x9f) control = true;
  }
  return control;
}

/** Taken before the shell begins: it forbids what runs on its behalf to look at most of what there is. */
const now = performance.now.bind(performance);

/**
 * Ends a program of the shell from within. It runs on our thread, so while it computes no timer goes off; but it tells of
 * every step that it takes (`hit`), and there the time is looked at. Its own loops look at `maxExecutionTimeMs`; those of
 * awk and sed do not.
 */
export class Watch {
  readonly #end: number;
  readonly #signal: AbortSignal;

  /** @param milliseconds from now on */
  constructor(milliseconds: number, signal: AbortSignal) {
    this.#end = now() + milliseconds;
    this.#signal = signal;
  }

  get isLate(): boolean {
    return now() >= this.#end;
  }

  readonly hit = (): void => {
    if (this.#signal.aborted || this.isLate) throw new Error("it is ended");
  };
}
