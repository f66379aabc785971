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

/**
 * Waits so long, and then asks it to stop. What must not be done twice is waited for a little more: what it says now
 * is better than not to know.
 */
export async function timed<Value>(
  work: Promise<Value>,
  milliseconds: number,
  controller: AbortController,
  careful: boolean,
): Promise<Value> {
  if (milliseconds === Number.POSITIVE_INFINITY) return work;
  const late = Symbol("late");
  const first = await within(work, milliseconds, late);
  if (first !== late) return first as Value;
  controller.abort(new TimeoutError(milliseconds, true));
  // Nobody will look at what it throws later.
  work.catch(() => {});
  if (!careful) throw new TimeoutError(milliseconds, true);
  let running = true;
  const last = await within(
    work.catch(() => {
      running = false;
      return late;
    }),
    GRACE,
    late,
  );
  if (last !== late) return last as Value;
  throw new TimeoutError(milliseconds, running);
}

async function within<Value, Late>(
  work: Promise<Value>,
  milliseconds: number,
  late: Late,
): Promise<Value | Late> {
  let timer: NodeJS.Timeout | undefined;
  const rings = new Promise<Late>((resolve) => {
    timer = setTimeout(resolve, Math.min(milliseconds, LONGEST_TIMER), late);
  });
  try {
    return await Promise.race([work, rings]);
  } finally {
    clearTimeout(timer);
  }
}
