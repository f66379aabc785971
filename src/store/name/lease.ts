import { FencedError } from "../error.js";
import type { NameRecord, Shelf } from "../shelf.js";

/**
 * The right to be the only writer of a name. Every taking raises the name's epoch, and every write of a
 * holder carries its own: whoever was replaced while it slept is refused when it wakes.
 */
export class Lease {
  readonly name: string;
  readonly owner: string;
  readonly epoch: number;
  readonly #shelf: Shelf;
  readonly #milliseconds: number;
  #since: Moment;

  /** @param since when the lease was asked for: its time runs from then. */
  constructor(
    shelf: Shelf,
    name: string,
    owner: string,
    epoch: number,
    milliseconds: number,
    since: Moment = momentNow(),
  ) {
    this.#shelf = shelf;
    this.name = name;
    this.owner = owner;
    this.epoch = epoch;
    this.#milliseconds = milliseconds;
    this.#since = since;
    Object.freeze(this);
  }

  /**
   * Whether at least half of its time is left, by the clock on the wall and by the one that only counts forward: a
   * process that was stopped, or a machine that slept, finds that it must ask again.
   */
  get isFresh(): boolean {
    const now = momentNow();
    const wall = now.wall - this.#since.wall;
    // A clock that was set back says nothing of how old the lease is.
    return wall >= 0 && Math.max(wall, now.steady - this.#since.steady) < this.#milliseconds / 2;
  }

  /** Keeps the lease for as long again. Throws a `FencedError` when someone took it over. */
  async renew(): Promise<void> {
    const asked = momentNow();
    if (await this.#shelf.extend(this.name, this.epoch, asked.wall + this.#milliseconds)) {
      this.#since = asked;
      return;
    }
    throw new FencedError(this.name, this.epoch, await this.#shelf.name(this.name));
  }

  /** Gives the lease back: it passes no fence from then on. Nothing happens when it is someone else's by now. */
  async release(): Promise<void> {
    try {
      await this.#shelf.extend(this.name, this.epoch, 0);
    } catch (error) {
      // A full disk, say. Nobody writes under this lease again, so this process need not wait for it to end.
      givenUp.add(keyOf(this));
      throw error;
    }
  }
}

/** A time by both clocks: the wall's counts while a machine sleeps, the steady one cannot be set. */
export type Moment = { readonly wall: number; readonly steady: number };

export function momentNow(): Moment {
  return { wall: Date.now(), steady: performance.now() };
}

/** The leases of this process that could not be given back. */
const givenUp = new Set<string>();

/** Whether a lease was of this process, which does not use it any longer. */
export function isGivenUp(record: NameRecord): boolean {
  return givenUp.has(keyOf(record));
}

/** Every taking of a name has another epoch; names of two stores may have the same. */
function keyOf({ name, owner, epoch }: Pick<NameRecord, "name" | "owner" | "epoch">): string {
  return `${owner} ${epoch} ${name}`;
}
