export { importTrials } from "./import.js";
export type { ReflexionOptions } from "./learner.js";
export { type Reflexion, reflexion } from "./reflexion.js";
