import { randomBytes } from "node:crypto";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { connect, createServer, type Server } from "node:net";
import { join } from "node:path";

/**
 * A sign of life that is seen from every container of this machine: a socket that somebody listens to as long as they
 * live. The number of a process says nothing in another container, where it may be anybody's; but a socket to which nobody
 * listens refuses, and that is certain.
 */
export class Liveness {
  /** The name of the socket, in `alive` of the state directory. */
  readonly name: string;
  readonly #server: Server;

  private constructor(name: string, server: Server) {
    this.name = name;
    this.#server = server;
  }

  /** A name that no other sign has. */
  static newName(): string {
    return randomBytes(8).toString("hex");
  }

  /** Undefined where there can be no such socket. Then only what is known of the process counts. */
  static async begin(state: string, name: string): Promise<Liveness | undefined> {
    if (process.platform !== "linux") return undefined;
    const server = createServer((socket) => socket.destroy());
    mkdirSync(join(state, "alive"), { recursive: true, mode: 0o700 });
    const folder = openSync(join(state, "alive"), "r");
    const listening = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(shortPath(folder, name), () => resolve(true));
    });
    server.on("error", () => {});
    // The name that it is removed by goes through this descriptor.
    server.once("close", () => closeSync(folder));
    if (listening) return new Liveness(name, server.unref());
    closeSync(folder);
    return undefined;
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}

/** Whether nobody listens. False also where that cannot be found out, for instance because the socket is gone. */
export async function isAbsent(state: string, name: string): Promise<boolean> {
  if (!PRESENCE.test(name)) return false;
  let folder: number;
  try {
    folder = openSync(join(state, "alive"), "r");
  } catch {
    return false;
  }
  try {
    return await new Promise<boolean>((resolve) => {
      const socket = connect(shortPath(folder, name));
      const timer = setTimeout(() => over(false), 2000);
      const over = (absent: boolean): void => {
        clearTimeout(timer);
        socket.destroy();
        resolve(absent);
      };
      socket.once("connect", () => over(false));
      socket.once("error", (error: NodeJS.ErrnoException) => over(error.code === "ECONNREFUSED"));
    });
  } finally {
    closeSync(folder);
  }
}

const PRESENCE = /^[0-9a-f]{16}$/;

/** The name of a socket may have 107 bytes. The folder's descriptor makes a short name of any. */
export function shortPath(folder: number, name: string): string {
  return join(`/proc/self/fd/${folder}`, name);
}
