export { importTrials } from "./import.js";
export type { ReflexionOptions } from "./reflexion.js";
export { type Reflexion, reflexion } from "./reflexion.js";
