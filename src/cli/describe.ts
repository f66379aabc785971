import { describeFact, type Fact, lineOf } from "../session/index.js";

/** A fact in a few words, for a row of the log. */
export function describe(fact: Fact, most = 80): string {
  return `${lineOf(fact.type, most)} · ${describeFact(fact, { most, each: most })}`;
}
