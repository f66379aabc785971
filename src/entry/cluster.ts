export {
  type Engine,
  type EngineHost,
  type EngineLink,
  local,
  type Taken,
  type Wake,
} from "../cluster/engine.js";
export { worker } from "../cluster/worker.js";
