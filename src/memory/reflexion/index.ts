export { NoVerdictError, PassedTrialError } from "./error.js";
export {
  type ImportedTrial,
  type ImportTrialsOptions,
  importTrials,
  type RecordedTrial,
} from "./import.js";
export type { FailedTrial, Lesson, ReflexionOptions } from "./learner.js";
export { type Reflexion, reflexion } from "./reflexion.js";
export type { Validate, Verdict } from "./trial.js";
