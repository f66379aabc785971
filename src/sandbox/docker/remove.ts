import { setTimeout as sleep } from "node:timers/promises";
import type { Engine } from "./engine.js";
import { EngineError } from "./error.js";

const ATTEMPTS = 10;

/** Removes a container and its volumes, whatever it is doing. Nothing happens when it is not there. */
export async function removeContainer(engine: Engine, container: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await engine.json("DELETE", `/containers/${container}`, { query: { force: "true", v: "true" } });
      return;
    } catch (error) {
      if (!(error instanceof EngineError) || error.status === null) throw error;
      if (error.status === 404) return;
      // 409: somebody else is removing it already.
      if (attempt >= ATTEMPTS) throw error;
      await sleep(100 * attempt);
    }
  }
}
