import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** Everything that sandboxes of a state directory have left outside it and in it: processes, mounts, folders, files. */
export function traces(state: string): readonly string[] {
  return [
    ...processesOf(state).map(({ pid, command }) => `process ${pid} ${command.slice(0, 200)}`),
    ...mountsIn(state).map((mount) => `mount ${mount}`),
    ...entries(join(state, "live")).map((name) => `folder live/${name}`),
    ...["registry", "alive"].flatMap((folder) =>
      entries(join(state, folder)).map((name) => `file ${folder}/${name}`),
    ),
  ];
}

/** Asks until nothing is left, for as long as the promise gives it and the same again for a busy machine. */
export async function untilClean(state: string): Promise<readonly string[]> {
  const end = Date.now() + 10_000;
  for (;;) {
    const left = traces(state);
    if (left.length === 0 || Date.now() > end) return left;
    await sleep(50);
  }
}

/**
 * The processes that have to do with a state directory: that are in it, name it or one of its boxes in their arguments or
 * their environment, or see something of it mounted, which all processes of a sandbox do.
 */
export function processesOf(state: string): readonly { readonly pid: number; readonly command: string }[] {
  const names = [state, ...entries(join(state, "live"))];
  return readdirSync("/proc").flatMap((name) => {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) return [];
    const command = textOf(`/proc/${pid}/cmdline`);
    const told = [command, textOf(`/proc/${pid}/environ`), textOf(`/proc/${pid}/mountinfo`), cwdOf(pid)].join(
      "\0",
    );
    if (!names.some((one) => told.includes(one))) return [];
    // Over, and only not yet asked how.
    if (/\) Z /.test(textOf(`/proc/${pid}/stat`))) return [];
    return [{ pid, command: command.replaceAll("\0", " ") }];
  });
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

function cwdOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return "";
  }
}

function mountsIn(state: string): readonly string[] {
  return readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .filter((line) => line.includes(`${state}/`));
}

function entries(path: string): readonly string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
