export type { Deed, Policy, PolicyDecision, Touches, Wanted } from "./deed.js";
export { behalfOf, delegationOf } from "./delegation.js";

export {
  broughtBy,
  isTrusted,
  labelsView,
  type Origin,
  originsOf,
  untrustedIn,
} from "./labels.js";
export { policy, strictestOf } from "./policy.js";
export type { PolicyRule } from "./rule.js";
