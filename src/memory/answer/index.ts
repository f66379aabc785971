export { brief, isId } from "./fact-line.js";
export { type ForkBeforeOptions, type ForkedBefore, forkBefore } from "./fork-before.js";
export {
  type Decision,
  type Influence,
  type InfluenceOptions,
  influence,
  type LaterMemory,
  type ReachedSession,
  type Reading,
} from "./influence.js";
export { influenceText, whyText } from "./text.js";
export {
  type Ground,
  type Version,
  type Why,
  type WhyEdge,
  type WhyNode,
  type WhyOptions,
  why,
} from "./why.js";
