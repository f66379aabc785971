import { type FactId, type Json, RathError } from "../session/index.js";

/** What stands in the way of remembering or recalling something. */
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

/** A deed in a memory space that cannot be done as it was asked for. Nothing was written. */
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

/** A memory that is not in a space, or not any more. */
export class UnknownMemoryError extends MemoryRefusedError {
  constructor(use: string, space: string, memory: FactId, hint: string) {
    super("unknown", use, `the memory ${memory.slice(0, 12)} is not in the space "${space}"`, hint, {
      space,
      memory,
    });
  }
}
