export { bandit, type Trial, trialsIn, trialsOf } from "./bandit.js";
export type {
  Chooser,
  Decider,
  Rule,
} from "./choice.js";
export { ChoiceFailedError } from "./error.js";
export { byModel } from "./model.js";
export { routeOf, routeTable } from "./route.js";
export { byScore } from "./score.js";
export { type Selector, selector } from "./selector.js";
export { bySimilarity } from "./similarity.js";
export { firstOf, vote } from "./vote.js";
