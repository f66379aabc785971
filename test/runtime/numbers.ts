/** Numbers from 0 up to 1 that a seed decides, so that a failure can be had again. */
export function numbersFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The campaign that OPENRATH_SEED names, from OPENRATH_PATH on: how a failure is looked at again. Shrinking would take hours. */
export function replaySettings(): { seed?: number; path?: string; endOnFailure: true } {
  const { OPENRATH_SEED: seed, OPENRATH_PATH: path } = process.env;
  return {
    endOnFailure: true,
    ...(seed !== undefined && { seed: Number(seed) }),
    ...(path !== undefined && { path }),
  };
}
