import type { Json } from "../../../session/index.js";
import { type Fields, without } from "../fields.js";

/** A step as another trajectory repeats it for context: what it cost is counted where it happened. */
export function copiedStep(step: Fields): Fields {
  return { ...withoutRefs(without(step, "metrics", "llm_call_count")), is_copied_context: true };
}

/** The trajectories that the original refers to are not beside the copy. */
function withoutRefs(step: Fields): Fields {
  const observation = step.observation as Fields | undefined;
  if (!Array.isArray(observation?.results)) return step;
  const results = (observation.results as readonly Fields[]).map(
    (result) => without(result, "subagent_trajectory_ref") as Json,
  );
  return { ...step, observation: { ...observation, results } };
}
