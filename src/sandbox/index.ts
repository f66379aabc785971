export { commandFault, contentOf, modeOf } from "./check.js";
export { checkSpec, limitsOf, requireTime, secretsOf } from "./check-spec.js";
export { type DockerOptions, dockerSandbox } from "./docker/docker.js";
export {
  ArchiveError,
  ConflictChoiceError,
  ConflictedExportError,
  EngineError,
  FileError,
  GitError,
  GitUnavailableError,
  MissingFileError,
  PathRefusedError,
  SandboxCallError,
  SandboxLostError,
  SandboxSpecError,
  SandboxUnavailableError,
  SnapshotLimitError,
  UnmergedFilesError,
  UnresolvedConflictsError,
} from "./error.js";
export { endBox } from "./host/execution.js";
export { type HostOptions, hostSandbox } from "./host/provider.js";
export type { JobContext, JobFunction, JobOutcome, JobSource, JobTask } from "./job/attempt.js";
export { type Job, type JobEvent, type JobOptions, runJob } from "./job/job.js";
export type { JobAttempt, JobCondition, JobIndex, JobStatus } from "./job/job-state.js";
export type { CheckedPolicy, ExitAction, ExitRule, JobPolicy } from "./job/policy.js";
export { JobPolicyError } from "./job/policy.js";
export { BOX_VARIABLE, lineOf, startCleaning } from "./local/janitor.js";
export { sealed } from "./local/launcher.js";
export { type LocalOptions, localSandbox } from "./local/provider.js";
export type { SweepReport, Swept } from "./local/sweep.js";
export { bytesOfName, namesOf, textOfName } from "./path.js";
export type {
  ConnectOptions,
  CreateOptions,
  ExecEvent,
  ExecOptions,
  ExecResult,
  Execution,
  FileEntry,
  Sandbox,
  SandboxFiles,
  SandboxProvider,
  Snapshot,
} from "./sandbox.js";
export {
  type Capabilities,
  type Condition,
  DEFAULT_LIMITS,
  type Isolation,
  type Limits,
  type Network,
  type SandboxRef,
  type SandboxSpec,
  type SandboxStatus,
} from "./spec.js";
export type { Clock } from "./timer.js";
export { type BlobSpace, PIECE_BYTES, Trees } from "./trees.js";
export { type VirtualOptions, virtualSandbox } from "./virtual/provider.js";
export type { VirtualCommand } from "./virtual/shell.js";
export {
  type ApplyOptions,
  applyPatch,
  type PatchedFile,
  type PatchFailure,
  type PatchFiles,
  type PatchOutcome,
  patchTree,
} from "./workspace/apply-patch.js";
export {
  type CaptureOptions,
  capture,
  captureOverlay,
  importFolder,
  type OverlayOptions,
} from "./workspace/capture.js";
export { type CheckoutOptions, checkout } from "./workspace/checkout.js";
export {
  type Choice,
  type Choices,
  type Conflict,
  type ConflictKind,
  conflictsOf,
  markedPaths,
  type ResolvedTree,
  resolveTree,
  type Side,
} from "./workspace/conflict.js";
export { diffTrees, edited, entriesOf, entryAt, type TreeEdit } from "./workspace/entries.js";
export { filesAt, type WorkspaceFiles } from "./workspace/files-at.js";
export { Folder } from "./workspace/folder.js";
export { type Frozen, type FrozenOptions, frozen } from "./workspace/frozen.js";
export { type ExportedGit, type ExportOptions, exportGit } from "./workspace/git-export.js";
export { type ImportedGit, importGit } from "./workspace/git-import.js";
export { type MergedTree, type MergeSides, mergeTrees } from "./workspace/merge.js";
export { type PatchOptions, patchOf } from "./workspace/patch.js";
export { StatCache } from "./workspace/stat-cache.js";
export { type ChangedBy, type Step, stepsOf, type WhoChangedOptions, whoChanged } from "./workspace/step.js";
export { changedLines, linesOf } from "./workspace/text-merge.js";
