export type { Approval, Decision, Settle, TakeOver } from "../runtime/answer.js";
export { type Awaited, detailsOf } from "../runtime/awaited.js";
export { competence, type Sender } from "../runtime/competence.js";
export {
  forward,
  hold,
  hostServices,
  isOfVersion01,
  lane,
  perform,
  performAll,
  pricesOf,
  waitFor,
} from "../runtime/door.js";
export {
  AnswerError,
  BudgetError,
  CancelledError,
  DescentError,
  DivergenceError,
  ErasedContentError,
  failureOf,
  NameTakenError,
  NotARunError,
  NotOpenError,
  OutsideRunError,
  PendingWorkError,
  RunClosedError,
  RunFailedError,
  type Side,
  TapeEndedError,
  VerificationError,
} from "../runtime/error.js";
export { failedAt } from "../runtime/failed.js";
export { budgetFault, RefusedError } from "../runtime/given.js";
export { FilesError, type MergedSide, mergeNext, resolvedBy, resolveMerge } from "../runtime/merging.js";
export { type Description, describe, digestOfModule, type Module } from "../runtime/module.js";
export { NotPlacedError, type ProviderSource } from "../runtime/places.js";
export type { Prices } from "../runtime/price.js";
export {
  openRath,
  type Rath,
  type RathOptions,
  type ReplaySettings,
  type RunSettings,
  type Unfinished,
} from "../runtime/rath.js";
export type { Attempt, Budget, Outcome, OutcomeType, Request, Retry, Spend } from "../runtime/request.js";
export type { Lane, Mode, Observation } from "../runtime/run.js";
export type { ServiceOptions, Services } from "../runtime/services.js";
export { isAboutTheRecord, type Status, statusOf } from "../runtime/status.js";
export { LONGEST_TIMER } from "../runtime/timeout.js";
export { canonical } from "../session/index.js";
