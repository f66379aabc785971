import type { FactId } from "../../session/index.js";
import { showValue } from "../../util/index.js";
import { misuse, StoreError } from "../error.js";
import type { MoveRecord, NameRecord, Shelf } from "../shelf.js";
import type { Name, NameMove, WatchOptions } from "../store.js";

/** How many moves are read at once. Where so many wait, those of one name that follow one another become one. */
const MOST = 1000;
/** A timer may not be longer; it only has to be there. */
const LONG_MS = 2 ** 31 - 1;

type Reader = {
  readonly resolve: (result: IteratorResult<NameMove, undefined>) => void;
  readonly reject: (error: unknown) => void;
};

/** The moves of names, one after the other, read from the log of the store. It lasts from the moment it is made until it is ended. */
export class Watch implements AsyncIterableIterator<NameMove> {
  readonly #shelf: Shelf;
  readonly #name: string | undefined;
  readonly #each: boolean;
  readonly #stop: () => void;
  /** The number of the last move that was read, and the moves of it that wait for a reader. */
  #n: number;
  #waiting: NameMove[] = [];
  #token: string;
  readonly #readers: Reader[] = [];
  #awake: NodeJS.Timeout | undefined;
  #ended = false;

  /** `left` is called once, when the watch is over. */
  constructor(
    shelf: Shelf,
    { name, from, each = false, signal }: WatchOptions,
    left: (watch: Watch) => void,
  ) {
    this.#shelf = shelf;
    this.#name = name;
    this.#each = each;
    this.#n = from === undefined ? shelf.names.newestMove() : moveOf(shelf, from);
    this.#token = from ?? tokenAt(shelf, this.#n);
    const stopListening = shelf.listen(() => this.#hear());
    this.#stop = () => {
      stopListening();
      signal?.removeEventListener("abort", this.end);
      left(this);
    };
    if (signal?.aborted) this.end();
    else signal?.addEventListener("abort", this.end, { once: true });
  }

  get token(): string {
    return this.#token;
  }

  next(): Promise<IteratorResult<NameMove, undefined>> {
    return new Promise((resolve, reject) => {
      this.#readers.push({ resolve, reject });
      this.#hear();
    });
  }

  async return(): Promise<IteratorResult<NameMove, undefined>> {
    this.end();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Ends the watch at once, also for readers that wait; moves that were not read yet can be read from its token on. */
  readonly end = (): void => {
    if (this.#ended) return;
    this.#ended = true;
    this.#waiting = [];
    this.#stop();
    this.#hear();
  };

  /** Gives readers what there is; while a server is away, nobody is held up. */
  #hear(): void {
    if (!this.#isWaiting()) this.#tell();
    // While someone waits to hear, a program that does nothing else must not come to its end.
    if (this.#readers.length > 0) this.#awake ??= setInterval(() => {}, LONG_MS);
    else {
      clearInterval(this.#awake);
      this.#awake = undefined;
    }
  }

  /** Whether the server is away; when it is back, readers are given what there is. */
  #isWaiting(): boolean {
    const ready = this.#ended ? undefined : this.#shelf.ready?.();
    ready?.then(
      () => this.#hear(),
      (error: unknown) => this.#fail(error),
    );
    return ready !== undefined;
  }

  #fail(error: unknown): void {
    this.#readers.shift()?.reject(error);
    this.end();
  }

  #tell(): void {
    try {
      while (this.#readers.length > 0) {
        if (this.#waiting.length === 0 && !this.#ended) this.#read();
        const value = this.#waiting.shift();
        if (value === undefined && !this.#ended) break;
        const reader = this.#readers.shift() as Reader;
        if (value === undefined) reader.resolve({ done: true, value: undefined });
        else {
          this.#token = value.token;
          reader.resolve({ done: false, value });
        }
      }
    } catch (error) {
      if (!this.#isWaiting()) this.#fail(error);
    }
  }

  /** Reads on in the log until there is a move that was asked for. */
  #read(): void {
    while (this.#waiting.length === 0) {
      const moves = this.#shelf.names.moves(this.#n, MOST);
      const last = moves.at(-1);
      if (last === undefined) return;
      if (moves[0]?.n !== this.#n + 1) throw tokenOld(this.#token);
      this.#n = last.n;
      const wanted = this.#name === undefined ? moves : moves.filter(({ name }) => name === this.#name);
      const told = this.#each || moves.length < MOST ? wanted : joined(wanted);
      this.#waiting = told.map(({ n, name, head, before }) => ({
        name,
        id: head,
        before,
        token: tokenOf(n, head),
      }));
      if (this.#waiting.length === 0) this.#token = tokenOf(last.n, last.head);
    }
  }
}

/** Successive moves of one name as one, from where the first began. */
function joined(moves: readonly MoveRecord[]): readonly MoveRecord[] {
  const told: MoveRecord[] = [];
  for (const move of moves) {
    const last = told.at(-1);
    if (last?.name === move.name) told[told.length - 1] = { ...move, before: last.before };
    else told.push(move);
  }
  return told;
}

/** The entry of a name in lists; none while it stands nowhere. */
export function nameOf({ name, head, epoch, owner, moved }: NameRecord): readonly Name[] {
  if (head === null) return [];
  return [{ name, id: head, epoch, ...(owner !== undefined && { owner }), token: tokenOf(moved, head) }];
}

/** The number of the move that a token names, to list names from. */
export function numberOf(token: string): number {
  const [, number] = TOKEN.exec(token) ?? [];
  if (number === undefined)
    throw misuse(`go on after ${showValue(token)}`, "give the token of a name or of a move, as it was told");
  return Number.parseInt(number, 36);
}

/** A move by its number and the beginning of where it led: the same number in another store is another token. */
function tokenOf(n: number, head: FactId | null): string {
  return `${n.toString(36)}-${head?.slice(0, 12) ?? ""}`;
}

const TOKEN = /^([0-9a-z]{1,10})-(?:[0-9a-f]{12})?$/;

function tokenAt(shelf: Shelf, n: number): string {
  const [move] = n === 0 ? [] : shelf.names.moves(n - 1, 1);
  return tokenOf(n, move?.n === n ? move.head : null);
}

/** The number of the move that a token names, if the log goes on from there. */
function moveOf(shelf: Shelf, token: string): number {
  const n = numberOf(token);
  const [first] = shelf.names.moves(n, 1);
  const isKnown = tokenAt(shelf, n) === token && (n > 0 || first === undefined || first.n === 1);
  if (!isKnown) throw tokenOld(token);
  return n;
}

function tokenOld(token: string): StoreError {
  return new StoreError(
    "token-old",
    `Cannot tell the moves since ${token}: the log of this store does not go back to it.`,
    "read anew: const watch = store.watch(), then store.names(), and go on from watch.token",
    { data: { token } },
  );
}
