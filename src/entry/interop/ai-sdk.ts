export { fromAiSdk } from "../../agent/tool/index.js";
export { RecordingDivergenceError, ReplyUnavailableError } from "../../connect/ai-sdk/error.js";
export { type Recording, type RecordingOptions, recording } from "../../connect/ai-sdk/recording.js";
