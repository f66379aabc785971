import { spawn } from "node:child_process";
import { once } from "node:events";
import { createReadStream, existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Store } from "../../store/index.js";

type Asked = {
  readonly verb: "export" | "dossier";
  readonly flags: readonly string[];
  readonly session: string;
};

/** One after the other: each takes a processor and the memory of a whole session. */
let before: Promise<unknown> = Promise.resolve();

/**
 * A session as a file, made by the command in a process of its own: a long one takes seconds of work that cannot be cut into
 * pieces, and others are answered meanwhile. Undefined where another process cannot open the store.
 */
export async function writtenBeside(
  store: Store,
  asked: Asked,
  signal: AbortSignal,
): Promise<AsyncGenerator<Uint8Array> | undefined> {
  const command = commandFile();
  if (command === undefined || !store.url.startsWith("sqlite:")) return undefined;
  const done = before.then(() => written(command, asked, store.url, signal));
  before = done.catch(() => {});
  return done;
}

function commandFile(): string | undefined {
  try {
    const file = createRequire(import.meta.url).resolve("openrath/package.json");
    const command = join(dirname(file), "dist", "cli", "rath.js");
    return existsSync(command) ? command : undefined;
  } catch {
    // In a bundle without the package.
    return undefined;
  }
}

/** Resolves when the file is whole: a failure is then an answer of its own, and not half a file. */
async function written(
  command: string,
  { verb, flags, session }: Asked,
  url: string,
  signal: AbortSignal,
): Promise<AsyncGenerator<Uint8Array>> {
  const folder = await mkdtemp(join(tmpdir(), "openrath-export-"));
  const forget = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    signal.throwIfAborted();
    const file = join(folder, "file");
    const args = [command, verb, ...flags, "-o", file, "--store", url, "--", session];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "pipe"], signal });
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (text) => (said = (said + text).slice(-4096)));
    const [code] = await once(child, "close");
    if (code !== 0) throw new Error(`The command could not write the file: ${said}`);
    return piecesOf(existsSync(file) ? file : `${file}.html`, forget);
  } catch (error) {
    await forget();
    throw error;
  }
}

async function* piecesOf(file: string, forget: () => Promise<void>): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(file) as AsyncIterable<Uint8Array>;
  } finally {
    await forget();
  }
}
