import { type FactId, type Json, RathError } from "../session/index.js";
import type { Memory } from "./state.js";

/**
 * Another system that keeps the texts and finds them: OpenViking, a memory server over MCP. What is remembered, why, by
 * whom, and what became of it stays in the space, in our record: whatever is asked about a memory is asked there.
 */
export interface Backend {
  /** With its kind and where it is; on the record with every reading. Never a secret. */
  readonly name: string;
  /** Puts a memory there, or its newer text, and says by what address it is found. The same again does no harm. */
  keep(memory: Memory, context: BackendContext): Promise<Kept>;
  /** The address at which a memory of a space is kept. */
  addressOf(memory: FactId, space: string): string;
  /** Takes one away: it was revoked, has expired, or was undone. A missing one is not an error. */
  drop(address: string, context: BackendContext): Promise<void>;
  find(
    query: string,
    options: { readonly limit: number },
    context: BackendContext,
  ): Promise<readonly Found[]>;
}

export type BackendContext = {
  readonly signal: AbortSignal;
  /** The value of a secret that the runtime was given. */
  secret(name: string): string;
};

export type Kept = { readonly address: string };

/** A text that was found there. Texts that we keep there name their memory; the others belong to other programs. */
export type Found = {
  readonly address: string;
  readonly text: string;
  /** From 0 to 1. */
  readonly score: number;
  readonly memory?: FactId;
  readonly parts?: Json;
};

/**
 * The fault of the other system: it is unreachable, refused, does not have the item, its answer
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
  unreachable: "start it, and check its address; the memories themselves are in the space",
  refused: "read what it says: the key, the account or the address is not what it wants",
  "not-found": "look at what is there with ls, or keep the memory again",
  malformed: "look whether something else answers at that address, or another version of it",
  "too-large": "ask for less, or allow longer answers with maxAnswer",
  timeout: "ask again, or allow more time with timeout",
  stopped: "ask again: the caller stopped waiting for this answer",
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

/** An untrusted message, shortened, on one line. */
function brief(text: string): string {
  const line = text
    .slice(0, WORDS * 4)
    .toWellFormed()
    .replace(/[\s\p{Cc}]+/gu, " ")
    .trim()
    .replace(/\.$/, "");
  return line.length > WORDS ? `${line.slice(0, WORDS).toWellFormed()}…` : line;
}
