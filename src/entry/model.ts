export { type CallSettings, callModel } from "../agent/model/call.js";
export { type CompatibleOptions, compatible } from "../agent/model/compatible.js";
export {
  configFact,
  configOf,
  type ModelConfig,
  type Parameters,
  type ToolSpec,
} from "../agent/model/config.js";
export { brokenCall, type CallRequest, callsOf, textOf } from "../agent/model/content.js";
export {
  MissingPackageError,
  NoPromptError,
  NotRecordedError,
  PromptMismatchError,
  ScriptEndedError,
  WithheldPromptError,
} from "../agent/model/error.js";
export { estimateTokens } from "../agent/model/estimate.js";
export { failureOf, isRetryable, ModelError, retryAfterOf } from "../agent/model/failure.js";
export type { CallOptions, Generated, LanguageModel, Streamed } from "../agent/model/model.js";
export { plainJson } from "../agent/model/plain.js";
export { costOf, defaultPrices, type Price, type Prices, priceOf } from "../agent/model/prices.js";
export type { Prompt, PromptMessage } from "../agent/model/prompt.js";
export { askedLast, beginsTurn, messagesFor } from "../agent/model/recalled.js";
export { recorded } from "../agent/model/recorded.js";
export { renderPrompt } from "../agent/model/render.js";
export { renderedPrompt } from "../agent/model/rendered.js";
export type { ModelReply } from "../agent/model/reply.js";
export { type ScriptedOptions, type ScriptedReply, scripted } from "../agent/model/scripted.js";
export { sentPrompt } from "../agent/model/sent.js";
export { transcriptFor } from "../agent/model/transcript.js";
export { turnOf } from "../agent/model/turn.js";
