import { randomBytes } from "node:crypto";
import { lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, isAbsolute, join } from "node:path";
import { isDead, newOwner } from "../../store/index.js";
import { defined } from "../../util/index.js";
import { SandboxSpecError, SandboxUnavailableError } from "../error.js";
import type { SandboxRef } from "../spec.js";
import { Directory } from "../workspace/directory.js";
import { removeEntry } from "../workspace/remove.js";
import type { ProcessMark } from "./cleaner.js";
import { Janitor, startOf } from "./janitor.js";
import { Liveness } from "./liveness.js";

/**
 * What is written down of a sandbox before anything of it exists, and until nothing of it does: anyone who finds it can tell
 * whose it is, and what belongs to it.
 */
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

/**
 * The boxes of one state directory: what every sandbox has outside itself. A box is a directory `live/<name>`, a file
 * `registry/<name>.json`, and the processes and control groups that the file names.
 */
export class Registry {
  readonly state: string;
  readonly #owner = newOwner();
  readonly #janitor: Janitor;
  #liveness: Promise<Liveness | undefined> | undefined;

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
    const presence = (await this.#signOfLife())?.name;
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
    await (await this.#liveness)?.close();
    this.#liveness = undefined;
  }

  /** There is one for all its boxes, from before the first of them. */
  #signOfLife(): Promise<Liveness | undefined> {
    if (this.#liveness === undefined) {
      const name = Liveness.newName();
      // Told before it is there, like everything: else nobody would remove it.
      this.#janitor.sign(name);
      this.#liveness = Liveness.begin(this.state, name).catch(() => undefined);
    }
    return this.#liveness;
  }
}

/** What one sandbox has outside itself. */
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
  async update(changes: {
    readonly id?: string;
    readonly incarnation?: number;
    readonly processes?: readonly number[];
    readonly cgroups?: readonly string[];
    readonly ref?: SandboxRef;
  }): Promise<void> {
    if (this.#gone) return;
    const { processes, ...rest } = changes;
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
  const boxes = Directory.at(dirname(box.directory));
  try {
    await removeEntry(boxes, basename(box.directory));
  } finally {
    boxes.close();
  }
  await box.remove();
}

export function fileOf(state: string, name: string): string {
  return join(state, "registry", `${name}.json`);
}

/**
 * What is written down in a state directory. Files are put there whole, so one that cannot be read lost its bytes in a
 * power cut: then nothing of its owner is left, and `registration` is undefined. One of a later version is `foreign`.
 */
export function readRegistry(
  state: string,
): readonly { readonly name: string; readonly registration?: Registration; readonly foreign?: true }[] {
  let files: readonly string[];
  try {
    files = readdirSync(join(state, "registry"));
  } catch {
    return [];
  }
  return files.flatMap((file) => {
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

/**
 * Where sandboxes are kept: a directory that only we can enter. One that somebody else prepared, or that lies behind a
 * link, is refused: anyone who can write there could put files under ours. It is on disk unless it is said otherwise, since
 * workspaces are large.
 */
export function stateDirectory(provider: string, given?: string): string {
  if (given !== undefined && !isAbsolute(given))
    throw new SandboxSpecError(
      "directory",
      `${JSON.stringify(given)} is not an absolute path`,
      "give the whole path",
      {
        directory: given,
      },
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
