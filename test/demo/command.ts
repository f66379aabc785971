import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { call, program, type Said, spawned, surroundings } from "../cli/call.js";

export type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string };
type Environment = { readonly [name: string]: string | undefined };

/** A folder of its own, with a home in it, and nothing of whoever runs the tests in its environment. */
export class Bench {
  readonly program: string = program;
  readonly folder: string = mkdtempSync(join(tmpdir(), "openrath-command-"));
  readonly home: string = join(this.folder, "home");
  readonly #call: typeof call;

  /** With `spawns` every call is a process of its own: a program that the demonstration wrote imports the built package. */
  constructor({ spawns = false }: { readonly spawns?: boolean } = {}) {
    this.#call = spawns ? spawned : call;
  }

  environment(more: Environment = {}): NodeJS.ProcessEnv {
    const {
      OPENAI_API_KEY: _,
      OPENAI_BASE_URL: _url,
      RATH_BASE_URL: _base,
      RATH_API_KEY: _key,
      ...rest
    } = surroundings;
    const { RATH_STORE: _store, FORCE_COLOR: _color, ...plain } = rest;
    return {
      ...plain,
      RATH_HOME: this.home,
      RATH_CONFIG: join(this.folder, "config"),
      NO_COLOR: "1",
      ...more,
    };
  }

  rath(...args: readonly string[]): Promise<Ended> {
    return this.with({}, ...args);
  }

  /** The same with something else in the environment, or on its input. */
  with(
    { stdin, ...more }: Environment & { readonly stdin?: string },
    ...args: readonly string[]
  ): Promise<Ended> {
    return this.#call(args, { cwd: this.folder, env: this.environment(more), stdin });
  }

  /** The built program in a process of its own. */
  spawned(...args: readonly string[]): Promise<Said> {
    return spawned(args, { cwd: this.folder, env: this.environment() });
  }

  async json<Document = Record<string, unknown>>(...args: readonly string[]): Promise<Document> {
    const { stdout, stderr } = await this.rath(...args, "--json");
    if (stdout === "") throw new Error(`no document: ${stderr}`);
    return JSON.parse(stdout) as Document;
  }

  /** A command that was shown to somebody, typed as it stands. */
  typed(command: string): Promise<Ended> {
    const words = command.replace(/\s+# .*$/, "").match(/'[^']*'|"[^"]*"|\S+/g) ?? [];
    const [first, ...rest] = words[0] === "npx" ? words.slice(1) : words;
    if (first !== "rath") throw new Error(`no command of ours: ${command}`);
    return this.rath(...rest.map((word) => word.replace(/^(['"])(.*)\1$/s, "$2")));
  }

  /** A process that goes on beside the test; whoever starts it ends it. */
  start(more: Environment, ...args: readonly string[]): ChildProcess {
    return spawn(process.execPath, [program, ...args], {
      cwd: this.folder,
      env: this.environment(more),
      stdio: ["ignore", "pipe", "pipe"],
    });
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Everything that a process says until it ends. */
export function heard(child: ChildProcess): Promise<Ended & { readonly signal: string | null }> {
  let [stdout, stderr] = ["", ""];
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  return new Promise((resolve) => {
    child.once("close", (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
}

/** The commands that an output says can be typed next. */
export function shownNext(output: string): readonly string[] {
  return [...output.matchAll(/^\s*(?:next:|or:) ((?:npx )?rath .*)$/gm)].map(([, command = ""]) => command);
}
