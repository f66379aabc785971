export {
  type Client,
  client,
  ProblemError,
} from "../server/contract/client.js";
export type { Role } from "../server/contract/route.js";
export type { FactRow, PendingRow, SessionRow } from "../server/contract/rows.js";
