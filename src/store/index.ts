export { TreeWalk, treesIn } from "./care/tree-walk.js";
export {
  ConflictError,
  FencedError,
  NotFoundError,
  StoreError,
} from "./error.js";
export { lineBefore, readBlobLine, readErasureLine, readLines } from "./exchange/lines.js";
export { besideStore, defaultStore, homeOf, shownUrl } from "./home.js";
export type { Lease } from "./name/lease.js";
export { namesMoved, newestToken } from "./name/moved.js";
/** Which process something belongs to, and whether it is certainly gone. */
export { identityOf, isDead, newOwner, thisProcess } from "./name/owner.js";
export { openStore } from "./open.js";
export { type Found, findSession, freeName, isKeptByRuntime, nameFlaw } from "./reference.js";
export type {
  Erasure,
  Finding,
} from "./shelf.js";
export { beforeClosing } from "./shelf-store/shelf-store.js";
export {
  BUSY,
  openDatabase,
  type SqliteDatabase,
  type SqliteRow,
  type SqliteStatement,
  type SqliteValue,
  sqliteCode,
} from "./sqlite/driver.js";
export type {
  Checked,
  Line,
  LoadOptions,
  Name,
  NameMove,
  Recorded,
  SaveOptions,
  Store,
} from "./store.js";
