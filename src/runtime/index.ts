export { canonical } from "../session/index.js";

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
  failureOf,
  NameTakenError,
  NotARunError,
  NotOpenError,
  OutsideRunError,
  PendingWorkError,
  RunClosedError,
  RunFailedError,
  TapeEndedError,
  VerificationError,
} from "./error.js";
export { failedAt } from "./failed.js";
export { budgetFault, RefusedError } from "./given.js";
export { answerName } from "./keeper.js";
export { FilesError, type MergedSide, mergeNext, resolvedBy, resolveMerge } from "./merging.js";
export { type Description, describe, digestOfModule, type Module } from "./module.js";

export {
  openRath,
  type Rath,
  type RathOptions,
} from "./rath.js";
export { nameOf, type Recorded, recordedRun, unfinishedRuns } from "./recorded.js";
export type { Attempt, Budget, Outcome, Request, Retry, Spend } from "./request.js";
export { isRetryable } from "./retry.js";
export type { Observation } from "./run.js";
export { Secrets } from "./secrets.js";
export type { Services } from "./services.js";
export { isAboutTheRecord, type Status, statusIn, statusOf } from "./status.js";
export { LONGEST_TIMER } from "./timeout.js";
