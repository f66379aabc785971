export { type VerifiedFile, verifyFile } from "./file.js";
export { type Keys, keysOf } from "./keys.js";
export type { CheckpointReport } from "./log.js";
export { type RecordLine, readRecordLine } from "./record-line.js";
export type { Signature, Verified } from "./report.js";
export { verifySession } from "./session.js";
export { verifyStore } from "./store.js";
