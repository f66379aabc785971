import type { Effect, Json, Principal, Session, Terms } from "../../session/index.js";

/** A call that a principal wants to make, before it is made. */
export type Action = {
  readonly kind: "tool" | "step" | "model";
  readonly name: string;
  /** The principal who wants it. */
  readonly by: Principal;
  /** On whose behalf: who began the run, and each agent that let another work for it. */
  readonly for: readonly Principal[];
  readonly effect: Effect;
  /** Whether it can be undone: what is not said to be is taken not to be, if it changes something. */
  readonly reversible: boolean;
  readonly input: Json;
  /** The resources it touches, as far as it says so; undefined when it says nothing. */
  readonly touches: Touches | undefined;
  /** The session of the request. */
  readonly session: Session;
  /** The person who put this input in place of the requested one. */
  readonly editor?: Principal;
  /** The JSON Schema of the input, where there is one. */
  readonly schema?: Json;
};

/** The resources that a call touches. A missing list is unknown, an empty one says that there is nothing. */
export type Touches = {
  readonly paths?: readonly string[];
  readonly commands?: readonly string[];
  readonly hosts?: readonly string[];
  readonly amount?: number;
};

export type Verdict = "allow" | "ask" | "deny";

/** The decision about an action, and its reason. */
export type PolicyDecision = {
  readonly verdict: Verdict;
  /** The names of the rules that made it; none when no rule met the action. */
  readonly rules: readonly string[];
  readonly why?: string;
  /** For "ask": on whose agreement, by the rule that wants it. Each must be met. */
  readonly approvals?: readonly Wanted[];
};

/** The agreement that a rule wants. */
export type Wanted = Terms & { readonly rule: string; readonly why?: string };

/** Decides about actions. */
export interface Policy {
  readonly name: string;
  /** Distinguishes its rules from those of other policies. */
  readonly version: string;
  /** Whether the policy has rules for actions of this kind. */
  covers(kind: Action["kind"]): boolean;
  decide(action: Action): PolicyDecision;
}
