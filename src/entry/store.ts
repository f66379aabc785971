/** What a shelf of your own needs to read lines. */
export { checkLine, digestOf, digestsOf, parentsOf, refsOf } from "../session/index.js";
/** What a shelf of your own needs to keep blobs: which of a commit come without a fact, and which may be removed. */
export { looseIn } from "../store/commit.js";
export {
  ConflictError,
  DamageError,
  FencedError,
  NotErasableError,
  NotFoundError,
  StoreError,
} from "../store/error.js";
export { lineBefore } from "../store/goes-on.js";
export type { Lease } from "../store/lease.js";
export { readLines } from "../store/lines.js";
export { openStore } from "../store/open.js";
/** Which process something belongs to, and whether it is certainly gone. */
export { identityOf, isDead, newOwner, thisProcess } from "../store/owner.js";
export { type Recovered, recover } from "../store/recover.js";
export { removable, type Standing } from "../store/removal.js";
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
} from "../store/shelf.js";
export { ShelfStore } from "../store/shelf-store.js";
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
} from "../store/store.js";
