// The public names that most programs need. Larger features have entry points of their own: see src/entry.
export { type Agent, type AgentOptions, agent, outputOf, stopAfter } from "./agent/index.js";
export { compatible, type LanguageModel, renderedPrompt, scripted } from "./agent/model/index.js";
export { askPerson, content, type Tool, tool } from "./agent/tool/index.js";
export type { Memory, MemorySpace } from "./memory/index.js";
export { byModel, routeOf, type Selector, selector } from "./pattern/selector/index.js";
export {
  DivergenceError,
  openRath,
  type Rath,
  type RathOptions,
  type RunEvent,
  RunFailedError,
  statusOf,
} from "./runtime/index.js";
export { type Policy, policy } from "./runtime/policy/index.js";
export type { Sandbox } from "./sandbox/index.js";
export {
  diff,
  type Fact,
  type FactId,
  type FactOf,
  type Json,
  type Principal,
  RathError,
  Session,
} from "./session/index.js";
export {
  approve,
  branch,
  describe,
  gate,
  loop,
  type Module,
  map,
  mergeFiles,
  mermaidOf,
  now,
  parallel,
  race,
  random,
  retry,
  sequence,
  signal,
  sleep,
  stateOf,
  step,
  uuid,
  Workflow,
  withState,
  workflow,
} from "./workflow/index.js";
