import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { closeSync, existsSync, openSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { folder } from "./folder.js";

let found: { readonly missing: string | undefined } | undefined;

/** Why bubblewrap cannot be run here, or undefined where it can: a test without it says so instead of passing. */
export function missing(): string | undefined {
  found ??= { missing: look() };
  return found.missing;
}

function look(): string | undefined {
  const tried = spawnSync(BWRAP, [...STRICT, "true"], { encoding: "utf8", timeout: 20_000, env: { PATH } });
  if (tried.error !== undefined) return `bwrap cannot be started: ${tried.error.message}`;
  return tried.status === 0 ? undefined : `bwrap does not work here: ${tried.stderr.trim()}`;
}

const BWRAP: string = "bwrap";
export const PATH = "/usr/local/bin:/usr/bin:/bin";

const STRICT: readonly string[] = [
  ...["--unshare-all", "--die-with-parent", "--new-session", "--proc", "/proc", "--dev", "/dev"],
  ...["--tmpfs", "/tmp", "--ro-bind", "/usr", "/usr"],
  ...["/bin", "/sbin", "/lib", "/lib64"].flatMap((path) => ["--ro-bind-try", path, path]),
  ...["--ro-bind-try", "/etc/alternatives", "/etc/alternatives", "--ro-bind-try", "/etc/ssl", "/etc/ssl"],
  ...(process.execPath.startsWith("/usr/bin/")
    ? []
    : ["--ro-bind", dirname(dirname(process.execPath)), dirname(dirname(process.execPath))]),
];

/** A plain bubblewrap around a command, as an independent stand-in for the driver. */
export function start(
  command: readonly string[],
  options: { filter?: Uint8Array; more?: readonly string[]; env?: { readonly [name: string]: string } } = {},
): ChildProcess {
  const { filter, more = [], env = {} } = options;
  const descriptors: number[] = [];
  const flags: string[] = [...STRICT, ...more];
  if (filter !== undefined) {
    const file = join(folder(), "filter.bpf");
    writeFileSync(file, filter);
    descriptors.push(openSync(file, "r"));
    flags.push("--seccomp", "3");
  }
  const child = spawn(BWRAP, [...flags, "--", ...command], {
    stdio: ["ignore", "pipe", "pipe", ...descriptors],
    env: { PATH, HOME: "/tmp", LANG: "C.UTF-8", ...env },
  });
  for (const descriptor of descriptors) closeSync(descriptor);
  return child;
}

export type Ended = {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
};

export async function inside(...given: Parameters<typeof start>): Promise<Ended> {
  return ended(start(...given));
}

export async function ended(child: ChildProcess): Promise<Ended> {
  let [stdout, stderr] = ["", ""];
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
}

/** Where a program is that the plain sandbox can see, or undefined. */
export function program(name: string): string | undefined {
  return PATH.split(":")
    .map((directory) => join(directory, name))
    .find((path) => existsSync(path));
}
