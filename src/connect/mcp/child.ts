import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Socket } from "node:net";
import { BOX_VARIABLE, endBox, lineOf, sealed, startCleaning } from "../../sandbox/index.js";

export type Command = {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: { readonly [name: string]: string };
  readonly cwd: string | undefined;
};

/** How long a server that is asked to end may take over it. */
const GRACE_MILLISECONDS = 500;

/**
 * A server's process, in a session and a group of its own, so that it ends as a whole: with the connection, and with us,
 * whatever we die of.
 */
export class Child {
  readonly process: ChildProcess;
  readonly #name = randomBytes(16).toString("hex");
  readonly #over: Promise<void>;
  #ended: Promise<void> | undefined;

  constructor({ command, args, env, cwd }: Command) {
    this.process = spawn(command, [...args], {
      env: { ...inherited(), ...env, [BOX_VARIABLE]: this.#name },
      ...(cwd !== undefined && { cwd }),
      stdio: sealed(["pipe", "pipe", "pipe"]),
      detached: process.platform !== "win32",
      windowsHide: true,
    });
    this.#over = new Promise((resolve) => {
      this.process.once("exit", () => resolve());
      this.process.once("error", () => resolve());
    });
    const { pid } = this.process;
    if (pid !== undefined) watch(this.#name, pid);
  }

  /** Ends it and everything that it started: in peace, if it goes when its input ends. */
  end(): Promise<void> {
    this.#ended ??= this.#end();
    return this.#ended;
  }

  async #end(): Promise<void> {
    const { pid, stdin, stdout, stderr } = this.process;
    stdin?.end();
    if (pid !== undefined) {
      await Promise.race([this.#over, pause(GRACE_MILLISECONDS)]);
      // Where a group cannot be told from others.
      if (process.platform === "win32") this.process.kill("SIGKILL");
      await endBox(this.#name, pid);
      // Where the system does not list its processes, this is all that tells of the end.
      await Promise.race([this.#over, pause(GRACE_MILLISECONDS)]);
      unwatch(this.#name);
    }
    for (const stream of [stdin, stdout, stderr]) stream?.destroy();
  }
}

/** The variables that a program needs to run at all. Everything else may be a secret that is not meant for it. */
const INHERITED: readonly string[] =
  process.platform === "win32"
    ? ["APPDATA", "COMSPEC", "LOCALAPPDATA", "PATH", "PATHEXT", "SYSTEMROOT", "TEMP", "USERPROFILE", "WINDIR"]
    : ["HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER"];

function inherited(): { [name: string]: string } {
  return Object.fromEntries(
    INHERITED.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

let cleaner: ChildProcess | undefined;

/** Has a process ended that outlives us: one that learns of our end by its input. */
function watch(name: string, pid: number): void {
  if (process.platform === "win32") return;
  if (cleaner === undefined || cleaner.exitCode !== null || cleaner.signalCode !== null) {
    cleaner = startCleaning("/", "ignore");
    cleaner.on("error", () => {});
    cleaner.unref();
    (cleaner.stdin as Partial<Socket> | null)?.unref?.();
  }
  cleaner.stdin?.write(lineOf(name, { processes: [{ pid, start: startOf(pid) }], cgroups: [] }));
}

function unwatch(name: string): void {
  cleaner?.stdin?.write(`del ${name}\n`);
}

/** When a process began, as the kernel counts; 0 where it does not tell. */
function startOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? 0);
  } catch {
    return 0;
  }
}

async function pause(milliseconds: number): Promise<void> {
  await new Promise<void>((resolve) => setTimeout(resolve, milliseconds).unref());
}
