import { type FactId, type Json, RathError } from "../session/index.js";

/** Why an operation on a memory was refused. */
export type MemoryFault =
  | "evidence"
  | "source"
  | "scope"
  | "text"
  | "unknown"
  | "over"
  | "held"
  | "refused"
  | "busy"
  | "option";

/** An operation on a memory space was refused. Nothing was written. */
export class MemoryRefusedError extends RathError {
  constructor(
    fault: MemoryFault,
    use: string,
    reason: string,
    hint: string,
    data: { readonly [key: string]: Json } = {},
  ) {
    super(`memory-${fault}`, `Cannot ${use}: ${reason}.`, { hint, data: { reason, ...data } });
  }
}

export type RefuseMemory = (
  reason: string,
  hint: string,
  data?: { readonly [key: string]: Json },
) => MemoryRefusedError;

/** Makes the errors of one operation: `throw refuse("its text is empty", 'text: "…"')`. */
export function refusing(use: string, fault: MemoryFault = "option"): RefuseMemory {
  return (reason, hint, data) => new MemoryRefusedError(fault, use, reason, hint, data);
}

/** The memory is not in the space, or was removed from it. */
export class UnknownMemoryError extends MemoryRefusedError {
  constructor(use: string, space: string, memory: FactId, hint: string) {
    super("unknown", use, `the memory ${memory.slice(0, 12)} is not in the space "${space}"`, hint, {
      space,
      memory,
    });
  }
}
