import type { FactId, Json } from "../session/index.js";
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
  /** Takes one away: it was revoked, has expired, or was undone. One that is not there is none. */
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

/** Something that is found there. What we have put there says which memory it is; the rest is somebody else's. */
export type Found = {
  readonly address: string;
  readonly text: string;
  /** From 0 to 1. */
  readonly score: number;
  readonly memory?: FactId;
  readonly parts?: Json;
};
