import { setTimeout as sleep } from "node:timers/promises";
import { EngineError } from "./error.js";

const ATTEMPTS = 20;
const WAIT_MILLISECONDS = 25;

/**
 * Asks the engine for something that it refuses because it takes the container for paused, which it is not: shortly after
 * a container was let go on, the news that it was paused may reach the engine, and only then the news that it goes on.
 */
export async function settled<Value>(ask: () => Promise<Value>): Promise<Value> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask();
    } catch (error) {
      const isPaused =
        error instanceof EngineError && error.status === 409 && /paused/.test(String(error.data.reason));
      if (!isPaused || attempt >= ATTEMPTS) throw error;
      await sleep(WAIT_MILLISECONDS);
    }
  }
}
