export type { Deed, Policy, PolicyDecision, Touches, Verdict, Wanted } from "../runtime/policy/deed.js";
export { behalfOf, delegationOf } from "../runtime/policy/delegation.js";
export { PolicyError } from "../runtime/policy/error.js";
export {
  broughtBy,
  isTrusted,
  type Labels,
  labelsView,
  type Origin,
  untrustedIn,
} from "../runtime/policy/labels.js";
export { type PolicyOptions, policy, strictestOf } from "../runtime/policy/policy.js";
export type { PolicyRule } from "../runtime/policy/rule.js";
