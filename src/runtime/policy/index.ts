export type { Action, Policy, PolicyDecision, Touches, Wanted } from "./action.js";
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
export {
  type Always,
  callerOf,
  groundOf,
  isAlways,
  isCoveredBy,
  mayStand,
  type StandingApproval,
  standingIn,
} from "./standing.js";
