import { setTimeout as sleep } from "node:timers/promises";
import type { Engine } from "./engine.js";
import { MEMORY_EVENTS } from "./script.js";

/** What a process that the kernel ended for want of memory leaves behind: SIGKILL. */
const KILLED = 137;
const LATE_MILLISECONDS = 150;

/**
 * Whether a container ran out of memory. Docker tells of it as an event. Podman does not, and an event may come late: then
 * the kernel's own count is looked at, as it stands in the container.
 */
export class MemoryWatch {
  readonly #engine: Engine;
  readonly #container: string;
  readonly #helper: (words: readonly string[]) => Promise<string>;
  #seen: number | undefined;

  /** @param fresh whether nothing has run in the container yet */
  constructor(
    engine: Engine,
    container: string,
    helper: (words: readonly string[]) => Promise<string>,
    fresh: boolean,
  ) {
    this.#engine = engine;
    this.#container = container;
    this.#helper = helper;
    if (fresh) this.#seen = 0;
  }

  async ranOut(since: number, code: number): Promise<boolean> {
    try {
      const tells = this.#engine.about.name === "docker";
      let told = tells && (await this.#wasTold(since));
      if (!told && tells && code !== KILLED) return false;
      if (!told && tells) {
        await sleep(LATE_MILLISECONDS);
        told = await this.#wasTold(since);
      }
      // How often it was is not known then: the count is not a measure until it is looked at again.
      if (told) this.#seen = undefined;
      if (told) return true;
      const before = this.#seen;
      const now = countOf(await this.#helper(MEMORY_EVENTS));
      this.#seen = now;
      return before !== undefined && now > before;
    } catch {
      // Nobody knows; then it is a command that failed.
      return false;
    }
  }

  async #wasTold(since: number): Promise<boolean> {
    const filters = JSON.stringify({ container: [this.#container], event: ["oom"] });
    const query = {
      since: seconds(since),
      until: seconds(Date.now()),
      filters: encodeURIComponent(filters),
    };
    for await (const chunk of this.#engine.read("/events", { query }))
      if (chunk.toString("utf8").trim() !== "") return true;
    return false;
  }
}

function seconds(milliseconds: number): string {
  return `${Math.floor(milliseconds / 1000)}.${String(milliseconds % 1000).padStart(3, "0")}000000`;
}

function countOf(text: string): number {
  return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0);
}
