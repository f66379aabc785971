export { consolidate } from "./consolidate.js";
export { consolidating } from "./consolidating.js";
export { forget, forgetting, readsOf } from "./forget.js";
