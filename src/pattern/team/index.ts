export { type ChatOptions, chat } from "./chat.js";
export { type Crew, type CrewOptions, crew } from "./crew.js";
export {
  allOf,
  anyOf,
  type Chatting,
  type Ending,
  handedOver,
  lasted,
  maxMessages,
  mentions,
  tokens,
} from "./ending.js";
export { TaskError } from "./error.js";
export { type FlowOptions, flow, keep, keptIn } from "./flow.js";
export type { FlowStep, On } from "./flow-step.js";
export { type GroupChatOptions, groupChat } from "./group-chat.js";
export type { HandoffOutput } from "./handoff.js";
export { type NestedChatOptions, nestedChat } from "./nested-chat.js";
export { type SupervisorOptions, supervisor } from "./supervisor.js";
export { activeIn, type SwarmOptions, swarm } from "./swarm.js";
export type { CrewTask } from "./task.js";
