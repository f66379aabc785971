import { RathError } from "../session/index.js";

/** A server that cannot be made of its options. */
export class ServerError extends RathError {
  constructor(reason: string, hint: string) {
    super("server-refused", `Cannot make a server: ${reason}.`, { hint, data: { reason } });
  }
}

/** A file of users that cannot be used, or a change of it that makes no sense. */
export class UserError extends RathError {
  constructor(reason: string, hint: string) {
    super("user-refused", `Cannot use the list of users: ${reason}.`, { hint, data: { reason } });
  }
}
