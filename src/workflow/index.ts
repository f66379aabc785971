export {
  describe,
  digestOfModule,
  type Module,
} from "../runtime/index.js";
export { branch } from "./branch.js";
export { Workflow } from "./class.js";
export {
  anything,
  type Check,
  type Checks,
  checkOptions,
  createModule,
  defineModule,
  enter,
  functionLike,
  type Given,
  optional,
  orderOf,
  type Parts,
  partsOf,
  requireModule,
} from "./define.js";
export {
  LoopError,
  ModuleError,
  RaceError,
  RejectedError,
  RouteError,
  RuleError,
  StateError,
  StepError,
} from "./error.js";
export { type GateOptions, gate } from "./gate.js";
export { now, random, type StepResult, uuid, workBeside } from "./host.js";
export { loop } from "./loop.js";
export { map } from "./map.js";
export { mergeFiles } from "./merge.js";
export { mermaidOf } from "./mermaid.js";
export {
  called,
  type Refuse,
  recordable,
  refusing,
  requireBudget,
  requireCount,
  requireEffect,
  requireFunction,
  requireJson,
  requireMilliseconds,
  requireName,
  requireOptions,
  requireRetry,
  termsOrNone,
  textOrNone,
  texts,
  wrong,
  yesOrNo,
} from "./options.js";
export { allOf, parallel } from "./parallel.js";
export { race } from "./race.js";
export { retry } from "./retry.js";
export { sequence } from "./sequence.js";
export { gathered, joined, restAt } from "./side.js";
export { isModule, type Rebuilds, rebuild, type State, stateOf, unchangeable, withState } from "./state.js";
export {
  type Recorded,
  type Step,
  type StepContext,
  type StepOptions,
  step,
} from "./step.js";
export { approve, type Signal, signal, sleep } from "./wait.js";
export { workflow } from "./workflow.js";
