import { describeFact, type Fact, lineOf, textOf } from "../../session/index.js";

/** What a fact says, in a few words: its own words where it has some, else what happened. */
export function saidBy(fact: Fact, most = 120): string {
  const words = wordsOf(fact);
  return words === undefined ? describeFact(fact, { most }) : lineOf(textOf(words), most);
}

/** Words that stand for the fact: what was said, returned or remembered, and why a memory was changed. */
function wordsOf(fact: Fact): unknown {
  switch (fact.type) {
    case "session-start":
    case "memory-write":
    case "memory-revise":
      return fact.text;
    case "message-say":
    case "model-reply":
      return fact.content;
    case "tool-result":
      return fact.output;
    case "step-result":
      return fact.value;
    case "memory-revoke":
    case "memory-promote":
    case "memory-expire":
      return fact.why;
    default:
      return undefined;
  }
}
