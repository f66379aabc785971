import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from "node:worker_threads";
import type { StoreError } from "../error.js";
import type { Rows, SqlRow, SqlValue } from "../sql/rows.js";
import { driverPath, isLost, storeErrorOf, type Target } from "./driver.js";

/** How long a caller who can wait is kept waiting for a server that went away. */
const PATIENCE_MS = 10_000;
/** How long the whole process is: reading at once holds up everybody, so it has so much of each stretch of patience. */
const HELD_UP_MS = 1_000;
const PAUSE_MS = 50;
/** How long a server may be silent in the middle of an answer: a network that was cut says nothing by itself. */
const SILENT_MS = 10_000;
/** No answer at all, not even that it takes too long: the thread is gone. */
const NO_ANSWER_MS = 120_000;

type Values = readonly (SqlValue | readonly (string | number)[])[];
/** `signal` counts the answers, and says whether there is a connection. */
type Thread = { readonly worker: Worker; readonly port: MessagePort; readonly signal: Int32Array };
type Answer = { readonly n: number } & (
  | { readonly rows: readonly (readonly SqlRow[])[] }
  | { readonly error: object }
);

/**
 * A connection that answers at once, as a loaded session asks for its content and its past. A thread of its own holds the
 * connection, and this one waits for it. Nothing is prepared under a name and every look is one transaction, so a
 * pooler in transaction mode may be in between.
 */
export class PgRows implements Rows {
  readonly path: string;
  readonly #target: Target;
  readonly #silent: number;
  readonly #texts = new Map<string, string>();
  readonly #sleep = new Int32Array(new SharedArrayBuffer(4));
  #thread: Thread | undefined;
  #asked = 0;
  #looking = false;
  /** When the process began to be held up by a server that is away. */
  #lostAt = Number.NEGATIVE_INFINITY;
  #waiting: Promise<void> | undefined;
  #dead: StoreError | undefined;

  constructor(target: Target, silent = SILENT_MS) {
    this.path = target.shown;
    this.#target = target;
    this.#silent = silent;
  }

  get(sql: string, ...values: SqlValue[]): SqlRow | undefined {
    return this.query(sql, values)[0];
  }

  all(sql: string, ...values: SqlValue[]): SqlRow[] {
    return this.query(sql, values) as SqlRow[];
  }

  guard<Result>(read: () => Result): Result {
    return read();
  }

  /** Rows of one statement; lists are values of it too. */
  query(sql: string, values: Values): readonly SqlRow[] {
    const ask = (): readonly SqlRow[] => this.#ask(this.#textOf(sql), values).at(-1) ?? [];
    return this.#looking ? ask() : this.#patiently(ask);
  }

  /** Several looks at one state of the database. `begin` gets how many collections there were. */
  atOnce<Result>(look: (collected: number) => Result): Result {
    return this.#patiently(() => {
      const [, [state] = []] = this.#ask(`${BEGIN}; ${this.#textOf("SELECT collected FROM generation")}`, []);
      this.#looking = true;
      try {
        return look(state?.collected as number);
      } finally {
        this.#looking = false;
        // Where the connection is gone, so is the transaction.
        this.#post("COMMIT", []);
      }
    });
  }

  close(reason: StoreError): void {
    this.#dead = reason;
    this.#thread?.port.close();
    this.#thread?.worker.terminate();
    this.#thread = undefined;
  }

  /** Waits for a connection while others work; undefined where there is one. */
  ready(): Promise<void> | undefined {
    if (this.#dead !== undefined || this.#isConnected) return undefined;
    this.#waiting ??= this.#connected().finally(() => {
      this.#waiting = undefined;
    });
    return this.#waiting;
  }

  get #isConnected(): boolean {
    return this.#thread !== undefined && Atomics.load(this.#thread.signal, 1) === 1;
  }

  async #connected(): Promise<void> {
    const deadline = Date.now() + PATIENCE_MS;
    let failure: Error | undefined;
    let mine = 0;
    for (let isFirst = true; !this.#isConnected; isFirst = false) {
      // Every question was answered, and there is no connection: another one tries to make it.
      if (isFirst || Atomics.load((this.#thread as Thread).signal, 0) === this.#asked) {
        if (!isFirst) await pause(PAUSE_MS);
        this.#post("", []);
        mine = this.#asked;
      }
      await pause(PAUSE_MS / 10);
      const { port } = this.#thread as Thread;
      for (let told = answerIn(port); told !== undefined; told = answerIn(port))
        if (told.n === mine && "error" in told) failure = Object.assign(new Error(), told.error);
      const isHopeless = failure !== undefined && !isLost(failure);
      if (!this.#isConnected && (isHopeless || Date.now() > deadline))
        throw storeErrorOf(failure ?? lost(), this.path);
      if (this.#dead !== undefined) throw this.#dead;
    }
  }

  /** Tries again for a little while the server is away: reading changes nothing. */
  #patiently<Result>(attempt: () => Result): Result {
    for (;;) {
      try {
        const result = attempt();
        this.#lostAt = Number.NEGATIVE_INFINITY;
        return result;
      } catch (error) {
        if (error instanceof TypeError) throw error;
        const now = Date.now();
        if (now - this.#lostAt > PATIENCE_MS) this.#lostAt = now;
        if (!isLost(error) || now - this.#lostAt > HELD_UP_MS) throw storeErrorOf(error, this.path);
        Atomics.wait(this.#sleep, 0, 0, PAUSE_MS);
      }
    }
  }

  #ask(text: string, values: Values): readonly (readonly SqlRow[])[] {
    const { port, signal } = this.#post(text, values);
    // Answers that nobody waited for come first.
    for (;;) {
      const seen = Atomics.load(signal, 0);
      const told = answerIn(port);
      if (told === undefined) {
        if (Atomics.wait(signal, 0, seen, this.#isConnected ? NO_ANSWER_MS : HELD_UP_MS) === "timed-out")
          throw lost();
        continue;
      }
      if (told.n !== this.#asked) continue;
      if ("error" in told) throw Object.assign(new Error(), told.error);
      return told.rows;
    }
  }

  #post(text: string, values: Values): Thread {
    if (this.#dead !== undefined) throw this.#dead;
    this.#thread ??= this.#start();
    this.#thread.port.postMessage({ n: ++this.#asked, text, values });
    return this.#thread;
  }

  #start(): Thread {
    const { port1, port2 } = new MessageChannel();
    const signal = new Int32Array(new SharedArrayBuffer(8));
    const { config } = this.#target;
    const workerData = { port: port2, signal, driver: driverPath(), config, silent: this.#silent };
    const worker = new Worker(PROGRAM, {
      eval: true,
      execArgv: [],
      workerData,
      transferList: [port2],
    });
    worker.unref();
    port1.unref();
    return { worker, port: port1, signal };
  }

  /** The statement with its tables in the schema of the store, and its values numbered as PostgreSQL does. */
  #textOf(sql: string): string {
    const known = this.#texts.get(sql);
    if (known !== undefined) return known;
    let count = 0;
    const text = qualified(sql, this.#target.schema).replace(
      /\?(\d*)/g,
      (_, number: string) => `$${number || ++count}`,
    );
    this.#texts.set(sql, text);
    return text;
  }
}

function answerIn(port: MessagePort): Answer | undefined {
  return receiveMessageOnPort(port)?.message as Answer | undefined;
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((done) => setTimeout(done, milliseconds));
}

function lost(): Error {
  return Object.assign(new Error("the connection gives no answer"), { code: "ETIMEDOUT" });
}

const BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/** Puts the tables of a statement into a schema. A pooler may not keep a search path. */
export function qualified(sql: string, schema: string): string {
  return sql.replace(TABLES, `$1 "${schema}".$2`);
}

const TABLES =
  /\b(FROM|JOIN|INTO|UPDATE|TABLE|ON|VACUUM|,)\s+(about|generation|ids|fresh|packs|chains|merges|names|moves|steps|snapshots|blobs|puts|erasures|secrets|writers)\b/g;

/** The program of the thread. Text, so that it runs from sources, from the package and from a bundle alike. */
const PROGRAM = `
const { workerData: { port, signal, driver, config, silent } } = require("node:worker_threads");
const pg = require(driver);
const types = { getTypeParser: (oid, format) => (oid === 20 ? Number : pg.types.getTypeParser(oid, format)) };
let client;
let heardAt = 0;
async function connected() {
  if (client !== undefined) return client;
  const made = new pg.Client({ ...config, types });
  const drop = () => {
    if (client === made) leave();
  };
  made.on("error", drop);
  made.on("end", drop);
  await made.connect();
  made.connection.stream.on("data", () => (heardAt = Date.now()));
  Atomics.store(signal, 1, 1);
  return (client = made);
}
function leave() {
  Atomics.store(signal, 1, 0);
  client?.end().catch(() => {});
  client = undefined;
}
const plain = (value) =>
  value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value;
async function answer({ n, text, values }) {
  try {
    const made = await connected();
    // Only to have a connection.
    if (text === "") return { n, rows: [] };
    heardAt = Date.now();
    const listening = setInterval(() => {
      if (Date.now() - heardAt > silent) made.connection.stream.destroy(new Error("the connection is silent"));
    }, silent / 4);
    const asked = made.query(values.length === 0 ? text : { text, values: values.map(plain) });
    const result = await asked.finally(() => clearInterval(listening));
    return { n, rows: [result].flat().map(({ rows }) => rows) };
  } catch (error) {
    const { message, code } = error;
    // After a failure of the connection the next question gets another one.
    if (code === undefined || !/^[0-9A-Z]{5}$/.test(code) || /^(08|57P|25P03)/.test(code)) leave();
    return { n, error: { message, code } };
  }
}
let before = Promise.resolve();
port.on("message", (question) => {
  before = before.then(async () => {
    port.postMessage(await answer(question));
    Atomics.add(signal, 0, 1);
    Atomics.notify(signal, 0);
  });
});
`;
