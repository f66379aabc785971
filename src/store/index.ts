/** What a shelf of your own needs to read lines. */
export { checkLine, digestOf, digestsOf, parentsOf, refsOf } from "../session/index.js";
/** What a shelf of your own needs to keep blobs: which of a commit come without a fact, and which may be removed. */
export { looseIn } from "./commit.js";
export {
  ConflictError,
  DamageError,
  FencedError,
  NotErasableError,
  NotFoundError,
  StoreError,
} from "./error.js";
export { lineBefore } from "./goes-on.js";
export type { Lease } from "./lease.js";
export { readLines } from "./lines.js";
export { openStore } from "./open.js";
/** Which process something belongs to, and whether it is certainly gone. */
export { identityOf, isDead, newOwner, thisProcess } from "./owner.js";
export { type Recovered, recover } from "./recover.js";
export { removable, type Standing } from "./removal.js";
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
  CollectOptions,
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
