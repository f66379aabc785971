import { randomUUID } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { misuse } from "../error.js";

/**
 * A process, told so that another one of the same machine can find out for certain whether it is gone. A number of a
 * process means something in one namespace of one boot alone, and is given to others later: hence the rest.
 */
export type ProcessIdentity = {
  readonly host: string;
  readonly pid: number;
  /** When it started, in the kernel's ticks since the boot. */
  readonly start: number;
  readonly boot: string;
  /** The kernel's numbers of its namespaces: of processes, and of time, since `start` is told in that. */
  readonly space: string;
};

/** An owner of leases that nobody else is: this process, and where the system tells enough of it, how to know that it died. */
export function newOwner(): string {
  const once = randomUUID().slice(0, 8);
  const identity = thisProcess();
  return identity === undefined ? `${hostOf()}:${process.pid}:${once}` : ownerOf(identity, once);
}

export function ownerOf({ pid, host, start, boot, space }: ProcessIdentity, once: string): string {
  return `process ${pid} on ${host} (${once}, start ${start}, boot ${boot}, in ${space})`;
}

/** The process that an owner is, if it was made by `newOwner` and says enough. */
export function identityOf(owner: string): ProcessIdentity | undefined {
  const [, pid, host, start, boot, space] = OWNER.exec(owner) ?? [];
  if (host === undefined || boot === undefined || space === undefined) return undefined;
  return { host, pid: Number(pid), start: Number(start), boot, space };
}

const OWNER =
  /^process ([1-9]\d{0,9}) on (\S{1,64}) \([0-9a-f]{8}, start (\d{1,15}), boot ([0-9a-f-]{36}), in (\d{1,10}\.\d{1,10})\)$/;

/** An owner that names a process must have been made by that process: others believe it when they ask whether it is gone. */
export function checkNotForged(owner: string): void {
  const identity = identityOf(owner);
  if (identity === undefined || isSame(identity, thisProcess())) return;
  throw misuse(
    `lease a name to "${owner}"`,
    "only that process itself is this owner; give a name of your own, or none",
  );
}

/**
 * Whether an owner is a process of this machine that is certainly gone: nothing has its number, or something
 * that started at another time, or it has ended and only its parent has not asked how. Of a process in another namespace, boot or machine
 * nothing is certain here, and an owner that someone chose does not name a process.
 */
export function isDead(owner: string): boolean {
  const identity = identityOf(owner);
  const here = thisProcess();
  if (identity === undefined || here === undefined) return false;
  if (identity.host !== here.host || identity.boot !== here.boot || identity.space !== here.space)
    return false;
  // Asked first, since the files of others' processes may be hidden; this answer never is.
  if (!exists(identity.pid)) return true;
  const now = statOf(`/proc/${identity.pid}/stat`);
  // Between the two looks it may have gone. Then it is dead; where only its file is hidden, nobody knows.
  if (now === undefined) return !exists(identity.pid);
  return now.start !== identity.start || now.over;
}

let known: { readonly identity: ProcessIdentity | undefined } | undefined;

/** This process, or undefined where the system does not tell enough of it. */
export function thisProcess(): ProcessIdentity | undefined {
  known ??= { identity: lookAtMyself() };
  return known.identity;
}

function lookAtMyself(): ProcessIdentity | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    const stat = statOf("/proc/self/stat");
    // Where /proc shows another namespace, its numbers are not ours.
    if (stat?.pid !== process.pid) return undefined;
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    const identity = {
      host: hostOf(),
      pid: stat.pid,
      start: stat.start,
      boot,
      space: `${namespaceOf("pid")}.${namespaceOf("time")}`,
    };
    // An identity that cannot be read back would not be recognised by others.
    return identityOf(ownerOf(identity, "00000000")) === undefined ? undefined : identity;
  } catch {
    return undefined;
  }
}

/** The number of a namespace of this process. Kernels before 5.6 know only one time. */
function namespaceOf(kind: "pid" | "time"): string {
  try {
    return /\[(\d+)\]/.exec(readlinkSync(`/proc/self/ns/${kind}`))?.[1] ?? "none";
  } catch (error) {
    if (kind === "time" && (error as { code?: unknown }).code === "ENOENT") return "0";
    throw error;
  }
}

/** The kernel's record of a process. The name of its program stands in brackets and may hold anything, brackets too. */
function statOf(path: string): { pid: number; start: number; over: boolean } | undefined {
  let text: string;
  try {
    text = readFileSync(path, "latin1");
  } catch {
    return undefined;
  }
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [state, threads, start] = [fields[0], Number(fields[17]), Number(fields[19])];
  if (!Number.isSafeInteger(start)) return undefined;
  // Dead, and kept only until its parent asks how it ended. While threads of it are left, they may still do something.
  const over = (state === "Z" || state === "X") && threads <= 1;
  return { pid: Number.parseInt(text, 10), start, over };
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Any other reason means that it is there and not ours.
    return (error as { code?: unknown }).code !== "ESRCH";
  }
}

function hostOf(): string {
  return (
    hostname()
      .replace(/\s|[^\x21-\x7e]/g, "?")
      .slice(0, 64) || "?"
  );
}

function isSame(one: ProcessIdentity, other: ProcessIdentity | undefined): boolean {
  return other !== undefined && ownerOf(one, "") === ownerOf(other, "");
}
