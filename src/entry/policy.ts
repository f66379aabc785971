export type { Deed as Action, Policy, PolicyDecision } from "../runtime/policy/deed.js";
export { behalfOf } from "../runtime/policy/delegation.js";
export { PolicyError } from "../runtime/policy/error.js";
export { isTrusted, labelsView, type Origin, untrustedIn } from "../runtime/policy/labels.js";
export { policy, strictestOf } from "../runtime/policy/policy.js";
export type { PolicyRule } from "../runtime/policy/rule.js";
