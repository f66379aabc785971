export {
  type Engine,
  type EngineHost,
  type EngineLink,
  local,
  type Taken,
  type Wake,
} from "../cluster/engine.js";
export { fanOut } from "../cluster/fan.js";
export { type Queue, queue } from "../cluster/queue.js";
export { worker } from "../cluster/worker.js";
