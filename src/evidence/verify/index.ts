export { type VerifiedFile, type VerifyFileOptions, verifyFile } from "./file.js";
export { type Keys, keysOf } from "./keys.js";
export type { CheckpointReport, LogSources } from "./log.js";
export type { VerifyStoreOptions } from "./reading.js";
export { type RecordLine, readRecordLine } from "./record-line.js";
export type { Flaw, Signature, Standing, Verified } from "./report.js";
export { type VerifiedSession, type VerifySessionOptions, verifySession } from "./session.js";
export { type VerifiedStore, verifyStore } from "./store.js";
