export { callTools } from "../agent/act.js";
export { type Agent, type AgentOptions, agent } from "../agent/agent.js";
export { GuardrailError, ModelFailedError, OutputError } from "../agent/error.js";
export type { Guardrail } from "../agent/guardrail.js";
export { outputOf } from "../agent/output.js";
export { activeSkills } from "../agent/skill/active.js";
export { loadInstructions } from "../agent/skill/instructions.js";
export { loadSkills, type Skills, skilled } from "../agent/skill/skills.js";
export { stopAfter, stopWhenCalled } from "../agent/stop.js";
