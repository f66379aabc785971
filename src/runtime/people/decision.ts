import type { FactId, Failure, Json, Principal, Settlement } from "../../session/index.js";
import { showValue } from "../../util/index.js";
import { RefusedError, requireKnown } from "../given.js";

/** A person's word on something that was shown. */
export type Decision = {
  readonly by: Principal;
  /** Which question, by its id; may be left out when there is only one. */
  readonly ask?: FactId;
  /** The digest of what the person saw: refused unless it is what was asked. */
  readonly digest?: string;
  readonly why?: string;
};

/** A person's agreement. */
export type Approval = Decision & {
  /** Agrees to these arguments in place of those that were shown. Both are kept. */
  readonly edit?: Json;
};

/** A person's word that they did it themselves. */
export type TakeOver = Decision & {
  /** The value that the caller gets in place of an outcome. */
  readonly value: Json;
};

/** The outcome of a write in doubt, as a person knows it. */
export type Settle = {
  readonly by: Principal;
  /** Which request; may be left out when there is only one in doubt. */
  readonly of?: FactId;
  readonly decision: Settlement;
  /** The result, if the write was done. */
  readonly value?: Json;
  readonly error?: Failure;
  readonly why?: string;
  /** The digest that `pending` showed. The answer is refused if the call in doubt has another one. */
  readonly digest?: string;
};

const DECISIONS = {
  approve: ["by", "ask", "digest", "why", "edit"],
  reject: ["by", "ask", "digest", "why"],
  revoke: ["by", "ask", "why"],
  withdraw: ["by", "ask", "why"],
  takeOver: ["by", "ask", "digest", "why", "value"],
  settle: ["by", "of", "decision", "value", "error", "why", "digest"],
} as const;

/** An answer to what a run waits for. */
export function requireDecision<Given>(decision: Given, use: keyof typeof DECISIONS, name: string): Given {
  requireKnown(decision, DECISIONS[use], `${use} what ${showValue(name)} waits for`);
  if (typeof decision === "object" && decision !== null) return decision;
  const rest = use === "settle" ? ', decision: "done", value' : use === "takeOver" ? ", value" : "";
  throw new RefusedError(
    `${use} what ${showValue(name)} waits for`,
    `what is decided is ${showValue(decision)}, not an object`,
    `say who decides: rath.${use}(${showValue(name)}, { by: "user:ada"${rest} })`,
  );
}
