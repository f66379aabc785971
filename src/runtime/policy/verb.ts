import { wordsOf } from "./trusted-statements.js";

/**
 * Words that ask for the same kind of act, as people and tools name it. Only those forms that ask: "they sent me", "prices
 * increased" and "the updated list" ask for nothing. English only: in another language no act is recognised, and a person
 * is asked.
 */
const KINDS: readonly ReadonlySet<string>[] = [
  "send transfer pay payment refund reimburse wire remit forward email mail message dm write reply respond notify inform post publish announce submit deliver return",
  "delete remove cancel erase drop clear trash discard revoke unsubscribe uninstall kick ban",
  "create add schedule book booking reserve reservation set write append insert put upload save draft plan order buy purchase register",
  "update change modify edit adjust set move reschedule postpone rename replace correct switch increase decrease reset",
  "share invite invitation grant add allow permit",
  "run execute launch deploy apply push merge release restart trigger",
].map((words) => new Set(words.split(" ")));

/**
 * Whether words ask for the act that a tool is named after. Its verb is the first word of its name that is one of those
 * above; a tool with none of them must be asked for by a word of its name, and a call without arguments by all of them.
 */
export function isAskedFor(tool: string, said: ReadonlySet<string>, hasArguments: boolean): boolean {
  const words = wordsOf(tool);
  if (!hasArguments) return words.length > 0 && words.every((word) => said.has(word));
  const verb = words.find((word) => KINDS.some((kind) => kind.has(word)));
  if (verb === undefined) return words.some((word) => word.length > 2 && said.has(word));
  return KINDS.some((kind) => kind.has(verb) && [...kind].some((word) => said.has(word)));
}
