import { once } from "node:events";
import { existsSync, statSync } from "node:fs";
import { userInfo } from "node:os";
import { delimiter, resolve } from "node:path";
import type { Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { Rath, RathOptions, Status } from "../runtime/index.js";
import type { FactId, Principal } from "../session/index.js";
import { defaultStore, type Found, homeOf, type Store, shownUrl } from "../store/index.js";
import type { Input } from "./entry.js";
import { UsageError } from "./error.js";
import { configOf } from "./home.js";
import { plain, quoted } from "./text.js";

/** Where the words of a command go. `process` has both; a caller inside another program gives its own. */
export type Streams = { readonly stdout: Output; readonly stderr: Output };

type Paint = (text: string) => string;

type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** The surroundings of a command: where things are kept, and where words go. */
export class Shell {
  readonly streams: Streams;
  /** One JSON document on stdout instead of text. */
  readonly json: boolean;
  readonly quiet: boolean;
  /** The folder of the embedded store, and that of what belongs to the person. */
  readonly home: string;
  readonly config: string;
  readonly #url: string | undefined;
  readonly #creates: boolean;
  readonly #named: string | undefined;
  #store: Promise<Store> | undefined;
  readonly #raths: Rath[] = [];
  #shown = false;

  constructor(options: {
    readonly streams?: Streams;
    readonly json?: boolean;
    readonly quiet?: boolean;
    readonly store?: string;
    readonly creates?: boolean;
  }) {
    this.streams = options.streams ?? process;
    this.json = options.json ?? false;
    this.quiet = options.quiet ?? false;
    this.home = homeOf(process.env, process.cwd());
    this.config = configOf(process.env);
    this.#creates = options.creates ?? false;
    this.#named = namedStore(options.store);
    this.#url = options.store ?? process.env.RATH_STORE;
  }

  /** The URL of the store that commands work on, as it may be shown: without a password. */
  get url(): string {
    return shownUrl(this.address);
  }

  /** The same with its password, for opening it. */
  get address(): string {
    return this.#url ?? defaultStore(process.env, process.cwd());
  }

  /** Whether the store was named, and is not the default one. */
  get isNamed(): boolean {
    return this.#url !== undefined;
  }

  /** The file of the store, if it is one. */
  get path(): string | undefined {
    const [, path] = /^sqlite:(.+)$/s.exec(this.url) ?? [];
    return path?.startsWith("//") ? fileURLToPath(`file:${path}`) : path;
  }

  /** Whether there is a store. */
  get hasStore(): boolean {
    const { path } = this;
    if (path === undefined) return true;
    try {
      statSync(path);
      return true;
    } catch (error) {
      // Whatever else is in the way, opening it says so.
      return (error as { readonly code?: string }).code !== "ENOENT";
    }
  }

  /**
   * The store, opened when it is first needed; it is closed when the command is over. A command that makes none finds an empty
   * one where there is none.
   */
  store(): Promise<Store> {
    this.#store ??= (async () => {
      const { openStore } = await import("../store/index.js");
      if (!this.#creates && !this.hasStore) return openStore("memory:");
      return openStore(this.#url);
    })();
    return this.#store;
  }

  /** A runtime over the store. */
  async rath(options: Omit<RathOptions, "store"> = {}): Promise<Rath> {
    const { openRath } = await import("../runtime/index.js");
    const rath = openRath({ ...options, store: await this.store() });
    this.#raths.push(rath);
    return rath;
  }

  /** Where a session is that was called NAME, by an id or its beginning, NAME~3 or NAME@branch. */
  async find(reference: string): Promise<Found> {
    if (reference === "")
      throw new UsageError("The name of a session cannot be empty.", "list the sessions: rath list");
    const { findSession, NotFoundError } = await import("../store/index.js");
    if (!this.hasStore)
      throw new NotFoundError(
        `a session ${JSON.stringify(reference)}`,
        "go to the folder of the program, or name its store: rath list --store sqlite:FILE",
        `: there is no store at ${plain(this.url)}`,
      );
    const store = await this.store();
    // A name that begins with a dash is typed as a file that does: ./-name.
    const isDashed = reference.startsWith("./-") && (await store.head(reference)) === undefined;
    return findSession(store, isDashed ? reference.slice(2) : reference);
  }

  /** The sessions that were named, by their names, or by their ids where they have none. */
  async called(references: readonly string[]): Promise<readonly string[]> {
    const found = await Promise.all(references.map((reference) => this.find(reference)));
    return found.map(({ id, name = id }) => name);
  }

  /** The default principal: the user of this machine. */
  get person(): Principal {
    let login = "";
    try {
      login = userInfo().username;
    } catch {
      // There are containers whose user has no name.
    }
    const name = login.replaceAll(/[^\w.-]/g, "");
    return name === "" ? "user" : `user:${name}`;
  }

  /** A line (or several) for the person; nothing with --json. */
  say(text = ""): void {
    if (!this.json) this.streams.stdout.write(`${text}\n`);
  }

  /** Text that may be long: waits until the reader has taken it in. */
  async write(text: string): Promise<void> {
    const { stdout } = this.streams;
    if (!stdout.write(text) && !stdout.closed) await once(stdout, "drain");
  }

  /** The one document of --json; nothing without. */
  tell(value: unknown): void {
    if (this.json) this.streams.stdout.write(`${JSON.stringify(value)}\n`);
  }

  /** Where a long piece of work stands: overwritten by the next one, and seen on a terminal only. */
  progress(text: string): void {
    if (!this.#isFollowed) return;
    const line = text.slice(0, Math.max(10, (this.streams.stderr.columns || 80) - 1));
    this.streams.stderr.write(`\r\u001b[2K${line}`);
    this.#shown = true;
  }

  /** Shows how many facts, lines, … were read. */
  reading(noun: string): (count: number) => void {
    return (count) => this.progress(`${count.toLocaleString("en")} ${noun} …`);
  }

  /** Takes the last progress away. */
  clear(): void {
    if (this.#shown) this.streams.stderr.write("\r\u001b[2K");
    this.#shown = false;
  }

  /** The commands that can be typed next. */
  hint(...commands: readonly string[]): void {
    if (this.json || this.quiet || commands.length === 0) return;
    const typed = commands.map((command) => this.typed(command));
    this.streams.stdout.write(`\n${this.dim("next:")} ${typed.join(`\n${this.dim("   or:")} `)}\n`);
  }

  /** A text with its commands as they can be pasted here: through npm where it takes that, and on the same store. */
  typed(text: string): string {
    return typedCommands(plain(text), this.#named);
  }

  readonly bold: Paint = (text) => this.#paint(1, 22, text);
  readonly dim: Paint = (text) => this.#paint(2, 22, text);
  readonly red: Paint = (text) => this.#paint(31, 39, text);
  readonly green: Paint = (text) => this.#paint(32, 39, text);
  readonly yellow: Paint = (text) => this.#paint(33, 39, text);
  readonly cyan: Paint = (text) => this.#paint(36, 39, text);

  /** The status of a run, in its colour. */
  status(status: Status, width = 0): string {
    const colours = {
      finished: "green",
      failed: "red",
      cancelled: "red",
      waiting: "yellow",
      open: "dim",
    } as const;
    return this[colours[status]](status.padEnd(width));
  }
  /** An id as far as people need it. */
  id(id: FactId): string {
    return this.yellow(id.slice(0, 12));
  }

  /** Whether a person looks at what is written, and not a program. */
  get isWatched(): boolean {
    return this.streams.stdout.isTTY === true || this.#isColoured;
  }

  get columns(): number {
    return this.streams.stdout.columns || 100;
  }

  /** The columns that a row may take: those of the terminal, and without one, or with --wide, as many as it needs. */
  room(input: Input): number {
    const { stdout } = this.streams;
    return stdout.isTTY === true && input.options.wide !== true
      ? stdout.columns || 80
      : Number.POSITIVE_INFINITY;
  }

  async close(): Promise<void> {
    this.clear();
    for (const rath of this.#raths) await rath.close();
    await (await this.#store?.catch(() => undefined))?.close();
  }

  get #isFollowed(): boolean {
    return !this.json && !this.quiet && this.streams.stderr.isTTY === true && !process.env.CI;
  }

  #paint(on: number, off: number, text: string): string {
    return this.#isColoured ? `\u001b[${on}m${text}\u001b[${off}m` : text;
  }

  get #isColoured(): boolean {
    if (process.env.NO_COLOR) return false;
    if (process.env.FORCE_COLOR && process.env.FORCE_COLOR !== "0") return true;
    return this.streams.stdout.isTTY === true && process.env.TERM !== "dumb";
  }
}

/** The store of `--store`, where the next command needs it again, as it may be shown. */
export function namedStore(given: string | undefined): string | undefined {
  return given === undefined || given === process.env.RATH_STORE ? undefined : shownUrl(given);
}

/** Quoted words are passed over: a session may be called "rath list". */
const COMMANDS =
  /(?<=[\s(])(\$?'(?:[^'\\\n]|\\.|'\\'')*'|"[^"\n]*")|(?<![\w./-]|npx )rath ([a-z]+)(?![\w-])([^;\n]*--store)?/g;

/** A text in which every `rath COMMAND` is written as the user has to type it. */
export function typedCommands(text: string, store: string | undefined): string {
  const program = commandOf(process.env);
  const option = store === undefined ? "" : ` --store ${quoted(store)}`;
  return text.replace(COMMANDS, (found, words?: string, command?: string, named = "") =>
    words !== undefined ? found : `${program} ${command}${named === "" ? option : named}`,
  );
}

/** Through npm the folder of its programs is on the path of this process only: the user has to go through npm again. */
function commandOf({
  npm_execpath: npm,
  PATH = "",
}: {
  readonly [name: string]: string | undefined;
}): string {
  const isThere = PATH.split(delimiter).some(
    (folder) => folder !== "" && existsSync(resolve(folder, "rath")),
  );
  return npm === undefined && isThere ? "rath" : "npx rath";
}
