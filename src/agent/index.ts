export { act, callTools } from "./act.js";
export { type Agent, type AgentOptions, agent } from "./agent.js";
export { AgentError, GuardrailError, ModelFailedError, OutputError } from "./error.js";
export { answerOf, checkerFor, outputOf, parseAnswer } from "./output.js";
export type { PrepareStep } from "./prepare.js";
export { endOf, type StepInfo, stopAfter, stopAt, stopOf, stopWhenCalled } from "./stop.js";
export { type Callable, descriptionOf, replaced, toolboxOf, transferName } from "./toolbox.js";
export { within } from "./within.js";
