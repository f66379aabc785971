export { contentOf } from "./check.js";
export { checkSpec, limitsOf, secretsOf } from "./check-spec.js";
export { dockerSandbox } from "./docker/docker.js";
export {
  ConflictChoiceError,
  FileError,
  PathRefusedError,
  SandboxLostError,
  SandboxSpecError,
  SnapshotLimitError,
  UnmergedFilesError,
} from "./error.js";
export { endBox } from "./host/execution.js";
export { hostSandbox } from "./host/provider.js";
export type { Job } from "./job/job.js";
export { isPublic } from "./local/hosts.js";
export { BOX_VARIABLE, lineOf, startCleaning } from "./local/janitor.js";
export { sealed } from "./local/launcher.js";
export { localSandbox } from "./local/provider.js";
export { bytesOfName, namesOf, textOfName } from "./path.js";
export { processStat } from "./proc.js";
export type {
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
  type Limits,
  type Network,
  type SandboxRef,
  type SandboxSpec,
} from "./spec.js";
export { PIECE_BYTES, type Side, Trees } from "./trees.js";
export { virtualSandbox } from "./virtual/provider.js";
export { applyPatch, type PatchFiles } from "./workspace/apply-patch.js";
export { capture, importFolder } from "./workspace/capture.js";
export { checkout } from "./workspace/checkout.js";
export {
  type Choice,
  type Choices,
  type Conflict,
  conflictsOf,
  markedPaths,
  resolveTree,
} from "./workspace/conflict.js";
export { diffTrees, edited, entriesOf, entryAt } from "./workspace/entries.js";
export { filesAt, type WorkspaceFiles } from "./workspace/files-at.js";
export { Folder } from "./workspace/folder.js";
export { frozen } from "./workspace/frozen.js";
export { repositoryAt, runGit } from "./workspace/git.js";
export { type ExportedGit, type ExportOptions, exportGit } from "./workspace/git-export.js";
export { importGit } from "./workspace/git-import.js";
export { type MergedTree, mergeTrees } from "./workspace/merge.js";
export { patchOf } from "./workspace/patch.js";
export { type Step, stepsOf, takenParents, whoChanged } from "./workspace/step.js";
export { changedLines, linesOf } from "./workspace/text-merge.js";
