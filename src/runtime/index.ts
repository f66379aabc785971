export { canonical } from "../session/index.js";
export {
  AnswerError,
  BudgetError,
  CancelledError,
  DescentError,
  DivergenceError,
  failureOf,
  isGivenUp,
  NotARunError,
  RunFailedError,
  splitFailure,
  TapeEndedError,
  VerificationError,
} from "./error.js";
export { budgetFault, RefusedError, requireKnown, requireModule } from "./given.js";
export { loadedForReplay } from "./loading.js";
export { type Description, describe, digestOfModule, type Module } from "./module.js";
export {
  admitted,
  forward,
  hold,
  hostServices,
  isOfVersion01,
  isStreamed,
  lane,
  perform,
  performAll,
  pricesOf,
  waitFor,
} from "./module-api.js";
export { type Awaited, detailsOf, mayAnswer, type Sender } from "./people/awaited.js";
export { jsonValidator } from "./people/json-schema.js";
export type { GivenApproval } from "./people/standing.js";
export { openRath, type Rath, runsOf } from "./rath.js";
export type { RathOptions } from "./rath-options.js";
export type { Attempt, Budget, Outcome, Request, Retry, Spend } from "./request/request.js";
export { isRetryable } from "./request/retry.js";
export { LONGEST_TIMER } from "./request/timeout.js";
export { failedAt } from "./run/modules.js";
export { answerName } from "./run/names.js";
export type { Limits, Observation } from "./run/options.js";
export { Secrets } from "./secrets.js";
export type { Services } from "./services.js";
export { isAboutTheRecord, type Status, statusIn, statusOf } from "./status.js";
export type { RunEvent } from "./stream/event.js";
export type { RunStream } from "./stream/stream.js";
export { EventTeller } from "./stream/teller.js";
export { factAt, nameOf, type Recorded, recordedRun, unfinishedRuns, wakeTimeOf } from "./tape/recorded.js";
