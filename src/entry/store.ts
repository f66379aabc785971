export { digestsOf } from "../session/index.js";
export { ConflictError, FencedError, NotFoundError, StoreError } from "../store/error.js";
export type { Lease } from "../store/lease.js";
export { readLines } from "../store/lines.js";
export { openStore } from "../store/open.js";
export { recover } from "../store/recover.js";
export type {
  ExportOptions,
  ImportOptions,
  Line,
  LoadOptions,
  Recorded,
  SaveOptions,
  Store,
} from "../store/store.js";
