export {
  allOf,
  anyOf,
  chat,
  handedOver,
  lasted,
  maxMessages,
  mentions,
  tokens,
} from "./chat.js";
export { crew } from "./crew.js";
export { crewFromYaml } from "./crew-from-yaml.js";
export { type FlowOptions, flow, keep, keptIn } from "./flow.js";
export { groupChat } from "./group-chat.js";
export { nestedChat } from "./nested-chat.js";
export { type SupervisorOptions, supervisor } from "./supervisor.js";
export { activeIn, swarm } from "./swarm.js";
export { TaskError } from "./task.js";
