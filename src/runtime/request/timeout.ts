/** An attempt had no more time. */
export class TimeoutError extends Error {
  override readonly name = "TimeoutError";
  readonly code = "timeout";
  /** Whether it went on whatever its signal said, so that it may still happen. */
  readonly running: boolean;

  constructor(milliseconds: number, running: boolean) {
    super(`no answer within ${milliseconds} ms`);
    this.running = running;
  }
}

/** Milliseconds that an effect has to stop in, before it is taken to go on. */
const GRACE = 1_000;

/** Node's timers take no more milliseconds: a longer one would ring at once. */
export const LONGEST_TIMER = 2 ** 31 - 1;

const LATE: unique symbol = Symbol("late");

/**
 * Waits for a time, and then asks the work to stop. A `careful` call is work that must not be done twice: it gets a little more
 * time, because its result now is better than not to know.
 */
export async function timed<Value>(
  work: Promise<Value>,
  milliseconds: number,
  controller: AbortController,
  careful: boolean,
): Promise<Value> {
  const first = await within(work, milliseconds);
  if (first !== LATE) return first;
  let running = true;
  controller.abort(new TimeoutError(milliseconds, true));
  const stopping = work.catch((): typeof LATE => {
    running = false;
    return LATE;
  });
  const last = careful ? await within(stopping, GRACE) : LATE;
  if (last !== LATE) return last;
  throw new TimeoutError(milliseconds, running);
}

async function within<Value>(work: Promise<Value>, milliseconds: number): Promise<Value | typeof LATE> {
  let timer: NodeJS.Timeout | undefined;
  const rings = new Promise<typeof LATE>((resolve) => {
    timer = setTimeout(resolve, Math.min(milliseconds, LONGEST_TIMER), LATE);
  });
  try {
    return await Promise.race([work, rings]);
  } finally {
    clearTimeout(timer);
  }
}
