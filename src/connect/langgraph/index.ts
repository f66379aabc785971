export {
  SaverInputError,
  ThreadConflictError,
  ThreadMismatchError,
} from "./error.js";
export { type RathSaver, rathSaver } from "./saver.js";
