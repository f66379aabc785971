import type { Session } from "../../session/index.js";
import type { Run } from "../run/run.js";
import type { Scope } from "../run/scope.js";
import type { Chain } from "./chain.js";
import type { PendingRequest } from "./pending-request.js";

/** The batch as its helpers see it. */
export interface BatchWork {
  readonly run: Run;
  readonly scope: Scope;
  readonly chain: Chain;
  /** How many requests the batch has. */
  readonly size: number;
  /** Waits for an answer to a request, or to a question about it. */
  wait(item: PendingRequest, asked: Session): void;
  /** Does something in a turn of its own, unless the request is done by then. */
  soon(item: PendingRequest, job: () => void): void;
  /** Begins what can be begun now, and hands the chain back when everything is done. */
  goOn(): void;
}
