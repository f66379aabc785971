import { FencedError } from "./error.js";
import type { Shelf } from "./shelf.js";

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

  constructor(shelf: Shelf, name: string, owner: string, epoch: number, milliseconds: number) {
    this.#shelf = shelf;
    this.name = name;
    this.owner = owner;
    this.epoch = epoch;
    this.#milliseconds = milliseconds;
    Object.freeze(this);
  }

  /** Keeps the lease for as long again. Throws a `FencedError` when someone took it over. */
  async renew(): Promise<void> {
    if (await this.#shelf.extend(this.name, this.epoch, Date.now() + this.#milliseconds)) return;
    throw new FencedError(this.name, this.epoch, await this.#shelf.name(this.name));
  }

  /** Gives the lease back: it passes no fence from then on. Nothing happens when it is someone else's by now. */
  async release(): Promise<void> {
    await this.#shelf.extend(this.name, this.epoch, 0);
  }
}
