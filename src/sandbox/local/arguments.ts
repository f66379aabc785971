import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  statSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { SandboxSpecError } from "../error.js";
import type { Limits, Network, SandboxSpec } from "../spec.js";
import { INSIDE, type StateDirectory } from "./registry.js";

/** Where things are inside. */
export const WORKSPACE = "/workspace";
export const PIPES = "/run/openrath";
const NODE = "/opt/node";

export type Mounts = {
  readonly state: StateDirectory;
  readonly workspace: string;
  /** The folder of the pipes that output comes through. */
  readonly pipes: string;
  readonly spec: SandboxSpec;
  readonly limits: Required<Limits>;
};

/** The arguments of bubblewrap. Only this list exists inside, and everything writable has a size. */
export function mountArguments({ state, workspace, pipes, spec, limits }: Mounts): readonly string[] {
  return [
    ...namespaceArguments(spec.network ?? { mode: "none" }),
    ...systemArguments(),
    // Written to by commands, so all of them have a size: together the scratch space.
    ...scratch(limits.scratch),
    ...etc(state, spec.network?.mode === "full"),
    ...node(),
    ...(spec.readable ?? []).flatMap((folder) => readable(folder, state)),
    ...["--ro-bind", pipes, PIPES],
    ...["--bind", workspace, WORKSPACE],
    // The rest of / and /dev is memory too, without a size: nothing may be created there.
    ...["--remount-ro", "/dev", "--remount-ro", "/"],
    ...["--chdir", WORKSPACE],
  ];
}

/** The variables that every command has, before those of the spec. */
export function baseEnvironment(): { readonly [name: string]: string } {
  return {
    PATH: `${nodeIsElsewhere() ? `${NODE}/bin:` : ""}/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`,
    HOME: INSIDE.home,
    USER: INSIDE.user,
    LOGNAME: INSIDE.user,
    SHELL: "/bin/bash",
    LANG: "C.UTF-8",
    TMPDIR: "/tmp",
  };
}

/** Everything of its own. */
export function namespaceArguments({ mode }: Network): readonly string[] {
  return [
    "--unshare-all",
    ...(mode === "full" ? ["--share-net"] : []),
    // Said beside --unshare-all, which only tries: without a user namespace of its own root would keep its powers.
    ...["--unshare-user", "--disable-userns", "--cap-drop", "ALL"],
    ...["--uid", `${INSIDE.id}`, "--gid", `${INSIDE.id}`, "--hostname", "sandbox"],
    ...["--new-session", "--die-with-parent"],
    // The supervisor is process 1: the kernel protects it from what runs inside, SIGKILL included.
    "--as-pid-1",
  ];
}

let known: readonly string[] | undefined;

/** The programs of the host, and what the kernel tells. */
export function systemArguments(): readonly string[] {
  known ??= system();
  return known;
}

/** Where /bin and the like are links, the same links. */
function system(): readonly string[] {
  const parts = ["bin", "sbin", "lib", "lib32", "lib64", "libx32"].flatMap((name) => {
    const found = lstatSync(`/${name}`, { throwIfNoEntry: false });
    if (found === undefined) return [];
    if (found.isSymbolicLink()) return ["--symlink", readlinkSync(`/${name}`), `/${name}`];
    return ["--ro-bind", `/${name}`, `/${name}`];
  });
  // On systems that keep everything in a store, /usr holds little but links into it.
  const stores = ["/nix/store", "/gnu/store"].filter((store) => existsSync(store));
  return [
    ...["--ro-bind", "/usr", "/usr"],
    ...parts,
    ...stores.flatMap((store) => ["--ro-bind", store, store]),
    ...["--proc", "/proc", "--dev", "/dev"],
    ...procArguments(),
  ];
}

const PAGE = 4096;

/** The home and shared memory get an eighth each, at most what programs usually find there; the rest is /tmp. */
function scratch(bytes: number): readonly string[] {
  const shared = Math.min(64 * 1024 ** 2, Math.floor(bytes / 8));
  const home = Math.floor(bytes / 4);
  const sized = (size: number, path: string) => [
    ...["--perms", "1777", "--size", `${Math.max(PAGE, Math.floor(size / PAGE) * PAGE)}`],
    ...["--tmpfs", path],
  ];
  return [
    ...sized(bytes - shared - home, "/tmp"),
    ...["--size", `${Math.max(PAGE, home)}`, "--tmpfs", "/home", "--dir", INSIDE.home],
    ...sized(shared, "/dev/shm"),
    ...["--dir", "/var", "--symlink", "/tmp", "/var/tmp", "--dir", "/run", "--dir", "/root"],
  ];
}

/** With the network of the host, its names are resolved as on the host. */
function etc(state: StateDirectory, network: boolean): readonly string[] {
  const names = network && existsSync("/etc/resolv.conf") ? realpathSync("/etc/resolv.conf") : undefined;
  return [
    ...["--ro-bind", state.etc, "/etc"],
    ...(names === undefined ? [] : ["--ro-bind", names, "/etc/resolv.conf"]),
  ];
}

/** Node where the host's programs lack it: only its binary and npm, as its folder may be a home. */
function node(): readonly string[] {
  if (!nodeIsElsewhere()) return [];
  const binary = realpathSync(process.execPath);
  const npm = join(dirname(dirname(binary)), "lib/node_modules/npm");
  const tools = ["npm", "npx"].flatMap((name) => [
    "--symlink",
    `../lib/node_modules/npm/bin/${name}-cli.js`,
    `${NODE}/bin/${name}`,
  ]);
  return [
    ...["--ro-bind", binary, `${NODE}/bin/node`],
    ...(existsSync(npm) ? ["--ro-bind", npm, `${NODE}/lib/node_modules/npm`, ...tools] : []),
  ];
}

export function nodeInside(): string {
  return nodeIsElsewhere() ? `${NODE}/bin/node` : realpathSync(process.execPath);
}

function nodeIsElsewhere(): boolean {
  return basename(process.execPath) === "node" && !realpathSync(process.execPath).startsWith("/usr/");
}

/** Folders that are something else inside, or whose content would be. */
const TAKEN = ["/proc", "/dev", "/sys", "/run", "/etc", "/tmp", "/home", WORKSPACE];

function readable(folder: string, { root }: StateDirectory): readonly string[] {
  const path = resolve(folder);
  const refuse = (reason: string) =>
    new SandboxSpecError(
      "readable",
      `${JSON.stringify(folder)} ${reason}`,
      'name folders of the host by their whole path: readable: ["/srv/data"]',
    );
  if (path === "/" || TAKEN.includes(path)) throw refuse("is something else inside");
  if (TAKEN.slice(0, 3).some((taken) => path.startsWith(`${taken}/`)) || path.startsWith(`${WORKSPACE}/`))
    throw refuse("is something else inside");
  if (`${path}/`.startsWith(`${root}/`)) throw refuse("is where sandboxes are kept");
  if (statSync(path, { throwIfNoEntry: false }) === undefined) throw refuse("is not there");
  // Other sandboxes, and this one from outside, stay out of sight.
  const hidden = `${root}/`.startsWith(`${path}/`)
    ? ["--perms", "0000", "--size", `${PAGE}`, "--tmpfs", root, "--remount-ro", root]
    : [];
  return ["--ro-bind", path, path, ...hidden];
}

/** Files by which the kernel describes itself or takes orders, and that no program inside needs. */
const MASKED = [
  ...["keys", "key-users", "kcore", "kmsg", "sysrq-trigger"],
  ...["timer_list", "sched_debug", "latency_stats"],
  // How the host was started, which of its files are locked, and by which process.
  ...["cmdline", "locks"],
  // Where the kernel keeps what; the host's root may read it, and so may a sandbox that root opened.
  ...["slabinfo", "vmallocinfo", "pagetypeinfo", "kpagecount", "kpageflags", "kpagecgroup"],
  ...["kallsyms", "iomem", "ioports"],
  // The activity of the host's devices.
  ...["interrupts", "diskstats"],
];
const PROCESS = /^(\d+|self|thread-self)$/;
/** The settings of the kernel are many, and some of them can certainly be written to. */
const SETTINGS = "sys";

let masked: readonly string[] | undefined;

/**
 * The parts of /proc that are hidden or read-only. For root, everything that its owner may write to is
 * covered; for others the modes suffice.
 */
export function procArguments(): readonly string[] {
  masked ??= [
    ...MASKED.filter((name) => isOpen(name)).flatMap((name) => ["--ro-bind", "/dev/null", `/proc/${name}`]),
    ...covered().flatMap((name) => ["--ro-bind", `/proc/${name}`, `/proc/${name}`]),
  ];
  return masked;
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
