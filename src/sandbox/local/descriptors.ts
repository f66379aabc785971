import { openSync, readdirSync, readFileSync } from "node:fs";

type Stdio = "pipe" | "ignore" | "inherit" | number;

/**
 * What a process is started with, and nothing else: anyone who started us may have left descriptors open that every child of
 * ours would get as well (a terminal, a socket, a file of the host). Node closes its own, not those. In their places the
 * child gets a descriptor of nothing.
 */
export function sealed(stdio: readonly Stdio[]): Stdio[] {
  const leaking = inherited().filter((descriptor) => descriptor >= stdio.length);
  if (leaking.length === 0) return [...stdio];
  nothing ??= openSync("/dev/null", "r+");
  const all: Stdio[] = [...stdio];
  for (const descriptor of leaking) {
    while (all.length < descriptor) all.push("ignore");
    all.push(nothing);
  }
  return all;
}

let nothing: number | undefined;

/** The descriptors of this process that go on to its children, in order. None where the system does not tell. */
function inherited(): readonly number[] {
  let names: readonly string[];
  try {
    names = readdirSync("/proc/self/fdinfo");
  } catch {
    return [];
  }
  return names
    .map(Number)
    .filter((descriptor) => descriptor > 2 && !closesOnExec(descriptor))
    .sort((one, other) => one - other);
}

function closesOnExec(descriptor: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, "latin1"))?.[1];
    return flags === undefined || (Number.parseInt(flags, 8) & 0o2000000) !== 0;
  } catch {
    // Closed since the list was read.
    return true;
  }
}
