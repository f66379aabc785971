import { mkdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import type { Limits, SandboxSpec } from "../spec.js";
import { mountArguments } from "./arguments.js";
import { Cgroup, type Groups } from "./cgroup.js";
import { Launcher } from "./launcher.js";
import { Pipes } from "./pipes.js";
import { type Box, type Registry, removeBox, type StateDirectory } from "./registry.js";
import { seccompFilter } from "./seccomp.js";
import { Supervisor } from "./supervisor.js";
import { copyPath, type Workspace } from "./workspace.js";

/** Everything of a sandbox that does not depend on what it should be; with a shape, a sandbox that runs and is empty. */
export type Spare = {
  readonly box: Box;
  readonly group: Cgroup | undefined;
  readonly launcher: Launcher;
  readonly pipes: Pipes;
  readonly supervisor: Supervisor | undefined;
  /** Gives everything back when the processes are gone. */
  readonly clean: () => Promise<void>;
  /** It was used: this is a good moment to make the next. */
  readonly used: () => void;
};

/** The properties that make unused sandboxes interchangeable. */
export type Shape = {
  readonly name: string;
  /** Starts bubblewrap with everything that one should have. Its workspace is an empty directory unless another is given. */
  readonly start: (
    parts: Pick<Spare, "box" | "launcher" | "pipes">,
    workspace?: Pick<Workspace, "bound" | "before">,
  ) => Promise<Supervisor>;
};

/** When the next one is made at the latest after one was taken. Anyone who has just opened a sandbox uses it first. */
const PAUSE_MILLISECONDS = 50;
/** How long one is kept that nobody asks for. */
const KEEP_MILLISECONDS = 60_000;
/** How many are kept while they are asked for faster than they are made. */
const MOST = 4;

type Kept = { readonly name: string; readonly spare: Promise<Spare>; readonly timer: NodeJS.Timeout };

/** Keeps spare sandboxes of the last shape, which take long to make. None after a pause. */
export class SparePool {
  readonly #registry: Registry;
  readonly #groups: Groups | undefined;
  readonly #pipes: SparePipes;
  #kept: readonly Kept[] = [];
  #wanted = 1;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(registry: Registry, groups: Groups | undefined) {
    this.#registry = registry;
    this.#groups = groups;
    this.#pipes = new SparePipes(registry);
  }

  /** One of a shape, running; or, where none is ready, one that has not started. */
  async take(shape?: Shape): Promise<Spare> {
    const name = shape?.name ?? "";
    const kept = this.#kept.find((one) => one.name === name);
    this.#wanted =
      kept === undefined && this.#timer !== undefined ? Math.min(MOST, this.#wanted + 1) : this.#wanted;
    this.#refill(shape, PAUSE_MILLISECONDS);
    const spare = kept === undefined ? undefined : await this.#out(kept);
    if (spare !== undefined && !spare.launcher.over) return spare;
    // Anyone who cleans up by hand may have ended it while it waited.
    await spare?.clean();
    return this.#prepare(shape, false);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await Promise.all(this.#kept.map((kept) => this.#drop(kept)));
    await this.#pipes.close();
  }

  /** Makes the next ones ready. Nobody need know if it fails: who needs it will. */
  #refill(shape: Shape | undefined, pause: number): void {
    const name = shape?.name ?? "";
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      while (!this.#closed && this.#kept.filter((one) => one.name === name).length < this.#wanted)
        this.#keep(name, this.#prepare(shape, true));
    }, pause).unref();
  }

  #keep(name: string, spare: Promise<Spare>): void {
    const timer = setTimeout(() => {
      this.#wanted = 1;
      void this.#drop(kept);
    }, KEEP_MILLISECONDS).unref();
    const kept: Kept = { name, spare, timer };
    this.#kept = [...this.#kept, kept];
    spare.catch(() => this.#out(kept));
  }

  async #out(kept: Kept): Promise<Spare | undefined> {
    this.#kept = this.#kept.filter((one) => one !== kept);
    clearTimeout(kept.timer);
    return kept.spare.catch(() => undefined);
  }

  async #drop(kept: Kept): Promise<void> {
    const spare = await this.#out(kept);
    if (spare === undefined) return;
    await spare.supervisor?.end("nobody needed it");
    await spare.launcher.stop();
    await spare.clean();
  }

  /** @param isStarted whether it is started, if it has a shape */
  async #prepare(shape: Shape | undefined, isStarted: boolean): Promise<Spare> {
    const box = await this.#registry.add({ provider: "local", id: "spare", incarnation: 0 });
    const group = this.#groups === undefined ? undefined : new Cgroup(this.#groups, box.name);
    const clean = async () => {
      await group?.remove();
      await removeBox(box);
    };
    const launcher = new Launcher();
    try {
      mkdirSync(box.directory, { mode: 0o700 });
      const { process } = launcher;
      // Written down before it is made.
      await box.update({
        cgroups: group?.paths ?? [],
        ...(process !== undefined && { processes: [process] }),
      });
      const making = this.#pipes.pipes(join(box.directory, "pipes"));
      making.catch(() => {});
      await group?.make();
      if (process !== undefined) await group?.admit(process);
      const parts = { box, group, launcher, pipes: await making };
      const supervisor = isStarted ? await shape?.start(parts) : undefined;
      return { ...parts, clean, supervisor, used: () => this.#refill(shape, 0) };
    } catch (error) {
      await launcher.stop();
      await clean();
      throw error;
    }
  }
}

const AT_ONCE = 8;

/** Folders of pipes for sandboxes that are not there yet. */
export class SparePipes {
  readonly #registry: Registry;
  readonly #folders: string[] = [];
  #box: Promise<Box> | undefined;
  #making: Promise<void> | undefined;
  #count = 0;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  /** Pipes in a folder that is not there yet. */
  async pipes(at: string): Promise<Pipes> {
    let folder = this.#folders.pop();
    while (folder === undefined) {
      this.#making ??= this.#make().finally(() => {
        this.#making = undefined;
      });
      await this.#making;
      folder = this.#folders.pop();
    }
    renameSync(folder, at);
    return new Pipes(at);
  }

  async close(): Promise<void> {
    await this.#making?.catch(() => {});
    const box = await this.#box?.catch(() => undefined);
    this.#box = undefined;
    if (box !== undefined) await removeBox(box);
  }

  async #make(): Promise<void> {
    this.#box ??= this.#registry.add({ provider: "local", id: "spare", incarnation: 0 });
    const { directory } = await this.#box;
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const folders = Array.from({ length: AT_ONCE }, () => join(directory, `${this.#count++}`));
    await Pipes.prepare(folders);
    this.#folders.push(...folders);
  }
}

/** Sandboxes that differ in nothing that is decided when they start: everything else can be set later. */
export function shapeOf(
  state: StateDirectory,
  bwrap: string,
  spec: SandboxSpec,
  limits: Required<Limits>,
): Shape {
  return {
    name: JSON.stringify([limits.scratch, spec.network?.mode === "full", spec.readable ?? []]),
    start: ({ box, launcher, pipes }, workspace = { bound: copyPath(box.directory), before: [] }) =>
      Supervisor.start({
        ...{ launcher, launch: [...workspace.before, bwrap], name: box.name, seccomp: seccompFilter() },
        arguments: mountArguments({ state, workspace: workspace.bound, pipes: pipes.folder, spec, limits }),
      }),
  };
}
