import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { devNull } from "node:os";
import { basename, dirname, resolve } from "node:path";
import { defined } from "../../util/index.js";
import { ByteReader } from "../byte-reader.js";
import { GitError, GitUnavailableError } from "../error.js";

/** How long git may take for one thing. */
const WALL_MS = 10 * 60_000;
const STDERR_BYTES = 16_384;

/** Keeps a repository's configuration from running anything: hooks, filters, pagers, helpers, fetches. */
const SETTINGS = {
  "core.hooksPath": devNull,
  "core.fsmonitor": "false",
  "core.pager": "cat",
  "core.attributesFile": devNull,
  "core.alternateRefsCommand": "",
  "core.sshCommand": "",
  "core.askPass": "",
  "credential.helper": "",
  "protocol.allow": "never",
  "safe.directory": "*",
  "gc.auto": "0",
  "maintenance.auto": "false",
};

const ENVIRONMENT = {
  LC_ALL: "C",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: devNull,
  GIT_ATTR_NOSYSTEM: "1",
  GIT_TERMINAL_PROMPT: "0",
  GIT_OPTIONAL_LOCKS: "0",
  GIT_NO_REPLACE_OBJECTS: "1",
  GIT_NO_LAZY_FETCH: "1",
  // Also where a repository allows one by name.
  GIT_ALLOW_PROTOCOL: "",
  GIT_PAGER: "cat",
};

export type GitOptions = {
  readonly env?: { readonly [name: string]: string };
  /** Where it begins to look for a repository. */
  readonly directory?: string;
  readonly signal?: AbortSignal;
};

/** A git that was started, and how it ends. */
export type RunningGit = {
  readonly child: ChildProcessWithoutNullStreams;
  /** Resolves with its exit code and what it complained of; rejects where there is no git, or it took too long. */
  readonly ended: Promise<{ readonly code: number | null; readonly complaint: string }>;
};

/** Starts git without anything of this machine's or the repository's configuration that runs programs. */
export function startGit(args: readonly string[], options: GitOptions = {}): RunningGit {
  const settings = Object.entries(SETTINGS).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  // Of our variables, git gets those that say where programs and temporary files are.
  const { PATH, SystemRoot, TMPDIR, TEMP } = process.env;
  const late = AbortSignal.timeout(WALL_MS);
  const child = spawn("git", ["--no-pager", ...settings, ...args], {
    cwd: options.directory ?? "/",
    env: { ...defined({ PATH, SystemRoot, TMPDIR, TEMP }), ...ENVIRONMENT, ...options.env },
    stdio: "pipe",
    windowsHide: true,
    signal: options.signal === undefined ? late : AbortSignal.any([late, options.signal]),
    killSignal: "SIGKILL",
  });
  // Anyone who writes to a git that has ended finds out by how it ended.
  child.stdin.on("error", () => undefined);
  child.stdout.on("error", () => undefined);
  child.stderr.on("error", () => undefined);
  const ended = new Promise<{ code: number | null; complaint: string }>((resolved, rejected) => {
    let complaint = "";
    child.stderr.on("data", (bytes: Buffer) => {
      if (complaint.length < STDERR_BYTES) complaint += bytes.toString("utf8");
    });
    child.once("error", (error: NodeJS.ErrnoException) => {
      const why = late.aborted ? `it took more than ${WALL_MS / 60_000} minutes` : "it was cancelled";
      if (error.code === "ABORT_ERR") rejected(new GitError(`run git ${args[0]}`, why));
      else rejected(error.code === "ENOENT" ? missing(options.directory, error) : error);
    });
    child.once("close", (code) => resolved({ code, complaint: complaint.trim() }));
  });
  // Someone who stopped reading may not wait for the end.
  ended.catch(() => undefined);
  return { child, ended };
}

/** Runs git to its end: what it says, and whether it succeeded. */
export async function runGit(
  args: readonly string[],
  options?: GitOptions,
): Promise<{ readonly code: number | null; readonly output: Buffer; readonly complaint: string }> {
  const { child, ended } = startGit(args, options);
  const output: Buffer[] = [];
  child.stdout.on("data", (bytes: Buffer) => output.push(bytes));
  child.stdin.end();
  const { code, complaint } = await ended;
  return { code, complaint, output: Buffer.concat(output) };
}

/** A repository on this machine. */
export type Repository = {
  readonly path: string;
  readonly directory: string;
  /** Where its objects are, also those of a work tree beside the main one. */
  readonly objects: string;
  readonly format: "sha1" | "sha256";
};

/** The repository at a path: with a work tree or bare, but not one further up. undefined when none is there. */
export async function repositoryAt(path: string): Promise<Repository | undefined> {
  const root = resolve(path);
  const { code, output, complaint } = await runGit(
    ["rev-parse", "--absolute-git-dir", "--show-object-format", "--git-path", "objects"],
    { directory: root, env: { GIT_CEILING_DIRECTORIES: dirname(root) } },
  );
  if (code !== 0) {
    if (/not a git repository/i.test(complaint)) return undefined;
    throw new GitError(`open the repository ${basename(root)}`, complaint || `git ended with ${code}`);
  }
  // The path may have line ends in it; the format has not.
  const said = /^(?<directory>.*)\n(?<format>sha1|sha256)\n(?<objects>.*)\n$/s.exec(output.toString("utf8"));
  const { directory, format, objects } = said?.groups ?? {};
  if (directory === undefined || objects === undefined)
    throw new GitError(`open the repository ${basename(root)}`, "git did not say where it is");
  return {
    path: root,
    directory,
    objects: resolve(root, objects),
    format: format === "sha256" ? "sha256" : "sha1",
  };
}

/** The id of the commit that a name stands for; undefined when it stands for none. */
export async function commitOf(repository: Repository, name: string): Promise<string | undefined> {
  const { code, output } = await runGit([
    `--git-dir=${repository.directory}`,
    ...["rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{commit}`],
  ]);
  const id = output.toString("utf8").trim();
  return code === 0 && /^[0-9a-f]{40,64}$/.test(id) ? id : undefined;
}

/** A directory that is not there looks like a program that is not there. */
function missing(directory: string | undefined, error: Error): Error {
  return directory === undefined || existsSync(directory)
    ? new GitUnavailableError(error)
    : new GitError(`run git in ${basename(directory)}`, "there is no such directory");
}

/** Characters that some file systems pass over in a name. */
const PASSED_OVER = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;

/** Whether git refuses a name on some system: `.git` in any case, or its aliases on Windows and macOS. */
export function isRefusedByGit(name: string): boolean {
  const plain = name
    .replace(PASSED_OVER, "")
    .toLowerCase()
    .replace(/[. ]*(:.*)?$/s, "");
  return plain === ".git" || plain === "git~1";
}

export function readerOf({ child }: RunningGit): ByteReader {
  return new ByteReader(child.stdout, () => new GitError("read from git", "it ended in the middle"));
}
