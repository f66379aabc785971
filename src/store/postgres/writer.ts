import { randomUUID } from "node:crypto";
import type { StoreError } from "../error.js";
import {
  connect,
  isInTheWay,
  isLost,
  type PgClient,
  type PgRow,
  resultsOf,
  storeErrorOf,
  type Target,
} from "./driver.js";
import { qualified } from "./rows.js";

/** How long a writer goes on trying to reach a server that went away, or waits for others. */
const PATIENCE_MS = 10_000;
const PAUSE_MS = 50;
/**
 * A process that stops in the middle of a transaction holds the lock of the store. The server ends such a transaction after this
 * time, so that the others go on; should the process wake, it tries again.
 */
const IDLE_MS = 2000;
/** Much to write on a slow machine takes longer than that: each attempt has so many times as long, and so many are made at least. */
const LONGER = 4;
const ATTEMPTS = 4;

/** The state that every writer finds under the lock. */
export type State = {
  readonly collected: number;
  readonly chain: number;
  readonly moved: number;
  readonly waiting: number;
  /** The time by the clock of the database. */
  readonly now: number;
};
type Work<Result> = (
  state: State,
  answers: readonly (readonly PgRow[])[],
) => { readonly sql: string; readonly result: Result; readonly tell?: string };

/**
 * The connection that writes. Transactions go one after the other, each in two messages: one takes the lock of the store and
 * reads what is needed, the other writes and commits.
 */
export class Writer {
  readonly #target: Target;
  readonly #begin: string;
  readonly #id = randomUUID();
  readonly #ready: () => Promise<void> | undefined;
  #count = 0;
  #client: PgClient | undefined;
  #before: Promise<unknown> = Promise.resolve();
  #dead: StoreError | undefined;

  /** @param ready waits for the connection that reads: the work of a transaction must not wait for it under the lock of the store */
  constructor(target: Target, asynchronous: boolean, ready: () => Promise<void> | undefined) {
    this.#target = target;
    this.#ready = ready;
    // Whatever the defaults of the server are: another isolation fails where writers wait for each other, and other rules for
    // texts would read bytes as something else.
    this.#begin = `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL standard_conforming_strings = on; SET LOCAL lock_timeout = ${PATIENCE_MS};${asynchronous ? " SET LOCAL synchronous_commit = on;" : ""}`;
  }

  get dead(): StoreError | undefined {
    return this.#dead;
  }

  set dead(reason: StoreError) {
    this.#dead ??= reason;
  }

  /** Text as a literal of SQL. */
  literal(text: string): string {
    return (this.#client as PgClient).escapeLiteral(text);
  }

  qualified(sql: string): string {
    return qualified(sql, this.#target.schema);
  }

  /**
   * One transaction under the lock of the store. `reads` are asked in it before `work` gets their answers and says what to write.
   * When the connection is lost, all of it is tried again, unless it turns out to have been committed.
   */
  transaction<Result>(
    reads: (literal: (text: string) => string) => readonly string[],
    work: Work<Result>,
    idle = IDLE_MS,
  ): Promise<Result> {
    return this.#inTurn(() => this.#transact(reads, work, idle));
  }

  /** Statements that need no lock and no transaction. */
  run(sql: string): Promise<readonly (readonly PgRow[])[]> {
    return this.#inTurn(() =>
      this.#patiently(async (client) => resultsOf(await client.query(this.qualified(sql)))),
    );
  }

  async close(reason: StoreError): Promise<void> {
    await this.#before.catch(() => {});
    const client = this.#client;
    this.#client = undefined;
    this.#dead ??= reason;
    if (client === undefined) return;
    client.ref();
    await client.query(`${this.qualified("DELETE FROM writers")} WHERE id = '${this.#id}'`).catch(() => {});
    await client.end().catch(() => {});
  }

  #inTurn<Result>(act: () => Promise<Result>): Promise<Result> {
    const result = this.#before.then(act);
    this.#before = result.catch(() => {});
    return result;
  }

  #transact<Result>(
    reads: (literal: (text: string) => string) => readonly string[],
    work: Work<Result>,
    idle: number,
  ): Promise<Result> {
    const mine = ++this.#count;
    let sent: { readonly result: Result } | undefined;
    let allowed = idle / LONGER;
    return this.#patiently(async (client) => {
      allowed *= LONGER;
      await this.#ready();
      const [, , , , state, told, ...answers] = resultsOf(
        await client.query(
          [
            `${this.#begin} SET LOCAL idle_in_transaction_session_timeout = ${allowed}`,
            this.qualified("SELECT collected, chain, moved, waiting FROM generation FOR UPDATE"),
            `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now, (${this.qualified("SELECT n FROM writers")} WHERE id = '${this.#id}') AS n`,
            ...reads((text) => client.escapeLiteral(text)),
          ].join(";"),
        ),
      ).slice(this.#begin.includes("synchronous_commit") ? 1 : 0);
      const row = { ...state?.[0], ...told?.[0] } as { readonly [column: string]: unknown };
      const mark = `${this.qualified("INSERT INTO writers")} (id, n) VALUES ('${this.#id}', ${mine}) ON CONFLICT (id) DO UPDATE SET n = excluded.n, at = now()`;
      if (sent !== undefined && Number(row.n) === mine) {
        // The acknowledgement of an earlier attempt was lost, not the commit. It may be on this server alone: another commit
        // is acknowledged when the standbys have both.
        await client.query(`${mark};COMMIT`);
        return sent.result;
      }
      let written: ReturnType<Work<Result>>;
      try {
        if (this.#dead !== undefined) throw this.#dead;
        written = work(
          {
            collected: Number(row.collected),
            chain: Number(row.chain),
            moved: Number(row.moved),
            waiting: Number(row.waiting),
            now: Number(row.now),
          },
          answers,
        );
      } catch (error) {
        await client.query("ROLLBACK").catch(() => {});
        throw new Refusal(error);
      }
      if (written.sql === "") {
        await client.query("ROLLBACK");
        return written.result;
      }
      sent = { result: written.result };
      await client.query(`${written.sql};${mark};COMMIT${written.tell ? `;${written.tell}` : ""}`);
      return written.result;
    });
  }

  async #patiently<Result>(attempt: (client: PgClient) => Promise<Result>): Promise<Result> {
    const deadline = Date.now() + PATIENCE_MS;
    for (let tries = 1; ; tries++) {
      if (this.#dead !== undefined) throw this.#dead;
      let client: PgClient | undefined;
      try {
        client = this.#client ??= await connect(this.#target);
        client.ref();
        return await attempt(client);
      } catch (error) {
        if (error instanceof Refusal) throw error.reason;
        if (client !== undefined) await this.#leave(client, error);
        const isOver = tries >= ATTEMPTS && Date.now() > deadline;
        if (!(isLost(error) || isInTheWay(error)) || isOver) throw storeErrorOf(error, this.#target.shown);
        await new Promise((done) => setTimeout(done, PAUSE_MS));
      } finally {
        client?.unref();
      }
    }
  }

  /** After a failure nothing is left open: neither a transaction nor a connection of which nobody knows what it still does. */
  async #leave(client: PgClient, error: unknown): Promise<void> {
    if (!isLost(error)) {
      const isWell = await client.query("ROLLBACK").then(
        () => true,
        () => false,
      );
      if (isWell) return;
    }
    if (this.#client === client) this.#client = undefined;
    client.end().catch(() => {});
  }
}

/** Work that refused: an error of ours, not of the connection. */
class Refusal extends Error {
  readonly reason: unknown;

  constructor(reason: unknown) {
    super();
    this.reason = reason;
  }
}
