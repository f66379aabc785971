import { type Json, RathError } from "../session/index.js";

/** The command line cannot be understood: exit code 2. */
export class UsageError extends RathError {
  constructor(problem: string, hint: string, data: { readonly [key: string]: Json } = {}) {
    super("usage", problem, { hint, data });
  }
}

/** A file that was named on the command line and cannot be read. */
export function unreadable(file: string, cause: unknown, what = ""): RathError {
  const { code, message } = cause as NodeJS.ErrnoException;
  return new RathError("file-unreadable", `Cannot read ${what}${file}: ${code ?? message}.`, {
    hint: "check the path",
    data: { file },
    cause,
  });
}

/** The same error with another hint: on a command line, what to type in place of what to program. */
export function withHint(error: RathError, hint: string): RathError {
  const [message = ""] = error.message.split("\n  hint: ");
  return new RathError(error.code, message, { hint, data: error.data, cause: error });
}
