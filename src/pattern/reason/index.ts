export { withTextCalls } from "./codec.js";
export { type Debate, type DebateOptions, type DebateVerdict, debate } from "./debate.js";
export { type Deed, deedsOf } from "./deed.js";
export {
  type Action,
  type Episode,
  type EpisodeStep,
  type RecordedEpisode,
  readReact,
} from "./episode.js";
export { episodeOf } from "./episode-of.js";
export { AnswerFormError, PartsFailedError, PlanFailedError, UnreadableError } from "./error.js";
export { type ImportReactOptions, importReact } from "./import-react.js";
export { type InlineToolsOptions, inlineTools } from "./inline.js";
export type { InlineCall } from "./inline-call.js";
export type { Score } from "./inline-score.js";
export { type MapReduceOptions, mapReduce, type PartResult } from "./map-reduce.js";
export { PLAN, type Plan, type PlanExecuteOptions, type PlanStep, planExecute, planOf } from "./plan.js";
export { type React, type ReactOptions, react } from "./react.js";
export { type Reflection, type ReflexionOptions, reflectionsOf, reflexion } from "./reflexion.js";
