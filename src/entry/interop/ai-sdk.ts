export { type AiSdkOptions, type AiSdkTool, fromAiSdk } from "../../agent/tool/index.js";
export { RecordingDivergenceError, ReplyUnavailableError } from "../../connect/ai-sdk/error.js";
export type { SdkModel } from "../../connect/ai-sdk/recorder.js";
export { type Recording, type RecordingOptions, recording } from "../../connect/ai-sdk/recording.js";
