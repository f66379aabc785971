import type { Effect, Json, Principal, Session, Terms } from "../../session/index.js";

/** What somebody wants to do, before it is done. */
export type Action = {
  readonly kind: "tool" | "step" | "model";
  readonly name: string;
  /** Who wants it. */
  readonly by: Principal;
  /** On whose behalf: who began the run, and each agent that let another work for it. */
  readonly for: readonly Principal[];
  readonly effect: Effect;
  /** Whether it can be undone: what is not said to be is taken not to be, if it changes something. */
  readonly reversible: boolean;
  readonly input: Json;
  /** What it touches, as far as it says so; undefined when it says nothing. */
  readonly touches: Touches | undefined;
  /** The session of the request. */
  readonly session: Session;
  /** Who put this input in place of what was asked for, which the request has. */
  readonly editor?: Principal;
  /** The JSON Schema of the input, where there is one. */
  readonly schema?: Json;
};

/** What a call touches: a list that is not there is not known, an empty one says that there is nothing. */
export type Touches = {
  readonly paths?: readonly string[];
  readonly commands?: readonly string[];
  readonly hosts?: readonly string[];
  readonly amount?: number;
};

export type Verdict = "allow" | "ask" | "deny";

/** What was decided about an action, and why. */
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
  /** Tells its rules apart from others. */
  readonly version: string;
  /** Whether it has anything to say about actions of this kind. */
  covers(kind: Action["kind"]): boolean;
  decide(action: Action): PolicyDecision;
}
