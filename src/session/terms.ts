import type { Principal } from "./fact.js";
import { nearestOf } from "./nearest.js";
import { isPrincipal } from "./principal.js";

/** On whose agreement something is done. */
export type Terms = {
  /** Who is asked. Left out: anybody but who wants to do it. */
  readonly from?: Principal | readonly Principal[];
  /** How many of them must agree. Default 1: whoever answers first decides. */
  readonly need?: number;
  /** Milliseconds that they have. Left out, they are waited for however long it takes. */
  readonly within?: number;
  /** Who is asked when they have not answered by then. Left out, nobody: then it is not done. */
  readonly otherwise?: Terms;
};

const FIELDS: readonly string[] = ["from", "need", "within", "otherwise"] satisfies (keyof Terms)[];
const EXAMPLE =
  'approval: { from: ["user:ada", "user:bob", "user:cy"], need: 2, within: 3_600_000, otherwise: { from: "user:boss" } }';
/** Further than this nobody follows who is to be asked next. */
const MAX_LEVELS = 16;

/** What is wrong with terms, and what to type instead. */
export function termsFault(
  terms: unknown,
  level = 1,
): { readonly reason: string; readonly hint: string } | undefined {
  const fault = (reason: string, hint = EXAMPLE) => ({ reason, hint });
  if (typeof terms !== "object" || terms === null || Array.isArray(terms))
    return fault("its approval is no terms");
  if (level > MAX_LEVELS) return fault(`its approval goes on to others more than ${MAX_LEVELS} times`);
  const { from, need, within, otherwise } = terms as Terms;
  const unknown = Object.keys(terms).find((field) => !FIELDS.includes(field));
  if (unknown !== undefined) {
    const meant = nearestOf(unknown, FIELDS);
    return fault(
      `its approval has no ${JSON.stringify(unknown)}`,
      meant === undefined ? EXAMPLE : `did you mean ${JSON.stringify(meant)}?`,
    );
  }
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

/** Who is asked; nobody in particular when the list is empty. */
export function approversOf({ from }: Terms): readonly Principal[] {
  return from === undefined ? [] : typeof from === "string" ? [from] : from;
}
