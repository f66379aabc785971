import { type Json, RathError, thrownMessage } from "../../session/index.js";
import { defined } from "../../util/index.js";

/**
 * What is wrong with a store that exists elsewhere: it is not there, nothing in it can be read, it has no such columns, it
 * broke off, or whoever asked does not want it any more.
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
  const words = thrownMessage(error);
  return (words.split("\n")[0] ?? "").slice(0, 300).toWellFormed();
}
