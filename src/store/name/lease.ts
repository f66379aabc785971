import { acquire, extend } from "../commit.js";
import { FencedError, misuse } from "../error.js";
import type { NameRecord, Shelf } from "../shelf.js";
import type { LeaseOptions } from "../store.js";
import { checkOwner } from "./move.js";
import { checkNotForged, isDead, newOwner } from "./owner.js";

const LEASE_MS = 30_000;
const YEAR_MS = 366 * 24 * 60 * 60 * 1000;
/** How often the lease of a dead holder is given back before it is called held. */
const ATTEMPTS = 3;

/**
 * The right to be the only writer of a name. Every taking raises the name's epoch, and every write of a
 * holder carries its own: a holder that was replaced while it slept is refused when it wakes.
 */
export class Lease {
  readonly name: string;
  readonly owner: string;
  readonly epoch: number;
  readonly #shelf: Shelf;
  readonly #milliseconds: number;
  #since: Moment;

  /** @param since when the lease was asked for: its time runs from then. */
  constructor(shelf: Shelf, taken: NameRecord, owner: string, milliseconds: number, since: Moment) {
    this.#shelf = shelf;
    this.name = taken.name;
    this.owner = owner;
    this.epoch = taken.epoch;
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
    if (
      await this.#shelf.write(
        ({ names }, now) => extend(names, this.name, this.epoch, now + this.#milliseconds),
        [this.name],
      )
    ) {
      this.#since = asked;
      return;
    }
    throw new FencedError(this.name, this.epoch, this.#shelf.names.get(this.name));
  }

  /** Gives the lease back: it passes no fence from then on. Nothing happens when it is someone else's by now. */
  async release(): Promise<void> {
    try {
      await this.#shelf.write(({ names }) => extend(names, this.name, this.epoch, 0), [this.name]);
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

/** Takes the lease of a name, also from a holder that is certainly dead. */
export async function takeLease(shelf: Shelf, name: string, options: LeaseOptions): Promise<Lease> {
  const { owner = newOwner(), milliseconds = LEASE_MS } = options;
  checkOwner(owner);
  checkNotForged(owner);
  if (typeof milliseconds !== "number" || !(milliseconds > 0 && milliseconds <= YEAR_MS))
    throw misuse(
      `lease "${name}" for ${String(milliseconds)} milliseconds`,
      "give more than 0 and at most a year; a lease that is needed longer is renewed",
    );
  for (let attempt = 1; ; attempt++) {
    const asked = momentNow();
    const taken = await shelf.write(
      ({ names }, now) => acquire(names, name, owner, now + milliseconds, now),
      [name],
    );
    if (taken !== undefined) return new Lease(shelf, taken, owner, milliseconds, asked);
    const holder = shelf.names.get(name);
    const isFree = holder?.owner !== undefined && (isGivenUp(holder) || isDead(holder.owner));
    if (attempt === ATTEMPTS || !isFree) throw new FencedError(name, null, holder);
    // Given back for the dead. Of those who find it dead at once one does that, since the epoch rises with it.
    await shelf.write(({ names }) => extend(names, name, holder.epoch, 0), [name]);
  }
}
