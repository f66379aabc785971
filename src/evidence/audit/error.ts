import { type Json, RathError } from "../../session/index.js";
import { isObject, unknownOption } from "../../util/index.js";

type AuditCode =
  | "question-refused"
  | "step-unknown"
  | "message-unknown"
  | "file-unknown"
  | "retention-refused"
  | "retention-floor"
  | "erase-refused";

/** A question that the record cannot be asked, or a deed that a rule of the store forbids. */
export class AuditError extends RathError {
  constructor(code: AuditCode, message: string, hint: string, data: { [key: string]: Json } = {}) {
    super(code, message, { hint, data });
  }
}

/** Refuses options that do not exist: a misspelt option would have no effect. */
export function requireOptions(options: object, known: readonly string[], use: string): void {
  if (!isObject(options))
    throw new AuditError(
      "question-refused",
      `Cannot ${use}: the options must be an object.`,
      `the options are ${known.join(", ")}`,
    );
  const unknown = unknownOption(options, known);
  if (unknown === undefined) return;
  const option = unknown.name.slice(0, 80);
  throw new AuditError(
    "question-refused",
    `Cannot ${use}: there is no option ${JSON.stringify(option)}.`,
    unknown.hint,
    { option },
  );
}
