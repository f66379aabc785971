export type { Action, Policy } from "../runtime/policy/action.js";
export { behalfOf } from "../runtime/policy/delegation.js";
export { isTrusted, labelsView, type Origin, untrustedIn } from "../runtime/policy/labels.js";
export { PolicyError, policy, strictestOf } from "../runtime/policy/policy.js";
export type { PolicyRule } from "../runtime/policy/rule.js";
