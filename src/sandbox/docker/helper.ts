import { setTimeout as sleep } from "node:timers/promises";
import type { Engine } from "./engine.js";
import { EngineError } from "./error.js";
import { Frames } from "./frames.js";
import { untilUnpaused } from "./retry.js";

const LONGEST_ANSWER = 64 * 1024;
const HELPER_MILLISECONDS = 30_000;

/**
 * Runs a script of ours in a container and gives what it wrote to standard output. It runs with the rights of the
 * commands there and with their programs, so its answer is only as good as they are.
 */
export function runHelper(
  engine: Engine,
  container: string,
  words: readonly string[],
  user?: string,
): Promise<string> {
  return untilUnpaused(() => run(engine, container, words, user));
}

async function run(
  engine: Engine,
  container: string,
  words: readonly string[],
  user?: string,
): Promise<string> {
  const { Id } = await engine.json<{ Id: string }>("POST", `/containers/${container}/exec`, {
    body: {
      AttachStdin: false,
      AttachStdout: true,
      AttachStderr: true,
      Tty: false,
      Cmd: words,
      ...(user !== undefined && { User: user }),
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
}
