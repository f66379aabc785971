import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { SandboxUnavailableError } from "../error.js";
import { Directory, type Node } from "./node.js";

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

/**
 * What the shell needs to tell of steps is loaded here, once: while a command runs under its guard, it would refuse itself to
 * load anything.
 */
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
  new Bash({
    fs: empty as never,
    cwd: "/workspace",
    customCommands: [...commands] as never,
  });
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
