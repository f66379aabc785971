import { mkdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { Pipes } from "./pipes.js";
import { type Box, type Registry, removeBox } from "./registry.js";

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
