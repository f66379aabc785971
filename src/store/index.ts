export { beforeClosing } from "./closing.js";
export {
  ConflictError,
  FencedError,
  NotFoundError,
  StoreError,
} from "./error.js";
export { lineBefore } from "./goes-on.js";
export type { Lease } from "./lease.js";
export { readLines } from "./lines.js";
export { openStore } from "./open.js";
/** Which process something belongs to, and whether it is certainly gone. */
export { identityOf, isDead, newOwner, thisProcess } from "./owner.js";
export { importFolder } from "./recover.js";
export type {
  Erasure,
  Finding,
} from "./shelf.js";

export {
  BUSY,
  openDatabase,
  type SqliteDatabase,
  type SqliteRow,
  type SqliteStatement,
  type SqliteValue,
  sqliteCode,
} from "./sqlite-driver.js";
export type {
  Checked,
  Line,
  Name,
  Recorded,
  SaveOptions,
  Store,
} from "./store.js";
export { TreeWalk, treesIn } from "./tree-walk.js";
