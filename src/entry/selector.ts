export { type BanditOptions, bandit } from "../pattern/selector/bandit.js";
export type {
  Asker,
  Choice,
  ChoiceContext,
  Chooser,
  Chosen,
  Decider,
  Decision,
  DecisionContext,
  Route,
  Rule,
} from "../pattern/selector/choice.js";
export { ChoiceError, ChoiceFailedError, RouteGoneError } from "../pattern/selector/error.js";
export { firstOf } from "../pattern/selector/first.js";
export { type ByModelOptions, byModel } from "../pattern/selector/model.js";
export { routeOf } from "../pattern/selector/route.js";
export { type ByScoreOptions, byScore } from "../pattern/selector/score.js";
export { type SelectorOptions, selector } from "../pattern/selector/selector.js";
export {
  type BySimilarityOptions,
  bySimilarity,
  type Embedding,
  type EmbeddingModel,
} from "../pattern/selector/similarity.js";
export { type RouteTable, routeTable } from "../pattern/selector/table.js";
export { type Trial, trialsIn, trialsOf } from "../pattern/selector/trials.js";
export { type VoteOptions, vote } from "../pattern/selector/vote.js";
