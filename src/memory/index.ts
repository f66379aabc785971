export {
  influence,
  influenceText,
  why,
  whyText,
} from "./answer/index.js";
export type { Backend, BackendContext, BackendFound, Kept } from "./backend.js";
export { BackendError, type BackendFault } from "./backend.js";

export { closeIndexes } from "./derived.js";
export { Connection, isBusy, patiently, SUFFIXES } from "./derived-file.js";
export { MemoryRefusedError } from "./error.js";
export { groundsOf } from "./evidence.js";
export { type MemoryOptions, type MemorySpace, memory } from "./memory.js";
export { derivedFolderOf } from "./name.js";
export type { Draft, Written } from "./operation.js";
export { LONGEST } from "./operation.js";
export { type RecallOptions, recall, recallAgain, remembering } from "./recall.js";
export type { ScopeGiven } from "./scope.js";
export { scopeOf } from "./scope.js";
export { Space } from "./space.js";
export type { Memory } from "./state.js";
export { memoryTools } from "./tools.js";
export { revoke, rollback } from "./undo.js";
export { SpaceView } from "./view.js";
