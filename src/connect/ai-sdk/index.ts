export { fromAiSdk } from "../../agent/tool/index.js";
export { RecordingDivergenceError, ReplyUnavailableError } from "./error.js";

export { type Recording, type RecordingOptions, recording } from "./recording.js";
