import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { mkdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { textIn } from "../proc.js";
import type { Limits } from "../spec.js";
import { OWN_PROCESSES } from "./shell.js";

/** Where groups can be made: one hierarchy for all controllers (version 2), or one for each (version 1). */
export type Groups = {
  readonly version: 1 | 2;
  readonly parents: { readonly memory: string; readonly pids: string; readonly freezer: string };
};

/** The memory of our own processes in a sandbox, beside those of commands. */
const OWN_MEMORY = 16 * 1024 ** 2;
/** Shells that are started for commands side by side. */
const OWN_MORE_PROCESSES = 16;
const PATIENCE_MILLISECONDS = 2_000;

/** The control groups of one sandbox: limits that hold for all its processes together. */
export class Cgroup {
  readonly paths: readonly string[];
  readonly #version: 1 | 2;
  readonly #memory: string;
  readonly #pids: string;
  readonly #freezer: string;

  /** Nothing is made yet. */
  constructor({ version, parents }: Groups, name: string) {
    this.#version = version;
    this.#memory = join(parents.memory, `openrath-${name}`);
    this.#pids = join(parents.pids, `openrath-${name}`);
    this.#freezer = join(parents.freezer, `openrath-${name}`);
    this.paths = [...new Set([this.#memory, this.#pids, this.#freezer])];
  }

  async make(): Promise<void> {
    for (const path of this.paths) await mkdir(path, { mode: 0o755 });
  }

  /** Sets what all processes in it may use together. */
  limit({ memory, scratch, pids }: Pick<Required<Limits>, "memory" | "scratch" | "pids">): void {
    const set = (path: string, name: string, amount: number) => writeFileSync(join(path, name), `${amount}`);
    set(this.#pids, "pids.max", pids + OWN_PROCESSES + OWN_MORE_PROCESSES);
    // Scratch space is memory too, which nobody can take back: full, it must not leave nothing to processes.
    const bytes = memory + scratch + OWN_MEMORY;
    set(this.#memory, this.#version === 2 ? "memory.max" : "memory.limit_in_bytes", bytes);
    try {
      // There is no swap to limit everywhere.
      if (this.#version === 2) set(this.#memory, "memory.swap.max", 0);
      else set(this.#memory, "memory.memsw.limit_in_bytes", bytes);
    } catch {}
  }

  /** Puts a process in, and with it all that it starts from then on. */
  async admit(process: number): Promise<void> {
    for (const path of this.paths) await writeFile(join(path, "cgroup.procs"), `${process}`);
  }

  /** How often the kernel ended a process for want of memory. */
  outOfMemory(): number {
    const file = join(this.#memory, this.#version === 2 ? "memory.events" : "memory.oom_control");
    return Number(/^oom_kill (\d+)$/m.exec(textIn(file))?.[1] ?? 0);
  }

  /** Stops everything in it where it is. */
  async freeze(): Promise<void> {
    await this.#set("1", "FROZEN");
  }

  async thaw(): Promise<void> {
    await this.#set("0", "THAWED");
  }

  /** Removes it. Its processes must be gone, or about to be. */
  async remove(): Promise<void> {
    const until = performance.now() + PATIENCE_MILLISECONDS;
    for (const path of this.paths) while (!(await removed(path)) && performance.now() < until) await wait(5);
  }

  async #set(two: "0" | "1", one: "FROZEN" | "THAWED"): Promise<void> {
    const file = join(this.#freezer, this.#version === 2 ? "cgroup.freeze" : "freezer.state");
    const until = performance.now() + PATIENCE_MILLISECONDS;
    await writeFile(file, this.#version === 2 ? two : one);
    // A process in the middle of something in the kernel is stopped a little later.
    while (performance.now() < until) {
      const now =
        this.#version === 2
          ? /^frozen 1$/m.test(await readFile(join(this.#freezer, "cgroup.events"), "latin1"))
            ? "FROZEN"
            : "THAWED"
          : (await readFile(file, "latin1")).trim();
      if (now === one) return;
      await wait(1);
    }
  }
}

async function removed(path: string): Promise<boolean> {
  try {
    await rmdir(path);
    return true;
  } catch (error) {
    return (error as { code?: unknown }).code === "ENOENT";
  }
}

/** Where this process may make groups, found out by making one and putting a process into it. */
export async function probeGroups(): Promise<Groups | undefined> {
  for (const groups of candidates()) {
    const group = new Cgroup(groups, `probe-${randomBytes(8).toString("hex")}`);
    // It waits for an end of input that comes when we end it, or end.
    const child = spawn("cat", [], { stdio: ["pipe", "ignore", "ignore"], env: {}, cwd: "/" });
    const ended = new Promise<void>((resolve) => {
      child.once("exit", () => resolve());
      child.once("error", () => resolve());
    });
    child.stdin.on("error", () => {});
    try {
      await group.make();
      group.limit({ memory: 64 * 1024 ** 2, scratch: 0, pids: 8 });
      if (child.pid === undefined) continue;
      await group.admit(child.pid);
      return groups;
    } catch {
      // Not ours to use.
    } finally {
      child.kill("SIGKILL");
      await ended;
      await group.remove();
    }
  }
  return undefined;
}

/** Where groups could be made: below our own, or beside it where a group with processes may not have others below it. */
function candidates(): readonly Groups[] {
  const mounts = groupMounts();
  const own = ownGroups();
  const at = (controller: string): string | undefined => {
    const [mount, path] = [mounts.get(controller), own.get(controller)];
    if (mount === undefined || path === undefined) return undefined;
    const below = relative(mount.root, path);
    return below.startsWith("..") ? undefined : join(mount.point, below);
  };
  const [two, memory, pids, freezer] = [at(""), at("memory"), at("pids"), at("freezer")];
  const found: Groups[] = [];
  for (const path of two === undefined ? [] : [two, dirname(two)])
    if (delegates(path)) found.push({ version: 2, parents: { memory: path, pids: path, freezer: path } });
  if (memory !== undefined && pids !== undefined && freezer !== undefined)
    found.push({ version: 1, parents: { memory, pids, freezer } });
  return found;
}

/** Whether groups below this one can limit memory and processes. */
function delegates(path: string): boolean {
  const controllers = textIn(join(path, "cgroup.subtree_control")).trim().split(" ");
  return controllers.includes("memory") && controllers.includes("pids");
}

/** By controller, "" for version 2. */
function ownGroups(): ReadonlyMap<string, string> {
  const groups = new Map<string, string>();
  for (const line of textIn("/proc/self/cgroup").split("\n")) {
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (path !== undefined) for (const one of (controllers ?? "").split(",")) groups.set(one, path);
  }
  return groups;
}

function groupMounts(): ReadonlyMap<string, { readonly root: string; readonly point: string }> {
  const mounts = new Map<string, { root: string; point: string }>();
  for (const line of textIn("/proc/self/mountinfo").split("\n")) {
    const [before = "", after = ""] = line.split(" - ");
    const [, , , root = "", point = ""] = before.split(" ");
    const [type, , options = ""] = after.split(" ");
    if (type === "cgroup2") mounts.set("", { root, point });
    if (type === "cgroup") for (const one of options.split(",")) mounts.set(one, { root, point });
  }
  return mounts;
}
