export {
  type Attempt,
  type Budget,
  type Description,
  describe,
  digestOfModule,
  type Module,
  type Retry,
} from "../runtime/index.js";
export { branch, type Choose } from "../workflow/branch.js";
export {
  FilesConflictError,
  LoopError,
  ModuleError,
  RaceError,
  RejectedError,
  RouteError,
  RuleError,
  StateError,
  StepError,
} from "../workflow/error.js";
export { type MergeFilesOptions, mergeFiles, resumeSandbox, suspendSandbox } from "../workflow/files.js";
export { now, random, type Told, uuid } from "../workflow/host.js";
export { type LoopOptions, loop } from "../workflow/loop.js";
export { type MapOptions, type Mapped, map } from "../workflow/map.js";
export { mermaidOf } from "../workflow/mermaid.js";
export { type Parallel, type ParallelOptions, parallel } from "../workflow/parallel.js";
export { enter, type Parts } from "../workflow/part.js";
export { race } from "../workflow/race.js";
export { type RetryOptions, retry } from "../workflow/retry.js";
export { sequence } from "../workflow/sequence.js";
export { type Rebuilds, rebuild, type State, stateOf, withState } from "../workflow/state.js";
export {
  type Recorded,
  type Step,
  type StepContext,
  type StepOptions,
  type StepOrigin,
  step,
} from "../workflow/step.js";
export {
  type Approve,
  approve,
  type Signal,
  signal,
  sleep,
  type Verdict,
  type Wake,
} from "../workflow/wait.js";
export { Workflow, type WorkflowOptions, workflow } from "../workflow/workflow.js";
