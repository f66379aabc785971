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

/** Sends a signal to everything that a box's commands have started and left, and says how many there were. */
export function signalBox(name: string, signal: Signal): number {
  const found = processes().filter((pid) => names(pid, name));
  for (const pid of found) send(pid, signal);
  return found.length;
}

/** Ends everything that names a box; false if something is still there after three seconds. */
export async function endBox(name: string): Promise<boolean> {
  const end = performance.now() + 3000;
  while (signalBox(name, "SIGKILL") > 0) {
    if (performance.now() > end) return false;
    await sleep(10);
  }
  return true;
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
