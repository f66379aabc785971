export {
  type Attempt,
  type Budget,
  type Description,
  describe,
  digestOfModule,
  type Module,
  type Retry,
} from "../runtime/index.js";
export { branch, type Choose } from "./branch.js";
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
} from "./error.js";
export { type MergeFilesOptions, mergeFiles, resumeSandbox, suspendSandbox } from "./files.js";
export { now, random, type Told, uuid } from "./host.js";
export { type LoopOptions, loop } from "./loop.js";
export { type MapOptions, type Mapped, map } from "./map.js";
export { mermaidOf } from "./mermaid.js";
export { type Parallel, type ParallelOptions, parallel } from "./parallel.js";
export { enter, type Parts } from "./part.js";
export { race } from "./race.js";
export { type RetryOptions, retry } from "./retry.js";
export { sequence } from "./sequence.js";
export { type Rebuilds, rebuild, type State, stateOf, withState } from "./state.js";
export {
  type Recorded,
  type Step,
  type StepContext,
  type StepOptions,
  type StepOrigin,
  step,
} from "./step.js";
export { type Approve, approve, type Signal, signal, sleep, type Verdict, type Wake } from "./wait.js";
export { Workflow, type WorkflowOptions, workflow } from "./workflow.js";
