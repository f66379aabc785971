export {
  CheckpointUnreadableError,
  PeerMissingError,
  SaverInputError,
  ThreadConflictError,
  ThreadMismatchError,
} from "./error.js";
export { type RathSaver, type RathSaverOptions, rathSaver } from "./saver.js";
