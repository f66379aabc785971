import { isObject, optionNames, unknownOption } from "../util/index.js";
import type { FactOf, Principal } from "./fact/index.js";
import { isPerson, isPrincipal } from "./principal.js";

/** The terms of an approval. */
export type Terms = {
  /** The approvers: people, or services and agents by name. Default: any person (`user:…`). */
  readonly from?: Principal | readonly Principal[];
  /** How many of them must approve. Default 1: the first answer decides. */
  readonly need?: number;
  /** The time limit for an answer, in milliseconds. Default: no limit. */
  readonly within?: number;
  /** The people to ask after the deadline. Default: nobody, and the action is not done. */
  readonly otherwise?: Terms;
};

const FIELDS = optionNames<Terms>()("from need within otherwise");
const EXAMPLE =
  'approval: { from: ["user:ada", "user:bob", "user:cy"], need: 2, within: 3_600_000, otherwise: { from: "user:boss" } }';
/** Further than this nobody follows who is to be asked next. */
const MAX_LEVELS = 16;

/** The problem of terms, and a correction to type. */
export function termsFault(
  terms: unknown,
  level = 1,
): { readonly reason: string; readonly hint: string } | undefined {
  const fault = (reason: string, hint = EXAMPLE) => ({ reason, hint });
  if (!isObject(terms)) return fault("its approval must be an object");
  if (level > MAX_LEVELS) return fault(`its approval goes on to others more than ${MAX_LEVELS} times`);
  const { from, need, within, otherwise } = terms as Terms;
  const unknown = unknownOption(terms, FIELDS);
  if (unknown !== undefined)
    return fault(`its approval has no ${JSON.stringify(unknown.name)}`, unknown.hint);
  const asked = approversOf(terms as Terms);
  if (from !== undefined && (asked.length === 0 || !asked.every(isPrincipal)))
    return fault("its approval is from nobody who could give it", 'from: "user:ada", or a list of such');
  if (new Set(asked).size !== asked.length)
    return fault("its approval names somebody twice", "name each once: two of one are not two");
  if (need !== undefined && !(Number.isInteger(need) && need >= 1))
    return fault(`its approval needs ${String(need)}`, "need: 2");
  if ((need ?? 1) > 1 && (need as number) > asked.length)
    return fault(
      `its approval needs ${need} of ${asked.length === 0 ? "nobody in particular" : asked.length}`,
      "say who is asked, at least as many as must agree: from: […]",
    );
  if (within !== undefined && !(Number.isFinite(within) && within > 0))
    return fault(`its approval is to be given within ${String(within)}`, "within: 3_600_000 (milliseconds)");
  if (otherwise === undefined) return undefined;
  if (within === undefined)
    return fault("its approval has an otherwise, and no time after which it counts", "within: 3_600_000");
  return termsFault(otherwise, level + 1);
}

/** The people who are asked; nobody in particular when the list is empty. */
export function approversOf({ from }: Terms): readonly Principal[] {
  return from === undefined ? [] : typeof from === "string" ? [from] : from;
}

/** Whether somebody may agree to what was asked: one of those who are named or, where nobody is named, any person. */
export function mayAgree({ to = [] }: Pick<FactOf<"approval-ask">, "to">, by: Principal): boolean {
  return to.length === 0 ? isPerson(by) : to.includes(by);
}

type Asks = readonly Pick<FactOf<"approval-ask">, "to">[];

/** The approvers that the approvals of a call name. They may also settle it. */
export function settlersOf(asks: Asks): readonly Principal[] {
  return [...new Set(asks.flatMap(({ to = [] }) => to))];
}

/**
 * Whether somebody may settle a call in doubt: the approvers that its approvals name. If they name nobody, any person; if
 * the call needed no approval, a service too, since it can look up the outcome.
 */
export function maySettle(asks: Asks, by: Principal): boolean {
  const named = settlersOf(asks);
  if (named.length > 0) return named.includes(by);
  return isPerson(by) || (asks.length === 0 && (by === "service" || by.startsWith("service:")));
}
