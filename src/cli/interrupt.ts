let interrupted = false;

/** Calls back when somebody presses Ctrl-C, until it is released. Elsewhere Ctrl-C ends the process, which shells show as 130. */
export function onInterrupt(call: () => void): () => void {
  const heard = (): void => {
    interrupted = true;
    call();
  };
  process.on("SIGINT", heard);
  return () => {
    process.off("SIGINT", heard);
  };
}

/** Waits until somebody presses Ctrl-C or ends the process politely, and returns the exit code: 130 or 0. */
export function untilInterrupted(): Promise<number> {
  return new Promise((resolve) => {
    const release = onInterrupt(() => end(130));
    const terminated = (): void => end(0);
    process.once("SIGTERM", terminated);
    function end(code: number): void {
      release();
      process.off("SIGTERM", terminated);
      resolve(code);
    }
  });
}

/** Whether somebody pressed Ctrl-C while a command was listening. */
export function wasInterrupted(): boolean {
  return interrupted;
}
