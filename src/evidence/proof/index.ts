export { type Checkpoint, readCheckpoint } from "./checkpoint.js";
export { ProofError } from "./error.js";
export { type HeadSignature, headSignatureOf, type SignOptions, signHead } from "./head.js";
export {
  checkInclusion,
  type Included,
  type InclusionProof,
  readProof,
  writeProof,
  writeStandardProof,
} from "./inclusion.js";
export { PublicKey, readPublicKey, SigningKey } from "./key.js";
export { KeyRing, type RingKey } from "./key-ring.js";
export { CheckpointLog, type LogFlaw, type LogState } from "./log.js";
export { isConsistent } from "./merkle.js";
export type { Note, NoteSignature, Signer } from "./note.js";
export type { Release } from "./release.js";
export { CheckpointMemory, type Remembered } from "./release.js";
export { type ReleaseOptions, releaseUnnamed, type Taken, type TakeOptions, takeCheckpoint } from "./take.js";
