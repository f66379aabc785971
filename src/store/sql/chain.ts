import { DamageError } from "../error.js";

/** A fact's number in the database: which chain, and which place in it. */
export type Place = number;

const PLACES = 2 ** 26;
export const chainOf = (n: Place): number => Math.floor(n / PLACES);
export const placeIn = (n: Place): number => n % PLACES;
export const firstOf = (chain: number): Place => chain * PLACES;
export const isLastPlace = (n: Place): boolean => placeIn(n) === PLACES - 1;

/**
 * A past, told as the last place reached in each chain. A chain is a stretch along first parents, so a reader that
 * has seen a place has seen all before it: a million facts are a handful of numbers.
 */
export type Past = Map<number, Place>;
/** A stretch of one chain, both ends included. */
export type Range = { readonly from: Place; readonly to: Place };

/** A further parent of a merge. */
export type MergeParent = { readonly child: Place; readonly parent: Place };

/** The tables that chains are in. */
export interface ChainTables {
  /** Where a chain branched off; null at a root. */
  base(chain: number): Place | null;
  /** The further parents of merges in a range, in order. */
  mergesIn(range: Range): readonly MergeParent[];
}

/** The questions about descent, answered from chains and merges alone. */
export class Chains {
  readonly #tables: ChainTables;

  constructor(tables: ChainTables) {
    this.#tables = tables;
  }

  base(chain: number): Place | null {
    const base = this.#tables.base(chain);
    // A chain is always younger than the one it left; where it is not, a walk would go round in circles.
    if (base !== null && !(chainOf(base) < chain))
      throw new DamageError(`chain ${chain}`, "it does not begin where it was written");
    return base;
  }

  mergesIn(range: Range): readonly MergeParent[] {
    return this.#tables.mergesIn(range);
  }

  /** Adds the past of some places to `past`. */
  reach(places: readonly Place[], past: Past = new Map()): Past {
    const open = [...places];
    for (let place = open.pop(); place !== undefined; place = open.pop()) {
      const chain = chainOf(place);
      const reached = past.get(chain);
      if (reached !== undefined && reached >= place) continue;
      past.set(chain, place);
      const base = reached === undefined ? this.base(chain) : null;
      if (base !== null) open.push(base);
      for (const merge of this.mergesIn({
        from: reached === undefined ? firstOf(chain) : reached + 1,
        to: place,
      }))
        open.push(merge.parent);
    }
    return past;
  }

  /** Whether `ancestor` is in the past of one of `places`, or one of them. */
  descends(places: readonly Place[], ancestor: Place): boolean {
    // Most writers go on in the chain they were in.
    if (places.some((place) => chainOf(place) === chainOf(ancestor) && place >= ancestor)) return true;
    const reached = this.reach(places).get(chainOf(ancestor));
    return reached !== undefined && reached >= ancestor;
  }

  /** The stretches of the past of `heads` that are not in `done`, in the order of `Session.history()`; they are in it then. */
  *ranges(heads: readonly Place[], done: Past = new Map()): Generator<Range> {
    for (const head of heads) {
      // `from` is where the frame's chain goes on; its merges are met one by one, after what they merge in.
      const stack: {
        readonly to: Place;
        readonly merged?: Place;
        started: boolean;
        merges: MergeParent[];
      }[] = [{ to: head, started: false, merges: [] }];
      const merging = new Set<Place>();
      for (let frame = stack.at(-1); frame !== undefined; frame = stack.at(-1)) {
        const chain = chainOf(frame.to);
        const reached = done.get(chain);
        if (reached !== undefined && reached >= frame.to) {
          if (frame.merged !== undefined) merging.delete(frame.merged);
          stack.pop();
          continue;
        }
        const from = reached === undefined ? firstOf(chain) : reached + 1;
        if (!frame.started) {
          frame.started = true;
          frame.merges = [...this.mergesIn({ from, to: frame.to })].reverse();
          const base = reached === undefined ? this.base(chain) : null;
          if (base !== null) {
            stack.push({ to: base, started: false, merges: [] });
            continue;
          }
        }
        const merge = frame.merges.at(-1);
        if (merge === undefined) {
          yield { from, to: frame.to };
          done.set(chain, frame.to);
          if (frame.merged !== undefined) merging.delete(frame.merged);
          stack.pop();
          continue;
        }
        if (from < merge.child) {
          yield { from, to: merge.child - 1 };
          done.set(chain, merge.child - 1);
        }
        frame.merges.pop();
        if (merging.has(merge.child))
          throw new DamageError(`merge ${merge.child}`, "it merges what comes from it");
        merging.add(merge.child);
        stack.push({ to: merge.parent, merged: merge.child, started: false, merges: [] });
      }
    }
  }
}
