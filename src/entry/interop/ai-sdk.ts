export { fromAiSdk } from "../../agent/tool/index.js";
export { type Recording, recording } from "../../connect/ai-sdk/recording.js";
export { RecordingDivergenceError, ReplyUnavailableError } from "../../connect/ai-sdk/replayer.js";
