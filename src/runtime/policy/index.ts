export type { Deed, Policy, PolicyDecision, Touches, Verdict, Wanted } from "./deed.js";
export { behalfOf, delegationOf } from "./delegation.js";
export { PolicyError } from "./error.js";
export { broughtBy, isTrusted, type Labels, labelsView, type Origin, untrustedIn } from "./labels.js";
export { type PolicyOptions, policy, strictestOf } from "./policy.js";
export type { PolicyRule } from "./rule.js";
