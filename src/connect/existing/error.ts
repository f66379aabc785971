import { type Json, RathError, thrownMessage } from "../../session/index.js";
import { defined, firstLine } from "../../util/index.js";

/**
 * The fault of an existing store: it is missing, unreadable, lacks the columns,
 * broke off, or the caller stopped it.
 */
export type ExistingFault = "option" | "missing" | "unreadable" | "columns" | "broken" | "stopped";

/** Records of another store cannot be linked, or looked at again. What was linked before stays as it is. */
export class ExistingError extends RathError {
  readonly fault: ExistingFault;

  constructor(
    fault: ExistingFault,
    use: string,
    reason: string,
    hint: string,
    more: { readonly data?: { readonly [key: string]: Json }; readonly cause?: unknown } = {},
  ) {
    const said = reason.slice(0, 500).toWellFormed();
    super("memory-existing", `Cannot ${use}: ${said}.`, {
      hint,
      data: { fault, reason: said, ...more.data },
      ...defined({ cause: more.cause }),
    });
    this.fault = fault;
  }
}

/** What an error says, on one line. */
export function reasonOf(error: unknown): string {
  return firstLine(thrownMessage(error)).slice(0, 300).toWellFormed();
}
