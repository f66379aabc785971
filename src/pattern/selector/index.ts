export { bandit } from "./bandit.js";
export type {
  Chooser,
  Decider,
  Rule,
} from "./choice.js";
export { ChoiceFailedError } from "./error.js";
export { firstOf } from "./first.js";
export { byModel } from "./model.js";
export { routeOf } from "./route.js";
export { byScore } from "./score.js";
export { selector } from "./selector.js";
export { bySimilarity } from "./similarity.js";
export { routeTable } from "./table.js";
export { type Trial, trialsIn, trialsOf } from "./trials.js";
export { vote } from "./vote.js";
