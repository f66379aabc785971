export { compatible } from "../agent/model/compatible.js";
export { ModelError } from "../agent/model/failure.js";
export type { LanguageModel } from "../agent/model/model.js";
export { defaultPrices, type Prices } from "../agent/model/prices.js";
export { estimateTokens } from "../agent/model/prompt.js";
export { recorded } from "../agent/model/recorded.js";
export { renderedPrompt } from "../agent/model/rendered.js";
export { type ScriptedReply, scripted } from "../agent/model/scripted.js";
