import { setTimeout as sleep } from "node:timers/promises";
import { defined } from "../../util/index.js";
import { EngineError } from "../error.js";
import type { Engine } from "./engine.js";
import { Frames } from "./wire.js";

const LONGEST_ANSWER = 64 * 1024;
const HELPER_MILLISECONDS = 30_000;

/** Runs a script in a container and returns its output, which is as trustworthy as the programs there. */
export function runHelper(
  engine: Engine,
  container: string,
  words: readonly string[],
  user?: string,
): Promise<string> {
  return untilUnpaused(async () => {
    const { Id } = await engine.json<{ Id: string }>("POST", `/containers/${container}/exec`, {
      body: {
        AttachStdin: false,
        AttachStdout: true,
        AttachStderr: true,
        Tty: false,
        Cmd: words,
        ...defined({ User: user }),
      },
    });
    const socket = await engine.upgrade(`/exec/${Id}/start`, { body: { Detach: false, Tty: false } });
    const frames = new Frames();
    const chunks: Uint8Array[] = [];
    let length = 0;
    try {
      const over = new Promise<void>((resolve, reject) => {
        socket.on("close", resolve);
        socket.on("end", resolve);
        socket.on("data", (chunk: Buffer) => {
          try {
            for (const { from, bytes } of frames.take(chunk)) {
              length += bytes.length;
              if (from === "stdout" && length <= LONGEST_ANSWER) chunks.push(bytes);
            }
          } catch (error) {
            reject(error);
          }
        });
      });
      const late = sleep(HELPER_MILLISECONDS, true, { ref: false });
      if ((await Promise.race([over, late])) === true)
        throw new EngineError("to run a script in a container", null, "it took too long");
    } finally {
      socket.destroy();
    }
    return Buffer.concat(chunks).toString("utf8").trim();
  });
}

const PAUSED_ATTEMPTS = 20;
const PAUSED_MILLISECONDS = 25;
const REMOVE_ATTEMPTS = 10;

/** Repeats a request that the engine refuses because it has not heard of the unpause yet. */
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
