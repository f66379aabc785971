import { type Json, RathError } from "../../session/index.js";

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
