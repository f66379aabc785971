import { type Json, RathError } from "../../session/index.js";
import { firstLine, isObject, unknownOption } from "../../util/index.js";

/** A key, a signature, a checkpoint or a proof that cannot be made, read or relied on. */
export class ProofError extends RathError {
  constructor(
    code: "key-refused" | "note-refused" | "proof-refused" | "sign-refused" | "log-damaged" | "log-busy",
    message: string,
    hint: string,
    more: { readonly data?: { [key: string]: Json }; readonly cause?: unknown } = {},
  ) {
    super(code, message, { hint, data: more.data ?? {}, cause: more.cause });
  }
}

export function keyRefused(message: string, hint: string, cause?: unknown): ProofError {
  return new ProofError("key-refused", message, hint, { cause });
}

/** Refuses options that do not exist: a misspelt option would have no effect, and its check would not be made. */
export function requireOptions(options: object, known: readonly string[], call: string): void {
  if (!isObject(options))
    throw new RathError("option-refused", `The options of ${call} must be an object.`, {
      hint: `the options are ${known.join(", ")}`,
    });
  const unknown = unknownOption(options, known);
  if (unknown === undefined) return;
  const option = unknown.name.slice(0, 60);
  throw new RathError("option-refused", `${call} has no option ${JSON.stringify(option)}.`, {
    hint: unknown.hint,
    data: { option },
  });
}

/** The first line of what an error says. */
export function reasonOf(error: unknown): string {
  return firstLine(error instanceof Error ? error.message : String(error));
}
