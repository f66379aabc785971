import type { Engine } from "openrath/cluster";

export type DbosOptions = {
  /** The URL of a PostgreSQL database; DBOS creates the schema `dbos` in it. Default: DBOS_SYSTEM_DATABASE_URL, or RATH_STORE. */
  readonly url?: string;
  /** Milliseconds between two polls of the queue. Default: 100. */
  readonly interval?: number;
};

/** Lets DBOS decide which worker takes which session: `worker({ engine: dbos() })`. One worker per process. */
export default function dbos(options?: DbosOptions): Engine;
