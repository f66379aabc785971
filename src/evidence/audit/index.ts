export type { Answer, Claim, Named, Proof } from "./answer.js";
export { answerText, type TextOptions } from "./answer.js";
export { type ApprovalsOptions, whoApproved } from "./approval.js";
export { type BetweenOptions, whatHappened } from "./between.js";
export { type Blame, type BlamedLine, blame } from "./blame.js";
export { type WhichBranchOptions, whichBranch } from "./branch.js";
export {
  type EraseContentOptions,
  type Erased,
  eraseContent,
  floorOf,
  remainsOf,
  UNREACHABLE,
} from "./erasure.js";
export { erasedText, foundText } from "./erasure-text.js";
export { AuditError } from "./error.js";
export { type WhichCallOptions, whichCall } from "./file.js";
export { type Erasable, type FindOptions, type Fixed, type Found, findContent } from "./find.js";
export { type IfFalseOptions, ifFalse } from "./if-false.js";
export { whichMemory } from "./memory.js";
export { type WhatDidOptions, whatDid } from "./principal.js";
export {
  type AuditReport,
  actReport,
  type Evidence,
  PROFILES,
  type Profile,
  type ReportOptions,
  type Row,
  type Standing,
} from "./report/report.js";
export type { Change, Period } from "./report/tally.js";
export { reportMarkdown, reportText } from "./report/text.js";
export { heldUntil, type Retention, readRetention, retentionFolder, writeRetention } from "./retention.js";
export { whatModelSaw } from "./saw.js";
export { whatStep } from "./step.js";
