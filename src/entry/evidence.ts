export {
  type Answer,
  type AuditReport,
  actReport,
  answerText,
  blame,
  eraseContent,
  erasedText,
  findContent,
  foundText,
  ifFalse,
  PROFILES,
  type Row,
  readRetention,
  reportMarkdown,
  reportText,
  whatDid,
  whatHappened,
  whatModelSaw,
  whatStep,
  whichBranch,
  whichCall,
  whichMemory,
  whoApproved,
  writeRetention,
} from "../evidence/audit/index.js";
export { type Bundle, readBundle, writeBundle } from "../evidence/bundle/index.js";
export { catalogue } from "../evidence/catalogue/index.js";
export {
  type Dossier,
  dossierHtml,
  dossierOf,
  writeDossier,
} from "../evidence/dossier/index.js";
export { factRow, type Pages, pages } from "../evidence/page/index.js";
export {
  CheckpointLog,
  CheckpointMemory,
  checkInclusion,
  KeyRing,
  PublicKey,
  readProof,
  readPublicKey,
  SigningKey,
  signHead,
  takeCheckpoint,
  writeProof,
} from "../evidence/proof/index.js";
export {
  readRecordLine,
  verifyFile,
  verifySession,
  verifyStore,
} from "../evidence/verify/index.js";
