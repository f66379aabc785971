import type { FactId } from "../../session/index.js";
import type { Erasure, Finding } from "../../store/index.js";
import type { HeadSignature } from "../proof/index.js";

/** Something that is not as it was written, and exactly where as far as that can be known. */
export type Flaw = Finding & {
  /** The part of a bundle: "about", "lines", "view", "keys", "seal", "digest", "signatures". */
  readonly section?: string;
  /** The line of the file, from 1, and where it begins, from 0. */
  readonly line?: number;
  readonly offset?: number;
  readonly fact?: FactId;
  readonly type?: string;
};

/** Whether a key is one's own, trusted, given for this verification, or known from nothing but what it signed. */
export type Standing = "own" | "trusted" | "given" | "unknown";

/** A signature of a head, with the standing of its key. */
export type Signature = HeadSignature & { readonly standing: Standing };

/** The result of a verification. */
export type Verified = {
  readonly kind: "lines" | "bundle" | "store" | "session";
  /** No findings, and at least one fact. */
  readonly intact: boolean;
  readonly facts: number;
  readonly blobs: number;
  readonly erased: number;
  readonly findings: readonly Flaw[];
  /** How many findings are not in the list. */
  readonly more: number;
  readonly heads: readonly FactId[];
  readonly erasures: readonly Erasure[];
  /** The heads that were signed, newest last. */
  readonly signatures: readonly Signature[];
  /** Notices that are not faults. */
  readonly notices: readonly string[];
};

/** At most so many findings are listed: a file of garbage has one in each line. */
const MOST = 1000;

/** Collects findings; beyond a number of them it only counts. */
export class Findings {
  readonly list: Flaw[] = [];
  more = 0;

  get count(): number {
    return this.list.length + this.more;
  }

  /** Whether so much is wrong that looking on would tell nobody anything. */
  get isFull(): boolean {
    return this.list.length >= MOST;
  }

  add(flaw: Flaw): void {
    if (this.list.length < MOST) this.list.push(flaw);
    else this.more += 1;
  }
}

/** Said where something is wrong and a signature is good all the same: a reader must not take the rest for sound. */
export function signedAnyway(findings: Findings, signatures: readonly HeadSignature[]): readonly string[] {
  return findings.count > 0 && signatures.some(({ verdict }) => verdict === "good")
    ? [
        "a good signature says what was signed, not that it is here: this record is not intact, and what is wrong may lie before what was signed",
      ]
    : [];
}
