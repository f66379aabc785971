export { commandFault, contentOf, modeOf } from "./check-call.js";
export { checkSpec, limitsOf, requireTime, secretsOf } from "./check-spec.js";
export { type DockerOptions, dockerSandbox } from "./docker/docker.js";
export { ArchiveError, EngineError } from "./docker/error.js";
export {
  ConflictChoiceError,
  ConflictedExportError,
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
export { endBox } from "./host/processes.js";
export { type HostOptions, hostSandbox } from "./host/provider.js";
export type { JobContext, JobFunction, JobOutcome, JobTask } from "./job/attempt.js";
export type { Clock } from "./job/clock.js";
export { type Job, type JobEvent, type JobOptions, runJob } from "./job/job.js";
export type { CheckedPolicy, ExitAction, ExitRule, JobPolicy } from "./job/policy.js";
export { JobPolicyError } from "./job/policy.js";
export type { JobSource } from "./job/source.js";
export type { JobAttempt, JobCondition, JobIndex, JobStatus } from "./job/status.js";
export { BOX_VARIABLE, lineOf, startCleaning } from "./local/cleaner.js";
export { sealed } from "./local/descriptors.js";
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
} from "./workspace/apply-patch.js";
export { type CaptureOptions, capture } from "./workspace/capture.js";
export { type CheckoutOptions, checkout } from "./workspace/checkout.js";
export {
  type Conflict,
  type ConflictKind,
  conflictsOf,
  markedPaths,
  type Side,
} from "./workspace/conflict.js";
export { diffTrees } from "./workspace/diff.js";
export { edited, entriesOf, entryAt, type TreeEdit } from "./workspace/entries.js";
export { filesAt, type WorkspaceFiles } from "./workspace/files-at.js";
export { Folder } from "./workspace/folder.js";
export { type Frozen, type FrozenOptions, frozen } from "./workspace/frozen.js";
export { type ExportedGit, type ExportOptions, exportGit } from "./workspace/git-export.js";
export { type ImportedGit, importGit } from "./workspace/git-import.js";
export { importFolder } from "./workspace/import.js";
export { changedLines, linesOf } from "./workspace/line-diff.js";
export { type MergedTree, type MergeSides, mergeTrees } from "./workspace/merge.js";
export { captureOverlay, type OverlayOptions } from "./workspace/overlay.js";
export { type PatchOptions, patchOf } from "./workspace/patch.js";
export { type Choice, type Choices, type ResolvedTree, resolveTree } from "./workspace/resolve.js";
export { StatCache } from "./workspace/stat-cache.js";
export { type Step, stepsOf } from "./workspace/step.js";
export { patchTree } from "./workspace/tree-files.js";
export { type ChangedBy, type WhoChangedOptions, whoChanged } from "./workspace/who-changed.js";
