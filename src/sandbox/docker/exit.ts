import { setTimeout as sleep } from "node:timers/promises";
import type { Engine } from "./engine.js";
import { EngineError } from "./error.js";

/** How often the engine is asked whether a command has ended, at first, at most, and once its output has ended. */
const [SOON, SELDOM, CLOSED] = [25, 1_000, 50] as const;
/** How often an answer that leads nowhere is put up with. */
const PATIENCE = 5;

/**
 * The code that a command ended with; undefined when the engine cannot say. It is asked more and more seldom,
 * and at once when the output ends: a child may hold that open, so its end is not enough.
 *
 * @param isHopeless whether the command cannot be running, whatever the engine says
 */
export async function exitOf(
  engine: Engine,
  exec: string,
  output: { readonly closed: Promise<void>; readonly isClosed: boolean },
  isHopeless: () => boolean,
): Promise<number | undefined> {
  let doubts = 0;
  for (let wait: number = SOON; ; wait = Math.min(SELDOM, Math.ceil(wait * 1.5))) {
    await (output.isClosed ? sleep(Math.min(wait, CLOSED)) : Promise.race([output.closed, sleep(wait)]));
    const said = await ask(engine, exec);
    if (typeof said === "number") return said;
    // A command that closed its output and goes on is waited for.
    const isDoubtful = said === "unknown" || (output.isClosed && isHopeless());
    doubts = isDoubtful ? doubts + 1 : 0;
    if (said === "gone" || doubts >= PATIENCE) return undefined;
  }
}

async function ask(engine: Engine, exec: string): Promise<number | "running" | "unknown" | "gone"> {
  try {
    const said = await engine.json<{ Running?: boolean; ExitCode?: number | null }>(
      "GET",
      `/exec/${exec}/json`,
    );
    return said.Running === false && typeof said.ExitCode === "number" ? said.ExitCode : "running";
  } catch (error) {
    return error instanceof EngineError && error.status === 404 ? "gone" : "unknown";
  }
}
