import { execFile } from "node:child_process";
import { release } from "node:os";
import { SandboxUnavailableError } from "../error.js";
import type { Capabilities } from "../spec.js";
import { namespaceArguments, systemArguments } from "./arguments.js";
import { type Groups, probeGroups } from "./cgroup.js";
import { missing, programOf, refusal } from "./requirements.js";
import { seccompFilter } from "./seccomp.js";

/** What was found out about this machine. */
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
    throw new SandboxUnavailableError(
      "local",
      `it needs the namespaces of Linux, and this is ${process.platform}`,
      'use "virtual", which needs nothing of the operating system, or "docker"',
    );
  const bwrap = given ?? programOf("bwrap");
  if (bwrap === undefined) throw missing("bubblewrap", "bwrap", "bubblewrap");
  if (programOf("bash", "/bin") === undefined) throw missing("bash", "/bin/bash", "bash");
  if (programOf("mkfifo") === undefined) throw missing("mkfifo", "mkfifo", "coreutils");
  const asked = await run(bwrap, ["--version"]);
  if (asked.isMissing) throw missing("bubblewrap", bwrap, "bubblewrap");
  const version = asked.output.replace(/^bubblewrap /, "");
  const trial = await run(bwrap, [
    ...namespaceArguments({ mode: "none" }),
    ...systemArguments(),
    ...["--", "/bin/true"],
  ]);
  if (!trial.isOk) throw refusal(version, trial.output);
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

function run(
  program: string,
  words: readonly string[],
): Promise<{ readonly isOk: boolean; readonly isMissing: boolean; readonly output: string }> {
  return new Promise((resolve) => {
    execFile(program, [...words], { env: {}, timeout: 20_000 }, (error, stdout, stderr) =>
      resolve({
        isOk: error === null,
        isMissing: error?.code === "ENOENT" || error?.code === "EACCES",
        output: `${stdout}${stderr}`.trim() || (error === null ? "" : error.message),
      }),
    );
  });
}

function kernelIsAtLeast(major: number, minor: number): boolean {
  const [first = 0, second = 0] = release().split(".").map(Number);
  return first > major || (first === major && second >= minor);
}
