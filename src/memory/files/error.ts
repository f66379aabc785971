import { type Json, RathError } from "../../session/index.js";

/** What stands in the way of a command on memory files. */
export type FileFault = "path" | "missing" | "exists" | "command" | "text" | "line" | "size" | "count";

/** A command on memory files that cannot be done. Its message is what the model reads. Nothing was written. */
export class MemoryFileError extends RathError {
  constructor(fault: FileFault, message: string, hint: string, data: { readonly [key: string]: Json } = {}) {
    super(`memory-file-${fault}`, message, { hint, data });
  }
}
