import { createHash, randomBytes } from "node:crypto";
import {
  closeSync,
  copyFileSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { lstat, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, isAbsolute, join } from "node:path";
import { isDead, newOwner } from "../../store/index.js";
import { defined } from "../../util/index.js";
import { SandboxSpecError, SandboxUnavailableError } from "../error.js";
import { namesIn } from "../proc.js";
import type { SandboxRef } from "../spec.js";
import { removePath } from "../workspace/directory.js";
import { Janitor, type ProcessMark, startOf } from "./janitor.js";

/** The entry of a sandbox, written before anything else of it: its owner and what belongs to it. */
export type Registration = {
  readonly format: 1;
  readonly name: string;
  readonly provider: string;
  readonly id: string;
  readonly incarnation: number;
  /** The process it belongs to. */
  readonly owner: string;
  /** Its sign of life. */
  readonly presence?: string;
  readonly at: string;
  readonly processes: readonly ProcessMark[];
  readonly cgroups: readonly string[];
  readonly ref?: SandboxRef;
};

/** The boxes of a state directory: `live/<name>`, `registry/<name>.json`, processes and cgroups. */
export class Registry {
  readonly state: string;
  readonly #owner = newOwner();
  readonly #janitor: Janitor;
  #life: Promise<{ readonly name: string; readonly server: Server | undefined }> | undefined;

  constructor(state: string) {
    this.state = state;
    this.#janitor = new Janitor(state);
  }

  /** The process that cleans up after us, while there is one. */
  get janitor(): number | undefined {
    return this.#janitor.pid;
  }

  /** Writes a sandbox down. To be done before anything of it is created. */
  async add(entry: Pick<Registration, "provider" | "id" | "incarnation" | "ref">): Promise<Box> {
    const { provider, id, incarnation, ref } = entry;
    for (const folder of ["registry", "live"])
      mkdirSync(join(this.state, folder), { recursive: true, mode: 0o700 });
    this.#life ??= this.#showLife();
    const life = await this.#life;
    const presence = life.server && life.name;
    const name = randomBytes(16).toString("hex");
    const registration: Registration = {
      ...{ format: 1, name, provider, id, incarnation, owner: this.#owner, at: new Date().toISOString() },
      ...{ processes: [], cgroups: [] },
      ...defined({ presence, ref }),
    };
    return new Box(this.state, registration, this.#janitor);
  }

  /** All that are there, also those of other processes; not those of processes that are gone. */
  async list(): Promise<readonly Registration[]> {
    return readRegistry(this.state).flatMap(({ registration }) =>
      registration === undefined || isDead(registration.owner) ? [] : [registration],
    );
  }

  /** Ends the janitor, which removes whatever is still there. */
  async close(): Promise<void> {
    await this.#janitor.close();
    const server = (await this.#life)?.server;
    this.#life = undefined;
    if (server !== undefined) await new Promise<void>((resolve) => server.close(() => resolve()));
  }

  /** There is one sign of life for all its boxes, from before the first of them. */
  async #showLife(): Promise<{ readonly name: string; readonly server: Server | undefined }> {
    const name = randomBytes(8).toString("hex");
    // Told before it is there, like everything: else nobody would remove it.
    this.#janitor.sign(name);
    return { name, server: await showLife(this.state, name).catch(() => undefined) };
  }
}

type Changes = Partial<Pick<Registration, "id" | "incarnation" | "cgroups" | "ref">> & {
  readonly processes?: readonly number[];
};

/** The parts of one sandbox outside itself. */
export class Box {
  /** 32 hexadecimal digits. */
  readonly name: string;
  /** Where everything of it lies. Not made yet when the box is. */
  readonly directory: string;
  readonly #state: string;
  readonly #janitor: Janitor;
  #registration: Registration;
  #gone = false;

  constructor(state: string, registration: Registration, janitor: Janitor) {
    this.name = registration.name;
    this.directory = join(state, "live", registration.name);
    this.#state = state;
    this.#registration = registration;
    this.#janitor = janitor;
    // Told before it is written: what is told and not there costs nothing, what is there and not told stays.
    janitor.add(this.name, registration);
    this.#write();
  }

  /** Says what belongs to it now: control groups before they are made, processes as soon as their numbers are known. */
  async update({ processes, ...rest }: Changes): Promise<void> {
    if (this.#gone) return;
    const marks = processes?.flatMap((pid) => {
      const start = startOf(pid);
      // Where the system tells of processes, one that has no start is gone.
      return start === 0 && process.platform === "linux" ? [] : [{ pid, start }];
    });
    this.#registration = { ...this.#registration, ...rest, ...(marks !== undefined && { processes: marks }) };
    this.#janitor.add(this.name, this.#registration);
    this.#write();
  }

  /** Strikes it from the list. To be done when nothing of it is left. Nothing happens the second time. */
  async remove(): Promise<void> {
    if (this.#gone) return;
    this.#gone = true;
    rmSync(fileOf(this.#state, this.name), { force: true });
    this.#janitor.remove(this.name);
  }

  /** Anyone who reads it sees all of it or nothing. The draft says whose it is, for who finds it when its writer is gone. */
  #write(): void {
    const draft = join(this.#state, "registry", `.${this.name}.${this.#registration.owner}.tmp`);
    writeFileSync(draft, JSON.stringify(this.#registration), { mode: 0o600 });
    renameSync(draft, fileOf(this.#state, this.name));
  }
}

/** Removes everything of a sandbox that is on disk. */
export async function removeBox(box: Box): Promise<void> {
  await removePath(box.directory);
  await box.remove();
}

export function fileOf(state: string, name: string): string {
  return join(state, "registry", `${name}.json`);
}

/**
 * The entries of a state directory. An unreadable one is from a power cut: `registration` is undefined. One
 * of a later version is `foreign`.
 */
export function readRegistry(
  state: string,
): readonly { readonly name: string; readonly registration?: Registration; readonly foreign?: true }[] {
  return namesIn(join(state, "registry")).flatMap((file) => {
    const name = /^([0-9a-f]{32})\.json$/.exec(file)?.[1];
    if (name === undefined) return [];
    let text: string;
    try {
      text = readFileSync(join(state, "registry", file), "utf8");
    } catch (error) {
      // Another process has just removed it, or we may not look at it.
      return (error as { code?: unknown }).code === "ENOENT" ? [] : [{ name, foreign: true as const }];
    }
    try {
      const value = JSON.parse(text) as Registration;
      return [isRegistration(value, name) ? { name, registration: value } : { name, foreign: true as const }];
    } catch {
      return [{ name }];
    }
  });
}

function isRegistration(
  { format, name, owner, processes, cgroups }: Registration,
  expected: string,
): boolean {
  return (
    format === 1 &&
    name === expected &&
    typeof owner === "string" &&
    Array.isArray(processes) &&
    Array.isArray(cgroups)
  );
}

/** The directory of sandboxes. One that others could write to, or behind a link, is refused. */
export function stateDirectory(provider: string, given?: string): string {
  if (given !== undefined && !isAbsolute(given))
    throw new SandboxSpecError(
      "directory",
      `${JSON.stringify(given)} is not an absolute path`,
      "give the whole path",
      { directory: given },
    );
  const path = given ?? join(tmpdir(), `openrath-${process.getuid?.() ?? "user"}`);
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const found = lstatSync(path);
  if (
    !found.isDirectory() ||
    (process.getuid !== undefined && (found.uid !== process.getuid() || (found.mode & 0o077) !== 0))
  )
    throw new SandboxUnavailableError(
      provider,
      `the directory ${path} is not ours alone`,
      `chmod 700 ${path}, or choose another with the option "directory"`,
    );
  return path;
}

/**
 * A sign of life for every container of this machine: a socket in `alive` with a listener. Pids mean nothing
 * across containers, but a socket without a listener refuses. Undefined where sockets are impossible.
 */
async function showLife(state: string, name: string): Promise<Server | undefined> {
  if (process.platform !== "linux") return undefined;
  const server = createServer((socket) => socket.destroy());
  mkdirSync(join(state, "alive"), { recursive: true, mode: 0o700 });
  await listenAt(server, join(state, "alive", name));
  return server.on("error", () => {}).unref();
}

/** Whether nobody listens. False also where that cannot be found out, for instance because the socket is gone. */
export async function isAbsent(state: string, name: string): Promise<boolean> {
  if (!PRESENCE.test(name)) return false;
  let folder: number;
  try {
    folder = openSync(join(state, "alive"), "r");
  } catch {
    return false;
  }
  try {
    return await new Promise<boolean>((resolve) => {
      const socket = connect(shortPath(folder, name));
      const timer = setTimeout(() => over(false), 2000);
      const over = (absent: boolean): void => {
        clearTimeout(timer);
        socket.destroy();
        resolve(absent);
      };
      socket.once("connect", () => over(false));
      socket.once("error", (error: NodeJS.ErrnoException) => over(error.code === "ECONNREFUSED"));
    });
  } finally {
    closeSync(folder);
  }
}

const PRESENCE = /^[0-9a-f]{16}$/;

/** Has a server listen at a path of any length. */
export async function listenAt(server: Server, path: string): Promise<void> {
  const folder = openSync(dirname(path), "r");
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(shortPath(folder, basename(path)), () => {
        server.off("error", reject);
        resolve();
      });
    });
  } catch (error) {
    closeSync(folder);
    throw error;
  }
  // The name that it is removed by goes through this descriptor.
  server.once("close", () => closeSync(folder));
}

/** The name of a socket may have 107 bytes. The folder's descriptor makes a short name of any. */
function shortPath(folder: number, name: string): string {
  return join(`/proc/self/fd/${folder}`, name);
}

/** Where the sandboxes of this user lie on the host, and what they share there. */
export type StateDirectory = {
  readonly root: string;
  /** Checkouts that are shared by sandboxes and never written to. */
  readonly frozen: string;
  readonly etc: string;
};

export async function openStateDirectory(directory?: string): Promise<StateDirectory> {
  const root = stateDirectory("local", directory);
  const state: StateDirectory = { root, frozen: join(root, "frozen"), etc: join(root, `etc-${versionOf()}`) };
  await mkdir(state.frozen, { recursive: true, mode: 0o700 });
  await writeEtc(state);
  return state;
}

/** The user of a command inside, for any user who runs us outside. */
export const INSIDE = { user: "agent", id: 1000, home: "/home/agent" } as const;

const ETC: { readonly [name: string]: string } = {
  passwd: `root:x:0:0:root:/root:/usr/sbin/nologin\n${INSIDE.user}:x:${INSIDE.id}:${INSIDE.id}::${INSIDE.home}:/bin/bash\n`,
  group: `root:x:0:\n${INSIDE.user}:x:${INSIDE.id}:\n`,
  hosts: "127.0.0.1 localhost\n::1 localhost\n",
  "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n",
  "resolv.conf": "",
};
/** Files of the host that reveal nothing (loader, certificates). Copied: each mount slows every open. */
const COPIED = [
  ...["services", "protocols", "mime.types"],
  ...["alternatives", "ld.so.cache"],
  ...["ssl/certs", "ssl/openssl.cnf", "pki/tls/certs", "pki/tls/cert.pem", "pki/ca-trust/extracted"],
];

/** Changes when another copy is needed. */
function versionOf(): string {
  const times = COPIED.map((name) => statSync(`/etc/${name}`, { throwIfNoEntry: false })?.ctimeMs ?? 0);
  return createHash("sha256")
    .update(JSON.stringify([ETC, COPIED, times]))
    .digest("hex")
    .slice(0, 16);
}

/** Written beside and put in place at once: several processes may begin at the same time. */
async function writeEtc({ root, etc }: StateDirectory): Promise<void> {
  if ((await lstat(etc).catch(() => undefined)) !== undefined) return;
  const draft = join(root, `etc-draft-${randomBytes(6).toString("hex")}`);
  await mkdir(draft, { mode: 0o755 });
  for (const [name, text] of Object.entries(ETC)) await writeFile(join(draft, name), text);
  for (const name of COPIED) {
    const to = join(draft, name);
    await mkdir(dirname(to), { recursive: true });
    try {
      copyTree(`/etc/${name}`, to);
    } catch {
      // This system has no such file.
    }
  }
  await rename(draft, etc).catch(async (error: unknown) => {
    await rm(draft, { recursive: true, force: true });
    if ((await lstat(etc).catch(() => undefined)) === undefined) throw error;
  });
}

/**
 * Links stay links: those that lead to what is not there inside lead nowhere. `fs.cp` takes ten times as long for the hundreds
 * of certificates.
 */
function copyTree(from: string, to: string): void {
  const there = lstatSync(from);
  if (there.isSymbolicLink()) symlinkSync(readlinkSync(from), to);
  else if (there.isDirectory()) {
    mkdirSync(to, { recursive: true });
    for (const name of readdirSync(from)) copyTree(join(from, name), join(to, name));
  } else copyFileSync(from, to);
}
