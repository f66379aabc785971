export { type Agent, type AgentOptions, agent } from "../agent/agent.js";
export type { Fitter } from "../agent/ask.js";
export { callTools, type ToolRequest } from "../agent/call-tools.js";
export { AgentError, ModelFailedError, OutputError } from "../agent/error.js";
export { outputOf } from "../agent/output.js";
export { type StepInfo, type Stop, stopAfter, stopWhenCalled } from "../agent/stop.js";
export type { Callable } from "../agent/toolbox.js";
