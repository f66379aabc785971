import { setTimeout as sleep } from "node:timers/promises";
import type { Engine } from "./engine.js";
import { EngineError } from "./error.js";

const PAUSED_ATTEMPTS = 20;
const PAUSED_MILLISECONDS = 25;
const REMOVE_ATTEMPTS = 10;

/**
 * Asks the engine for something that it refuses because it takes the container for paused, which it is not: shortly after
 * a container was let go on, the news that it was paused may reach the engine, and only then the news that it goes on.
 */
export async function untilUnpaused<Value>(ask: () => Promise<Value>): Promise<Value> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask();
    } catch (error) {
      const isPaused =
        error instanceof EngineError && error.status === 409 && /paused/.test(String(error.data.reason));
      if (!isPaused || attempt >= PAUSED_ATTEMPTS) throw error;
      await sleep(PAUSED_MILLISECONDS);
    }
  }
}

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
      if (attempt >= REMOVE_ATTEMPTS) throw error;
      await sleep(100 * attempt);
    }
  }
}
