import { isPerson, type Principal } from "../session/index.js";
import { showValue } from "../util/index.js";
import type { Refuse } from "../workflow/index.js";

/** Refuses a value of an option that is given and is not of its type. */
export function requireType(
  value: unknown,
  option: string,
  type: "boolean" | "function",
  refuse: Refuse,
  example: string,
): void {
  if (value !== undefined && typeof value !== type)
    throw refuse(`its \`${option}\` must be a ${type}; got ${showValue(value)}`, example);
}

/** The options that say who may send requests to a server of ours. */
export type Access = {
  readonly principal?: unknown;
  readonly open?: unknown;
  readonly selfApproval?: unknown;
  readonly mayApprove?: unknown;
};

/** Refuses options that would let everybody in by mistake, or nobody. `by` is the sender where nobody is asked. */
export function requireAccess(
  { principal, open, selfApproval, mayApprove }: Access,
  by: string,
  refuse: Refuse,
): void {
  const example = 'principal: (request) => "user:ada", or a Response';
  requireType(principal, "principal", "function", refuse, example);
  requireType(open, "open", "boolean", refuse, "open: true");
  requireType(selfApproval, "selfApproval", "boolean", refuse, "selfApproval: true, or leave it out");
  requireType(mayApprove, "mayApprove", "function", refuse, "mayApprove: (sender, name) => true");
  if (selfApproval === true && principal === undefined && !isPerson(by))
    throw refuse("`selfApproval` needs a person as the caller", 'selfApproval: true, by: "user:ada"');
  if (principal !== undefined && open === true)
    throw refuse("it is open and asks who comes in", "leave out one of `open` and `principal`");
}

/** Whether a request can be sent in this name. */
export function isSender(who: unknown): who is Principal {
  return typeof who === "string" && /^(user|agent|service)(:.+)?$/s.test(who);
}

/** The hint for a `principal` that names nobody who can send a request. */
export const SENDERS =
  "principal answers with a user, an agent or a service, such as user:ada, or with a Response";
