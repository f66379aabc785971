import { lstatSync, statfsSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { identityOf, isDead, thisProcess } from "../../store/index.js";
import { namesIn } from "../proc.js";
import { sweepWorkspaces } from "../workspace/frozen.js";
import { lineOf, startCleaning } from "./janitor.js";
import { isAbsent, type Registration, readRegistry } from "./registry.js";

export type SweepReport = {
  /** Sandboxes of processes that are gone, removed now; not those that another sweep removed at the same time. */
  readonly removed: readonly Swept[];
  /** Sandboxes that could not be removed, or may belong to somebody, and why. */
  readonly left: readonly (Swept & { readonly why: string })[];
  /** How many processes were still running in what was removed. */
  readonly killed: number;
};
export type Swept = {
  readonly name: string;
  readonly provider?: string;
  readonly id?: string;
  readonly incarnation?: number;
  readonly owner?: string;
};

/**
 * Removes what processes that are certainly gone have left in a state directory: sandboxes whose process was killed
 * together with its janitor, or that a power cut or a restart of the machine interrupted.  A sandbox of a living process is
 * not touched, nor what may be one's. If there was anything to do, it is told once: to `onSweep`, or as a warning of the
 * process with the code OPENRATH_SANDBOX_SWEEP.
 */
export async function sweep(
  state: string,
  options: { readonly onSweep?: (report: SweepReport) => void } = {},
): Promise<SweepReport> {
  const left: (Swept & { why: string })[] = [];
  const dead: { name: string; registration: Registration | undefined }[] = [];
  for (const { name, registration, foreign } of readRegistry(state)) {
    if (foreign) left.push({ name, why: "another version or another user wrote it" });
    else if (registration === undefined || (await isGone(registration, state)))
      dead.push({ name, registration });
    else if (!isHere(registration.owner))
      left.push({
        ...told(name, registration),
        why: "its process is of another machine or container, and nobody here knows whether it lives",
      });
  }
  const { gone, killed } =
    dead.length === 0 ? { gone: new Set<string>(), killed: 0 } : await clean(state, dead);
  await sweepFiles(state);
  await sweepWorkspaces(state);
  const still = new Set(readRegistry(state).map(({ name }) => name));
  const removed: Swept[] = [];
  for (const { name, registration } of dead) {
    if (gone.has(name)) removed.push(told(name, registration));
    else if (still.has(name))
      left.push({ ...told(name, registration), why: "not all of it could be removed" });
  }
  const report: SweepReport = Object.freeze({ removed, left, killed });
  // A sandbox that may belong to somebody is not news: it is found every time.
  if (removed.length > 0 || (still.size > 0 && dead.some(({ name }) => still.has(name)))) {
    if (options.onSweep !== undefined) options.onSweep(report);
    else
      process.emitWarning(textOf(report, state), { code: "OPENRATH_SANDBOX_SWEEP", type: "SandboxWarning" });
  }
  return report;
}

/** Has the janitor's program do it: there is one way to remove a box. */
async function clean(
  state: string,
  dead: readonly { readonly name: string; readonly registration: Registration | undefined }[],
): Promise<{ gone: ReadonlySet<string>; killed: number }> {
  const child = startCleaning(state, "pipe");
  let text = "";
  child.stdout?.setEncoding("latin1").on("data", (part: string) => {
    text += part;
  });
  child.stdout?.on("error", () => {});
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, 60_000);
    const over = (): void => {
      clearTimeout(timer);
      resolve();
    };
    child.once("error", over);
    child.once("close", over);
    // Numbers of processes of another boot are other processes now; the marks of the directory are not.
    const none = { processes: [], cgroups: [] };
    for (const { name, registration } of dead)
      child.stdin?.write(
        lineOf(name, registration === undefined || !isHere(registration.owner) ? none : registration),
      );
    child.stdin?.end();
  });
  const lines = text.split("\n").map((line) => line.split(" "));
  return {
    gone: new Set(lines.flatMap(([what, name = ""]) => (what === "gone" ? [name] : []))),
    killed: Number(lines.find(([what]) => what === "killed")?.[1] ?? 0),
  };
}

/** Whether an owner is certainly gone. */
async function isGone({ owner, presence }: Registration, state: string): Promise<boolean> {
  if (isDead(owner)) return true;
  const [identity, here] = [identityOf(owner), thisProcess()];
  if (identity === undefined || here === undefined || isHere(owner) || !isDisk(state)) return false;
  // A disk is mounted by one running kernel at a time: who wrote to ours under another boot is gone with that boot.
  if (identity.boot !== here.boot) return true;
  // In a container of its own, or we are in one. The socket that they listen to is the same for both.
  return presence !== undefined && (await isAbsent(state, presence));
}

/** Whether the numbers of an owner's processes mean the same to us. */
function isHere(owner: string): boolean {
  const [identity, here] = [identityOf(owner), thisProcess()];
  return identity !== undefined && identity.boot === here?.boot && identity.space === here.space;
}

/** ext, XFS, btrfs, tmpfs, F2FS, ZFS, overlay: file systems that two kernels do not write to at the same time. */
const DISKS: ReadonlySet<number> = new Set([
  0xef53, 0x58465342, 0x9123683e, 0x01021994, 0xf2f52010, 0x2fc12fc1, 0x794c7630,
]);

function isDisk(state: string): boolean {
  try {
    return DISKS.has(statfsSync(state).type);
  } catch {
    return false;
  }
}

/** Drafts of files that were never finished, for which a process needs less than a second, and signs of no life. */
async function sweepFiles(state: string): Promise<void> {
  for (const file of namesIn(join(state, "registry"))) {
    const [, owner] = /^\.[0-9a-f]{32}\.(.*)\.tmp$/.exec(file) ?? [];
    if (owner !== undefined) removeOld(join(state, "registry", file), isDead(owner) ? 0 : 3_600_000);
  }
  // One that is younger may be about to listen.
  for (const file of namesIn(join(state, "alive")))
    if (isDisk(state) && (await isAbsent(state, file))) removeOld(join(state, "alive", file), 60_000);
}

function removeOld(path: string, age: number): void {
  try {
    if (age === 0 || Date.now() - lstatSync(path).mtimeMs > age) unlinkSync(path);
  } catch {
    // Another sweep was faster.
  }
}

function told(name: string, registration: Registration | undefined): Swept {
  if (registration === undefined) return { name };
  const { provider, id, incarnation, owner } = registration;
  return { name, provider, id, incarnation, owner };
}

function textOf({ removed, left, killed }: SweepReport, state: string): string {
  const names = removed.map(({ name, id }) => id ?? name).join(", ");
  return [
    `In ${state}:`,
    ...(removed.length > 0
      ? [
          `removed ${removed.length} that processes which are gone had left (${names}), ended ${killed} processes in them.`,
        ]
      : []),
    ...left.map(({ name, id, why }) => `Left ${id ?? name}: ${why}.`),
  ].join(" ");
}
