import { type Json, RathError } from "../../session/index.js";

/** A bundle that cannot be written, or cannot be relied on. */
export class BundleError extends RathError {
  constructor(message: string, hint: string, data: { [key: string]: Json } = {}) {
    super("bundle-refused", message, { hint, data });
  }
}
