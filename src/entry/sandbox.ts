export { dockerSandbox } from "../sandbox/docker/docker.js";
export {
  PathRefusedError,
  SandboxLostError,
  SandboxSpecError,
  SandboxUnavailableError,
} from "../sandbox/error.js";
export { hostSandbox } from "../sandbox/host/provider.js";
export { runJob } from "../sandbox/job/job.js";
export { localSandbox } from "../sandbox/local/provider.js";
export type {
  ExecOptions,
  ExecResult,
  Execution,
  Sandbox,
  SandboxFiles,
  SandboxProvider,
  Snapshot,
} from "../sandbox/sandbox.js";
export type { Capabilities, Limits, SandboxSpec } from "../sandbox/spec.js";
export { Trees } from "../sandbox/trees.js";
export { virtualSandbox } from "../sandbox/virtual/provider.js";
export { capture, importFolder } from "../sandbox/workspace/capture.js";
export { checkout } from "../sandbox/workspace/checkout.js";
export { diffTrees } from "../sandbox/workspace/entries.js";
export { filesAt } from "../sandbox/workspace/files-at.js";
export { frozen } from "../sandbox/workspace/frozen.js";
export { exportGit } from "../sandbox/workspace/git-export.js";
export { importGit } from "../sandbox/workspace/git-import.js";
export { mergeTrees } from "../sandbox/workspace/merge.js";
export { patchOf } from "../sandbox/workspace/patch.js";
export { StatCache as CaptureCache } from "../sandbox/workspace/stat-cache.js";
export { whoChanged } from "../sandbox/workspace/step.js";
