export { act } from "./act.js";
export { type Agent, type AgentOptions, agent } from "./agent.js";

export { callTools } from "./call-tools.js";
export { AgentError, ModelFailedError, OutputError } from "./error.js";
export { outputOf } from "./output.js";
export { type StepInfo, stopAfter, stopWhenCalled } from "./stop.js";
export type { Callable } from "./toolbox.js";
export { replaced, toolboxOf } from "./toolbox.js";
export { within } from "./within.js";
