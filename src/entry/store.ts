export { digestsOf } from "../session/index.js";
export { ConflictError, FencedError, NotFoundError, StoreError } from "../store/error.js";
export { readLines } from "../store/exchange/lines.js";
export type { Lease } from "../store/name/lease.js";
export { openStore } from "../store/open.js";
export { recover } from "../store/recover/recover.js";
export type {
  Line,
  Recorded,
  Store,
} from "../store/store.js";
