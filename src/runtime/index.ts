export { canonical } from "../session/index.js";
export type { Approval, Decision, Settle, TakeOver } from "./answer.js";
export { type Awaited, detailsOf } from "./awaited.js";
export { competence, type Sender } from "./competence.js";
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
} from "./door.js";
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
} from "./error.js";
export { failedAt } from "./failed.js";
export { budgetFault, RefusedError } from "./given.js";
export { FilesError, type MergedSide, mergeNext, resolvedBy, resolveMerge } from "./merging.js";
export { type Description, describe, digestOfModule, type Module } from "./module.js";
export { NotPlacedError, type ProviderSource } from "./places.js";
export type { Prices } from "./price.js";
export {
  openRath,
  type Rath,
  type RathOptions,
  type ReplaySettings,
  type RunSettings,
  type Unfinished,
} from "./rath.js";
export type { Attempt, Budget, Outcome, OutcomeType, Request, Retry, Spend } from "./request.js";
export type { Lane, Mode, Observation } from "./run.js";
export type { ServiceOptions, Services } from "./services.js";
export { isAboutTheRecord, type Status, statusOf } from "./status.js";
export { LONGEST_TIMER } from "./timeout.js";
