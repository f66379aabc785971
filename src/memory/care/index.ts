export {
  type Consolidated,
  type ConsolidateOptions,
  consolidate,
  type GroupingOptions,
  type Merge,
  type WriteMerged,
} from "./consolidate.js";
export { type ConsolidatingOptions, consolidating } from "./consolidating.js";
export {
  type ForgetOptions,
  type Forgetting,
  type ForgettingOptions,
  type Forgotten,
  forget,
} from "./forget.js";
export { type ForgettingModuleOptions, forgetting } from "./forgetting.js";
export { type Read, readsOf } from "./reads.js";
