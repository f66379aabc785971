import { mkdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { Directory } from "../workspace/directory.js";
import { removeEntry } from "../workspace/remove.js";
import { Cgroup, type Groups } from "./cgroup.js";
import { Launcher } from "./launcher.js";
import { Pipes } from "./pipes.js";
import type { Box, Registry } from "./registry.js";
import type { Supervisor } from "./supervisor.js";

/** Everything of a sandbox that does not depend on what it shall be; with a shape, a sandbox that runs and is empty. */
export type Spare = {
  readonly box: Box;
  readonly group: Cgroup | undefined;
  readonly launcher: Launcher;
  readonly pipes: Pipes;
  readonly supervisor: Supervisor | undefined;
  /** Gives everything back when the processes are gone. */
  readonly clean: () => Promise<void>;
};

/** What sandboxes have in common that can take each other's place before they are used. */
export type Shape = {
  readonly name: string;
  /** Starts one. Its workspace is an empty directory. */
  readonly start: (parts: Omit<Spare, "supervisor" | "clean">) => Promise<Supervisor>;
};

/** How long after one was taken the next is made: whoever has just opened a sandbox uses it first. */
const PAUSE_MILLISECONDS = 20;
/** How long one is kept that nobody asks for. */
const KEEP_MILLISECONDS = 60_000;

/** Keeps a spare sandbox of the shape that was asked for last: making one takes several times as long as using it. */
export class Stock {
  readonly #registry: Registry;
  readonly #groups: Groups | undefined;
  readonly #ready = new Map<string, { readonly spare: Promise<Spare>; readonly timer: NodeJS.Timeout }>();
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(registry: Registry, groups: Groups | undefined) {
    this.#registry = registry;
    this.#groups = groups;
  }

  /** One of a shape, running; or, where none is ready, one that has not started. */
  async take(shape?: Shape): Promise<Spare> {
    this.#refill(shape);
    const spare = await this.#out(shape?.name ?? "");
    if (spare === undefined) return this.#prepare();
    // Whoever cleans up by hand may have ended it while it waited.
    if (!spare.launcher.over) return spare;
    await spare.clean();
    return this.#prepare();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await Promise.all([...this.#ready.keys()].map((name) => this.#drop(name)));
  }

  /** Makes the next one ready. Nobody need know if it fails: who needs it will. */
  #refill(shape: Shape | undefined): void {
    const name = shape?.name ?? "";
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      if (this.#closed || this.#ready.has(name)) return;
      const spare = this.#prepare(shape);
      spare.catch(() => this.#ready.delete(name));
      this.#ready.set(name, {
        spare,
        timer: setTimeout(() => void this.#drop(name), KEEP_MILLISECONDS).unref(),
      });
    }, PAUSE_MILLISECONDS).unref();
  }

  async #out(name: string): Promise<Spare | undefined> {
    const kept = this.#ready.get(name);
    this.#ready.delete(name);
    clearTimeout(kept?.timer);
    return kept?.spare.catch(() => undefined);
  }

  async #drop(name: string): Promise<void> {
    const spare = await this.#out(name);
    if (spare === undefined) return;
    await spare.supervisor?.end("nobody needed it");
    await spare.launcher.stop();
    await spare.clean();
  }

  async #prepare(shape?: Shape): Promise<Spare> {
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
      const making = Pipes.open(join(box.directory, "pipes"));
      making.catch(() => {});
      await group?.make();
      if (process !== undefined) await group?.admit(process);
      const parts = { box, group, launcher, pipes: await making };
      return { ...parts, clean, supervisor: await shape?.start(parts) };
    } catch (error) {
      await launcher.stop();
      await clean();
      throw error;
    }
  }
}

/** Removes everything of a sandbox that is on disk. */
async function removeBox(box: Box): Promise<void> {
  const boxes = Directory.at(dirname(box.directory));
  try {
    await removeEntry(boxes, basename(box.directory));
  } finally {
    boxes.close();
  }
  await box.remove();
}
