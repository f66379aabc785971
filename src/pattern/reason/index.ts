export { type DebateOptions, debate } from "./debate.js";
export { deedsOf } from "./deed.js";
export { episodeOf, importReact, readReact } from "./episode.js";
export { PartsFailedError, PlanFailedError, UnreadableError } from "./error.js";
export { type InlineToolsOptions, inlineTools } from "./inline.js";

export { type MapReduceOptions, mapReduce, type PartResult } from "./map-reduce.js";
export { PLAN, planExecute, planOf } from "./plan.js";
export { react } from "./react.js";
export { type ReflexionOptions, reflectionsOf, reflexion } from "./reflexion.js";
