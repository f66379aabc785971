import { type Json, RathError } from "../../session/index.js";

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
