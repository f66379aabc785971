import { type ExecFileException, execFile } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { release } from "node:os";
import { delimiter, join } from "node:path";
import { SandboxUnavailableError } from "../error.js";
import { textIn } from "../proc.js";
import type { Capabilities } from "../spec.js";
import { namespaceArguments, systemArguments } from "./arguments.js";
import { type Groups, probeGroups } from "./cgroup.js";
import { seccompFilter } from "./seccomp.js";

/** The result of probing this machine. */
export type Findings = {
  readonly bwrap: string;
  /** Whether RLIMIT_NPROC holds, and counts for each sandbox apart. */
  readonly countsProcesses: boolean;
  readonly groups: Groups | undefined;
  readonly capabilities: Capabilities;
};

const found = new Map<string | undefined, Promise<Findings>>();

/** Finds out what sandboxes can do here, by really starting one. Once in a process, unless it failed. */
export function probe(bwrap?: string): Promise<Findings> {
  const known = found.get(bwrap);
  if (known !== undefined) return known;
  const looking = look(bwrap);
  found.set(bwrap, looking);
  // Anyone who installs what is missing need not start again.
  looking.catch(() => found.delete(bwrap));
  return looking;
}

async function look(given: string | undefined): Promise<Findings> {
  if (process.platform !== "linux")
    throw unavailable(
      `it needs the namespaces of Linux, and this is ${process.platform}`,
      'use "virtual", which needs nothing of the operating system, or "docker"',
    );
  const bwrap = given ?? programOf("bwrap");
  if (bwrap === undefined) throw missing("bubblewrap", "bwrap", "bubblewrap");
  if (programOf("bash", "/bin") === undefined) throw missing("bash", "/bin/bash", "bash");
  if (programOf("mkfifo") === undefined) throw missing("mkfifo", "mkfifo", "coreutils");
  const asked = await runProgram(bwrap, ["--version"]);
  if (/^E(NOENT|ACCES)$/.test(String(asked.error?.code))) throw missing("bubblewrap", bwrap, "bubblewrap");
  const version = asked.output.replace(/^bubblewrap /, "");
  const trial = await runProgram(bwrap, [
    ...namespaceArguments({ mode: "none" }),
    ...systemArguments(),
    ...["--", "/bin/true"],
  ]);
  if (trial.error !== null) throw refusal(version, trial.output);
  const groups = await probeGroups();
  // Root is exempt; and before 5.14 all processes of the user were counted, also those outside.
  const countsProcesses = process.getuid?.() !== 0 && kernelIsAtLeast(5, 14);
  return { bwrap, countsProcesses, groups, capabilities: capabilities(version, groups, countsProcesses) };
}

function capabilities(version: string, groups: Groups | undefined, countsProcesses: boolean): Capabilities {
  const pids = countsProcesses || groups !== undefined ? (["pids"] as const) : [];
  return {
    isolation: "namespace",
    limits: ["wall", "memory", ...pids, "cpu", "file", "disk", "output", "scratch"],
    network: ["none", "allow", "full"],
    // Whether it is more depends on the disk.
    fork: "copy",
    suspend: "freeze",
    exact: true,
    stdin: true,
    background: true,
    pty: programOf("script", "/usr/bin", "/bin") !== undefined,
    names: "bytes",
    detail: {
      bubblewrap: version,
      kernel: release(),
      seccomp: seccompFilter() !== undefined,
      cgroups: groups?.version ?? "none that this user may make",
    },
  };
}

/** Runs a program of the host with nothing of our environment. The output is that of both kinds, or the error. */
export function runProgram(
  program: string,
  words: readonly string[],
): Promise<{ readonly error: ExecFileException | null; readonly output: string }> {
  return new Promise((resolve) => {
    execFile(program, [...words], { env: {}, cwd: "/", timeout: 20_000 }, (error, stdout, stderr) =>
      resolve({ error, output: `${stdout}${stderr}`.trim() || (error?.message ?? "") }),
    );
  });
}

function kernelIsAtLeast(major: number, minor: number): boolean {
  const [first = 0, second = 0] = release().split(".").map(Number);
  return first > major || (first === major && second >= minor);
}

/** Something is missing that a package of the system brings. */
export function missing(what: string, program: string, name: string): SandboxUnavailableError {
  return unavailable(`${what} is missing (there is no ${program})`, install(name));
}

function unavailable(missing: string, remedy: string): SandboxUnavailableError {
  return new SandboxUnavailableError("local", missing, remedy);
}

/** The error for a message of bubblewrap, with the step that helps. */
export function refusal(
  version: string,
  said: string,
  value: (path: string) => string | undefined = (path) => textIn(path).trim(),
): SandboxUnavailableError {
  if (/unknown option/i.test(said))
    return unavailable(
      `bubblewrap ${version} is too old: it must be 0.8 or later (${said})`,
      `${install("bubblewrap")}, from a newer release of this system`,
    );
  const [path, , open] = SETTINGS.find(([at, closed]) => value(at) === closed) ?? [];
  if (path !== undefined) {
    const name = path.replace("/proc/sys/", "").replaceAll("/", ".");
    return unavailable(
      `this system does not let bubblewrap make namespaces (${name}; it says: ${said})`,
      `sudo sysctl -w ${name}=${open}`,
    );
  }
  return unavailable(
    `bubblewrap ${version} cannot make namespaces (it says: ${said})`,
    'let this process make user namespaces (in a container: by its security profile), or use "docker" or "virtual"',
  );
}

/** Settings of the kernel that forbid namespaces to ordinary users, and what allows them. */
const SETTINGS: readonly (readonly [path: string, closed: string, open: string])[] = [
  ["/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "0"],
  ["/proc/sys/kernel/unprivileged_userns_clone", "0", "1"],
  ["/proc/sys/user/max_user_namespaces", "0", "15000"],
];

const INSTALLERS: readonly (readonly [program: string, command: string])[] = [
  ["apt-get", "sudo apt-get install"],
  ["dnf", "sudo dnf install"],
  ["pacman", "sudo pacman -S"],
  ["zypper", "sudo zypper install"],
  ["apk", "sudo apk add"],
];

function install(name: string): string {
  const [, command] = INSTALLERS.find(([program]) => programOf(program) !== undefined) ?? [];
  return command === undefined
    ? `install ${name} with the package manager of this system`
    : `${command} ${name}`;
}

/** Where a program is that can be started: in these folders, or in the usual ones. */
export function programOf(name: string, ...folders: readonly string[]): string | undefined {
  const usual = [...(process.env.PATH ?? "").split(delimiter), "/usr/bin", "/bin", "/usr/sbin", "/sbin"];
  return (folders.length > 0 ? folders : usual)
    .filter((folder) => folder.startsWith("/"))
    .map((folder) => join(folder, name))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}
