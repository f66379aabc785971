/** What a shelf of your own needs to read lines. */
export { checkLine, digestOf, digestsOf, parentsOf, refsOf } from "../session/index.js";
export {
  ConflictError,
  DamageError,
  FencedError,
  NotErasableError,
  NotFoundError,
  StoreError,
} from "./error.js";
export type { Lease } from "./lease.js";
export { readLines } from "./lines.js";
export { openStore } from "./open.js";
export { type Recovered, recover } from "./recover.js";
export type {
  Blob,
  Capabilities,
  Commit,
  Committed,
  Erasure,
  Fence,
  Finding,
  Move,
  NameRecord,
  Removal,
  Shelf,
  Tail,
} from "./shelf.js";
export { ShelfStore } from "./shelf-store.js";
export type {
  Checked,
  Collected,
  EraseOptions,
  ExportOptions,
  ForgetOptions,
  HistoryOptions,
  Imported,
  ImportOptions,
  LeaseOptions,
  Line,
  LoadOptions,
  Name,
  PointOptions,
  Recorded,
  Saved,
  SaveOptions,
  Store,
} from "./store.js";
