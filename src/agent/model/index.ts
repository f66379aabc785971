export { compatible, optionalPackage } from "./compatible.js";
export { configFact, configOf, type ModelConfig, type Parameters, type ToolSpec } from "./config.js";
export { brokenCall, type CallRequest, callsOf, plainJson, textOf } from "./content.js";
export {
  MissingPackageError,
  NoPromptError,
  NotRecordedError,
  PromptMismatchError,
  ScriptEndedError,
  WithheldPromptError,
} from "./error.js";
export { failureOf, ModelError } from "./failure.js";
export { type CallOptions, callModel, type Generated, type LanguageModel, type Streamed } from "./model.js";
export { costOf, defaultPrices, priceOf } from "./prices.js";
export { estimateTokens, type Prompt, type PromptMessage } from "./prompt.js";
export { askedLast, beginsTurn, messagesFor } from "./recalled.js";
export { recorded } from "./recorded.js";
export { renderPrompt } from "./render.js";
export { renderedPrompt, sentPrompt } from "./rendered.js";
export type { ModelReply } from "./reply.js";
export { type ScriptedReply, scripted } from "./scripted.js";
export { saidLast, transcriptFor, turnOf } from "./transcript.js";
