/** The caller's own signal: what it says is not ours to put into other words. */
export class Aborted extends Error {
  readonly reason: unknown;

  constructor(reason: unknown) {
    super("aborted");
    this.reason = reason;
  }
}

/** Acts with a signal that is given at the deadline, or when the caller's own is; neither is waited beyond. */
export async function timed<Value>(
  milliseconds: number,
  outer: AbortSignal | undefined,
  act: (signal: AbortSignal) => Promise<Value>,
  late: () => Error,
): Promise<Value> {
  if (outer?.aborted === true) throw new Aborted(outer.reason);
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let abort: (() => void) | undefined;
  try {
    const stopped = new Promise<never>((_, reject) => {
      const stop = (error: Error): void => {
        // First our own word: what the package says about the abort comes after it.
        reject(error);
        controller.abort(error);
      };
      if (milliseconds !== Number.POSITIVE_INFINITY) timer = setTimeout(() => stop(late()), milliseconds);
      abort = () => stop(new Aborted(outer?.reason));
      outer?.addEventListener("abort", abort, { once: true });
    });
    const work = act(controller.signal);
    work.catch(() => {});
    return await Promise.race([work, stopped]);
  } finally {
    clearTimeout(timer);
    if (abort !== undefined) outer?.removeEventListener("abort", abort);
  }
}

export async function pause(milliseconds: number): Promise<void> {
  await new Promise<void>((resolve) => setTimeout(resolve, milliseconds).unref());
}
