import { type Json, RathError } from "../session/index.js";

/**
 * What went wrong at the other system: nobody is there, it does not want to, what was asked for is not there, its answer
 * is missing or too long, it took too long, or the caller has given up; or the npm package of its client is not installed.
 */
export type BackendFault =
  | "unreachable"
  | "refused"
  | "not-found"
  | "malformed"
  | "too-large"
  | "timeout"
  | "stopped"
  | "not-installed";

const HINTS: { readonly [fault in BackendFault]: string } = {
  unreachable:
    "start it, and look at its address; what is remembered is in the space, whatever becomes of it",
  refused: "read what it says: the key, the account or the address is not what it wants",
  "not-found": "look at what is there with ls, or keep the memory again",
  malformed: "look whether something else answers at that address, or another version of it",
  "too-large": "ask for less, or allow longer answers with maxAnswer",
  timeout: "ask again, or allow more time with timeout",
  stopped: "ask again: nobody waits for this answer any more",
  "not-installed": "install the package that the message names",
};

/** Another system that was to keep or find memories did not. Our own record is as it was. */
export class BackendError extends RathError {
  readonly fault: BackendFault;

  constructor(
    backend: string,
    fault: BackendFault,
    use: string,
    reason: string,
    data: { readonly [key: string]: Json } = {},
    hint = HINTS[fault],
  ) {
    const said = brief(reason);
    super("memory-backend", `Cannot ${use} at ${backend}: ${said}.`, {
      hint,
      data: { backend, fault, reason: said, ...data },
    });
    this.fault = fault;
  }
}

const WORDS = 300;

/** What a stranger says, as much as a message can hold, on one line. */
function brief(text: string): string {
  const line = text
    .slice(0, WORDS * 4)
    .toWellFormed()
    .replace(/[\s\p{Cc}]+/gu, " ")
    .trim()
    .replace(/\.$/, "");
  return line.length > WORDS ? `${line.slice(0, WORDS).toWellFormed()}…` : line;
}
