import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { SandboxUnavailableError } from "../error.js";
import type { ExecOptions } from "../sandbox.js";
import type { Limits } from "../spec.js";
import type { ShellResult } from "./provider.js";
import { Quota, type Scratch, ShellFiles } from "./shell-files.js";
import { Directory, type Node, type Space, WORKSPACE } from "./space.js";
import { PathError } from "./walk.js";

type JustBash = typeof import("just-bash", { with: { "resolution-mode": "import" }});

/** A command that commands of the sandbox can use: what just-bash's `defineCommand` makes. It runs in this process. */
export type VirtualCommand =
  | {
      readonly name: string;
      execute(
        args: string[],
        context: object,
      ): Promise<{ stdout: string; stderr: string; exitCode: number; stdoutKind?: "text" | "bytes" }>;
    }
  | { readonly name: string; load(): Promise<Extract<VirtualCommand, { execute: unknown }>> };

/** The shell, and the system that its commands find around the workspace. */
export type Shell = {
  readonly Bash: JustBash["Bash"];
  readonly system: Directory;
  readonly version: string | undefined;
  /** Whether it tells of the steps of its programs. */
  readonly isWatched: boolean;
};

/** Loads just-bash, or says how to get it. */
export async function loadShell(commands: readonly VirtualCommand[]): Promise<Shell> {
  const { Bash } = await load();
  return { Bash, system: systemOf(Bash, commands), version: versionOf(), isWatched: await canWatch(Bash) };
}

/** Loads the parts that report steps, once: a command under guard could not load them. */
async function canWatch(Bash: JustBash["Bash"]): Promise<boolean> {
  try {
    const bash = new Bash({ coverage: { hit: () => {} }, defenseInDepth: false });
    return (await bash.exec("true | cat")).exitCode === 0;
  } catch {
    return false;
  }
}

async function load(): Promise<JustBash> {
  try {
    return await import("just-bash");
  } catch (error) {
    if (!isMissing(error) && !isMissing((error as { cause?: unknown } | null)?.cause)) throw error;
    throw new SandboxUnavailableError(
      "virtual",
      'the package "just-bash", which is its shell, is not installed',
      "npm install just-bash",
      error,
    );
  }
}

function isMissing(error: unknown): boolean {
  return /MODULE_NOT_FOUND$/.test(String((error as { code?: unknown } | undefined)?.code));
}

/** `/bin`, `/dev`, `/proc`: what the shell puts into a file system when it begins, and the places where commands write. */
function systemOf(Bash: JustBash["Bash"], commands: readonly VirtualCommand[]): Directory {
  const owner = {};
  const root = new Directory(owner, 0o755, 0, new Map());
  const at = (path: string): Directory => {
    let directory = root;
    for (const name of path.split("/").filter((one) => one !== "")) {
      const there = directory.entries?.get(name);
      const next = there instanceof Directory ? there : new Directory(owner, 0o755, 0, new Map());
      directory.entries?.set(name, next);
      directory = next;
    }
    return directory;
  };
  const write = (path: string, content: string | Uint8Array): void => {
    const bytes = Buffer.from(content as string);
    const mode = /^(\/usr)?\/bin\//.test(path) ? 0o755 : 0o644;
    const node: Node = { kind: "file", mode, mtime: 0, content: { size: bytes.length, bytes } };
    at(dirname(path)).entries?.set(path.slice(path.lastIndexOf("/") + 1), node);
  };
  // It fills any file system that has these two.
  const empty = { mkdirSync: (path: string) => void at(path), writeFileSync: write };
  new Bash({ fs: empty as never, cwd: "/workspace", customCommands: [...commands] as never });
  for (const path of ["/tmp", "/home", "/workspace"]) at(path);
  return root;
}

function versionOf(): string | undefined {
  try {
    // It exports no package.json, so that is looked for above the file that is loaded.
    let folder = dirname(createRequire(import.meta.url).resolve("just-bash"));
    for (let step = 0; step < 5; step++, folder = dirname(folder)) {
      const manifest = manifestIn(folder);
      if (manifest?.name === "just-bash") return manifest.version;
    }
  } catch {
    // A version is good to know, and nothing depends on it.
  }
  return undefined;
}

function manifestIn(folder: string): { name?: string; version?: string } | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  } catch {
    return undefined;
  }
}

type Result = { stdout: string; stderr: string; exitCode: number };

type Context = {
  readonly fs: Pick<ShellFiles, "lstat" | "rm" | "resolvePath">;
  readonly cwd: string;
  readonly origCommand?: (args: string[]) => Promise<Result>;
};

/** Removes links itself, and leaves the rest to the shell's `rm`, which follows a link before removing it. */
export const remove: VirtualCommand = {
  name: "rm",
  async execute(args: string[], context: object): Promise<Result> {
    const { fs, cwd, origCommand } = context as Context;
    const others: string[] = [];
    let [isOption, left] = [true, 0];
    for (const argument of args) {
      const isPath = !isOption || !argument.startsWith("-") || argument === "-";
      if (argument === "--") isOption = false;
      if (isPath && (await removedLink(fs, fs.resolvePath(cwd, argument)))) continue;
      if (isPath) left += 1;
      others.push(argument);
    }
    const isDone = left === 0 && others.length < args.length;
    if (isDone || origCommand === undefined) return { stdout: "", stderr: "", exitCode: 0 };
    return origCommand(others);
  },
};

async function removedLink(fs: Context["fs"], path: string): Promise<boolean> {
  try {
    if (!(await fs.lstat(path)).isSymbolicLink) return false;
    await fs.rm(path);
    return true;
  } catch {
    // Whatever it is, the shell's own has the words for it.
    return false;
  }
}

/** A sandbox, as far as its commands are concerned. */
export type Surroundings = {
  readonly shell: Shell;
  readonly commands: readonly VirtualCommand[];
  readonly space: Space;
  readonly limits: Required<Limits>;
  readonly environment: { readonly [name: string]: string };
  readonly scratch: Scratch;
};

/** The input of a command, its time, its end signal, and the callback for used-up space. */
export type Circumstances = {
  readonly input: Uint8Array;
  /** Milliseconds. */
  readonly left: number;
  readonly signal: AbortSignal;
  readonly full: () => void;
};

/** Runs a command of a sandbox. Each gets a shell of its own over the same files. */
export async function interpret(
  surroundings: Surroundings,
  command: string | readonly string[],
  { directory, env }: ExecOptions,
  { input, left, signal, full }: Circumstances,
): Promise<ShellResult | { readonly unstarted: string }> {
  const { shell, commands, space, limits, environment, scratch } = surroundings;
  const files = new ShellFiles(space, new Quota(limits, scratch, full));
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
    const stdout = new Uint8Array(0);
    if (watch.isLate) return { stdout, stderr: stdout, code: 124, isLate: true };
    // Written to through a redirection, where the shell does not expect that it can fail.
    if (!(error instanceof PathError)) throw error;
    return { stdout, stderr: Buffer.from(`bash: ${error.message}\n`), code: 1, isLate: false };
  } finally {
    files.close();
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
 * always does; so they tell one from the other. Text in Latin-1, which is neither, comes out as the same text in UTF-8.
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
 * Ends a program of the shell from within. It computes on our thread, where no timer fires; so the time is checked at
 * every step that it reports (`hit`). Its own loops check `maxExecutionTimeMs`; awk and sed do not.
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
