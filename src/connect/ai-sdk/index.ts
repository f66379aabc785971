export { fromAiSdk } from "../../agent/tool/index.js";
export { type Recording, type RecordingOptions, recording } from "./recording.js";
export { RecordingDivergenceError, ReplyUnavailableError } from "./replayer.js";
