export { consolidate } from "./consolidate.js";
export { consolidating } from "./consolidating.js";
export { forget } from "./forget.js";
export { forgetting } from "./forgetting.js";
export { readsOf } from "./reads.js";
