import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { BOX_VARIABLE } from "../local/cleaner.js";

type Signal = NodeJS.Signals;

/** Sends a signal to a command: its group, and what of its session is in another one (`timeout`, a shell with jobs). */
export function signalCommand(leader: number, signal: Signal): void {
  send(-leader, signal);
  for (const pid of processes())
    if (pid !== leader && sessionOf(pid) === leader && groupOf(pid) !== leader) send(pid, signal);
}

/** Sends a signal to everything that a box's commands have started and left, and says which processes those were. */
export function signalBox(name: string, signal: Signal): readonly number[] {
  const found = processes().filter((pid) => names(pid, name));
  for (const pid of found) send(pid, signal);
  return found;
}

/**
 * Ends everything that names a box, and all of a command if one is given; false if something is still there after three
 * seconds. A process that is being ended loses its variables a moment before it is over, so that those once found are
 * waited for by number and time of birth.
 */
export async function endBox(name: string, leader?: number): Promise<boolean> {
  const end = performance.now() + 3000;
  const born = new Map<number, string>();
  const note = (pid: number): void => {
    const birth = statOf(pid)[BIRTH];
    if (birth !== undefined) born.set(pid, birth);
  };
  if (leader !== undefined) {
    for (const pid of processes()) if (groupOf(pid) === leader || sessionOf(pid) === leader) note(pid);
    signalCommand(leader, "SIGKILL");
  }
  for (;;) {
    signalBox(name, "SIGKILL").forEach(note);
    for (const [pid, birth] of born) if (over(pid, birth)) born.delete(pid);
    if (born.size === 0) return true;
    if (performance.now() > end) return false;
    await sleep(10);
  }
}

/** Where the time of a process's birth stands in what the kernel says of it, counted from its state. */
const BIRTH = 19;

/** Whether a process is over, or another one has its number by now. */
function over(pid: number, birth: string): boolean {
  const stat = statOf(pid);
  return stat[BIRTH] !== birth || stat[0] === "Z" || stat[0] === "X";
}

function send(target: number, signal: Signal): void {
  try {
    process.kill(target, signal);
  } catch {
    // It is gone, or has become somebody else's.
  }
}

/** The numbers of all processes; none where the system does not list them. */
function processes(): readonly number[] {
  try {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

/** Whether a process was started with the variable of a box, and is not over. */
function names(pid: number, name: string): boolean {
  const environment = textOf(`/proc/${pid}/environ`);
  return `\0${environment}`.includes(`\0${BOX_VARIABLE}=${name}\0`) && statOf(pid)[0] !== "Z";
}

function groupOf(pid: number): number {
  return Number(statOf(pid)[2]);
}

function sessionOf(pid: number): number {
  return Number(statOf(pid)[3]);
}

/** What the kernel says of a process, from its state on. Its name stands before that and may hold anything. */
function statOf(pid: number): readonly string[] {
  const text = textOf(`/proc/${pid}/stat`);
  return text.slice(text.lastIndexOf(")") + 2).split(" ");
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}
