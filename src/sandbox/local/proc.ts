import { accessSync, constants, lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** What the kernel tells about itself, or takes orders by, and no program inside needs. */
const MASKED = [
  ...["keys", "key-users", "kcore", "kmsg", "sysrq-trigger"],
  ...["timer_list", "sched_debug", "latency_stats"],
  // How the host was started, which of its files are locked, and by which process.
  ...["cmdline", "locks"],
  // Where the kernel keeps what; the host's root may read it, and so may a sandbox that root opened.
  ...["slabinfo", "vmallocinfo", "pagetypeinfo", "kpagecount", "kpageflags", "kpagecgroup"],
  ...["kallsyms", "iomem", "ioports"],
  // What the host's devices are doing.
  ...["interrupts", "diskstats"],
];
const PROCESS = /^(\d+|self|thread-self)$/;
/** The settings of the kernel are many, and some of them can certainly be written to. */
const SETTINGS = "sys";

let known: readonly string[] | undefined;

/**
 * What of /proc is hidden or can only be read. Anyone who is root on the host owns its files and needs no power to write to
 * them, so for root everything is covered that its owner may write to; the processes' own entries are a matter of
 * whose they are. For others the modes are enough.
 */
export function procArguments(): readonly string[] {
  known ??= [
    ...MASKED.filter((name) => isOpen(name)).flatMap((name) => ["--ro-bind", "/dev/null", `/proc/${name}`]),
    ...covered().flatMap((name) => ["--ro-bind", `/proc/${name}`, `/proc/${name}`]),
  ];
  return known;
}

function isOpen(name: string): boolean {
  return [constants.R_OK, constants.W_OK].some((mode) => {
    try {
      accessSync(join("/proc", name), mode);
      return true;
    } catch {
      return false;
    }
  });
}

function covered(): readonly string[] {
  if (process.getuid?.() !== 0) return [];
  return readdirSync("/proc").filter(
    (name) =>
      !PROCESS.test(name) && !MASKED.includes(name) && (name === SETTINGS || isWritable(join("/proc", name))),
  );
}

/** Whether its owner may write to it, or to something in it. */
function isWritable(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined || found.isSymbolicLink()) return false;
  if (!found.isDirectory()) return (found.mode & 0o222) !== 0;
  try {
    return readdirSync(path).some((name) => isWritable(join(path, name)));
  } catch {
    return true;
  }
}
