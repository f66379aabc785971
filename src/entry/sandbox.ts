export { commandFault, contentOf, modeOf } from "../sandbox/check-call.js";
export { checkSpec, limitsOf, requireTime, secretsOf } from "../sandbox/check-spec.js";
export { type DockerOptions, dockerSandbox } from "../sandbox/docker/docker.js";
export { ArchiveError, EngineError } from "../sandbox/docker/error.js";
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
} from "../sandbox/error.js";
export { type HostOptions, hostSandbox } from "../sandbox/host/provider.js";
export type { JobContext, JobFunction, JobOutcome, JobTask } from "../sandbox/job/attempt.js";
export type { Clock } from "../sandbox/job/clock.js";
export { JobPolicyError } from "../sandbox/job/error.js";
export { type Job, type JobEvent, type JobOptions, runJob } from "../sandbox/job/job.js";
export type { CheckedPolicy, ExitAction, ExitRule, JobPolicy } from "../sandbox/job/policy.js";
export type { JobSource } from "../sandbox/job/source.js";
export type { JobAttempt, JobCondition, JobIndex, JobStatus } from "../sandbox/job/status.js";
export { type LocalOptions, localSandbox } from "../sandbox/local/provider.js";
export type { SweepReport, Swept } from "../sandbox/local/sweep.js";
export { bytesOfName, namesOf, textOfName } from "../sandbox/path.js";
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
} from "../sandbox/sandbox.js";
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
} from "../sandbox/spec.js";
export { type BlobSpace, PIECE_BYTES, Trees } from "../sandbox/trees.js";
export { type VirtualOptions, virtualSandbox } from "../sandbox/virtual/provider.js";
export type { VirtualCommand } from "../sandbox/virtual/shell.js";
export {
  type ApplyOptions,
  applyPatch,
  type PatchedFile,
  type PatchFailure,
  type PatchFiles,
  type PatchOutcome,
} from "../sandbox/workspace/apply-patch.js";
export { type CaptureOptions, capture } from "../sandbox/workspace/capture.js";
export { type CheckoutOptions, checkout } from "../sandbox/workspace/checkout.js";
export { type Conflict, type ConflictKind, conflictsOf, type Side } from "../sandbox/workspace/conflict.js";
export { diffTrees } from "../sandbox/workspace/diff.js";
export { edited, entriesOf, entryAt, type TreeEdit } from "../sandbox/workspace/entries.js";
export { filesAt, type WorkspaceFiles } from "../sandbox/workspace/files-at.js";
export { Folder } from "../sandbox/workspace/folder.js";
export { type Frozen, type FrozenOptions, frozen } from "../sandbox/workspace/frozen.js";
export { type ExportedGit, type ExportOptions, exportGit } from "../sandbox/workspace/git-export.js";
export { type ImportedGit, importGit } from "../sandbox/workspace/git-import.js";
export { importFolder } from "../sandbox/workspace/import.js";
export { markedPaths } from "../sandbox/workspace/marks.js";
export { type MergedTree, type MergeSides, mergeTrees } from "../sandbox/workspace/merge.js";
export { captureOverlay, type OverlayOptions } from "../sandbox/workspace/overlay.js";
export { type PatchOptions, patchOf } from "../sandbox/workspace/patch.js";
export { type Choice, type Choices, type ResolvedTree, resolveTree } from "../sandbox/workspace/resolve.js";
export { StatCache } from "../sandbox/workspace/stat-cache.js";
export { type Step, stepsOf } from "../sandbox/workspace/step.js";
export { patchTree } from "../sandbox/workspace/tree-files.js";
export { type ChangedBy, type WhoChangedOptions, whoChanged } from "../sandbox/workspace/who-changed.js";
