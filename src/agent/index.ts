export { type Agent, type AgentOptions, agent } from "./agent.js";
export type { Fitter } from "./ask.js";
export { callTools, type ToolRequest } from "./call-tools.js";
export { AgentError, ModelFailedError, OutputError } from "./error.js";
export { outputOf } from "./output.js";
export { type StepInfo, type Stop, stopAfter, stopWhenCalled } from "./stop.js";
export type { Callable } from "./toolbox.js";
