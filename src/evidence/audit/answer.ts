import type { FactId, Json, Principal } from "../../session/index.js";

/** What the record says about a question. Every sentence of it is a claim, and every claim names the facts that prove it. */
export type Answer = {
  readonly question: string;
  /** The claims, one after the other, as plain sentences. */
  readonly answer: string;
  readonly claims: readonly Claim[];
  /** The facts that the claims name, each once, in the order in which they are named. */
  readonly facts: readonly Proof[];
  /** What the record cannot say. */
  readonly gaps: readonly string[];
  /** The same for programs, and what is too long for sentences: a prompt, the lines of a file, counts. */
  readonly detail?: Json;
};

export type Claim = { readonly text: string; readonly facts: Named };

/** A claim without a fact is an opinion, so an empty list does not compile. */
export type Named = readonly [FactId, ...FactId[]];

/** A fact as an answer shows it. */
export type Proof = {
  /** SHA-256 of the record line. */
  readonly id: FactId;
  readonly type: string;
  readonly at: string;
  readonly by: Principal;
  readonly run?: string;
  readonly branch?: string;
  /** Some words of it. Content that was erased reads as such, with who erased it and why. */
  readonly excerpt: string;
  /** The record line: `printf %s "$line" | sha256sum` gives the id. Left out where it is longer than 16 KiB. */
  readonly line?: string;
};
