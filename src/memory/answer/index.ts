export { brief } from "./fact-line.js";
export { forkBefore } from "./fork-before.js";
export {
  type Influence,
  influence,
  readingsOf,
} from "./influence.js";
export { influenceText, whyText } from "./text.js";
export {
  type Why,
  type WhyNode,
  why,
} from "./why.js";
