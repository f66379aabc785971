import { statSync } from "node:fs";
import { resolve } from "node:path";
import type { Handler } from "../connect/front/index.js";
import type { Rath } from "../runtime/index.js";
import { Auth, type Server, type ServerOptions, serverWith } from "../server/index.js";

const LOOK_MS = 1_000;

type Opened = { readonly rath: Rath; close(): Promise<void> };

/** The server of the page over the file of a store. Another file in its place is opened, and the sign-ins of the page stay. */
export class StoreServer {
  readonly #auth: Auth;
  readonly #options: ServerOptions;
  readonly #file: string | undefined;
  readonly #open: () => Promise<Opened>;
  #known: string | undefined;
  #log: string | undefined;
  #opened: Opened | undefined;
  #server: Server;
  #looking: Promise<void> = Promise.resolve();
  readonly #timer: NodeJS.Timeout;

  constructor(rath: Rath, url: string, options: ServerOptions, open: () => Promise<Opened>) {
    this.#auth = new Auth(options.auth);
    this.#options = options;
    this.#open = open;
    this.#file = url.startsWith("sqlite:") ? resolve(url.slice("sqlite:".length)) : undefined;
    this.#known = this.#identity();
    this.#log = this.#identity("-wal");
    this.#server = serverWith(rath, options, this.#auth);
    this.#timer = setInterval(() => {
      this.#looking = this.#looking.then(() => this.#look());
    }, LOOK_MS);
  }

  readonly handle: Handler = (request) => this.#server(request);

  start(): string {
    return this.#auth.start();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
    this.#server.close();
    await this.#opened?.close();
  }

  async #look(): Promise<void> {
    const [now, log] = [this.#identity(), this.#identity("-wal")];
    if (now === undefined || now === this.#known) {
      this.#log = log;
      return;
    }
    // SQLite would write the log of the old file into the new one: both are moved together.
    if (log !== undefined && log === this.#log) return;
    // A file that is not a store, or not yet all of it, is tried again at the next look.
    const opened = await this.#open().catch(() => undefined);
    if (opened === undefined) return;
    this.#known = now;
    this.#log = this.#identity("-wal");
    const [server, before] = [this.#server, this.#opened];
    this.#server = serverWith(opened.rath, this.#options, this.#auth);
    this.#opened = opened;
    // The streams end, and pages connect to the store that is there now.
    server.close();
    await before?.close();
  }

  /** Device and inode: another file under the same name has others. */
  #identity(ending = ""): string | undefined {
    if (this.#file === undefined) return undefined;
    const stats = statSync(this.#file + ending, { bigint: true, throwIfNoEntry: false });
    return stats && `${stats.dev}:${stats.ino}`;
  }
}
