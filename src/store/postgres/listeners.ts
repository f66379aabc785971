import { randomUUID } from "node:crypto";
import { Listeners } from "../commit.js";
import { connect, type PgClient, resultsOf, type Target } from "./driver.js";
import { qualified } from "./rows.js";

/** How often the log of moves is looked at where notifications do not come: a pooler in transaction mode loses them. */
const POLL_MS = 100;
/** The same where they come. One is lost when its process dies between the commit and the notification. */
const SAFETY_MS = 2000;

/** Those who want to hear that names moved: by this process at once, by others as PostgreSQL tells of it. */
export class PgListeners extends Listeners {
  /** The statement that wakes the listeners of other processes. */
  readonly notify: string;
  readonly #target: Target;
  readonly #channel: string;
  readonly #probe = randomUUID();
  #client: PgClient | undefined;
  #isHeard = false;
  #moved = -1;
  #looking = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(target: Target, identity: string) {
    super();
    this.#target = target;
    this.#channel = `rath_${identity}`;
    this.notify = `NOTIFY ${this.#channel}`;
  }

  override add(heard: () => void): () => void {
    const remove = super.add(heard);
    if (this.#timer === undefined) this.#again(0);
    return () => {
      remove();
      if (this.size === 0) void this.stop();
    };
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const client = this.#client;
    this.#client = undefined;
    client?.ref();
    await client?.end().catch(() => {});
  }

  #again(milliseconds: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#look(), milliseconds);
    this.#timer.unref();
  }

  /** Listens, and looks whether names have moved since the last look. */
  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    try {
      this.#client ??= await this.#listen();
      const [[row] = []] = resultsOf(
        await this.#client.query(qualified("SELECT moved FROM generation", this.#target.schema)),
      );
      const moved = Number(row?.moved);
      if (moved !== this.#moved) this.tell();
      this.#moved = moved;
    } catch {
      // A look that fails says nothing; the next reading or writing says what is wrong.
      this.#client?.end().catch(() => {});
      this.#client = undefined;
    } finally {
      this.#looking = false;
      if (this.size > 0 && this.#timer !== undefined) this.#again(this.#isHeard ? SAFETY_MS : POLL_MS);
      else await this.stop();
    }
  }

  async #listen(): Promise<PgClient> {
    const client = await connect(this.#target);
    this.#isHeard = false;
    client.on("notification", (message) => {
      const { payload } = message as { readonly payload?: string };
      // The probe came back, so notifications arrive; a pooler loses them.
      if (payload === this.#probe) this.#isHeard = true;
      else if (!payload) this.tell();
    });
    client.on("end", () => {
      if (this.#client === client) this.#client = undefined;
    });
    await client.query(`LISTEN ${this.#channel}`);
    // From another connection: one's own notifications arrive with the answer, through a pooler too.
    const other = await connect(this.#target);
    await other.query(`NOTIFY ${this.#channel}, '${this.#probe}'`).finally(() => other.end().catch(() => {}));
    return client;
  }
}
