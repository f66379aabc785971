export { type BanditOptions, bandit } from "./bandit.js";
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
} from "./choice.js";
export { ChoiceError, ChoiceFailedError, RouteGoneError } from "./error.js";
export { firstOf } from "./first.js";
export { type ByModelOptions, byModel } from "./model.js";
export { routeOf } from "./route.js";
export { type ByScoreOptions, byScore } from "./score.js";
export { type SelectorOptions, selector } from "./selector.js";
export { type BySimilarityOptions, bySimilarity, type Embedding, type EmbeddingModel } from "./similarity.js";
export { type RouteTable, routeTable } from "./table.js";
export { type Trial, trialsIn, trialsOf } from "./trials.js";
export { type VoteOptions, vote } from "./vote.js";
