import { type Json, RathError } from "../session/index.js";

/** The command line cannot be understood: exit code 2. */
export class UsageError extends RathError {
  constructor(problem: string, hint: string, data: { readonly [key: string]: Json } = {}) {
    super("usage", problem, { hint, data });
  }
}
