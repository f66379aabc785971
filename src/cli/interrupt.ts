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

/** Whether somebody pressed Ctrl-C while a command was listening. */
export function wasInterrupted(): boolean {
  return interrupted;
}
