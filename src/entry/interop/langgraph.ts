export {
  CheckpointUnreadableError,
  PeerMissingError,
  SaverInputError,
  ThreadConflictError,
  ThreadMismatchError,
} from "../../connect/langgraph/error.js";
export { type RathSaver, type RathSaverOptions, rathSaver } from "../../connect/langgraph/saver.js";
