import type { Session } from "../../session/index.js";
import type { RunContext } from "../run/context.js";
import type { Scope } from "../run/scope.js";
import type { Chain } from "./chain.js";
import type { PendingRequest } from "./pending-request.js";

/** What those who deal with the requests of one batch share. */
export interface BatchWork {
  readonly run: RunContext;
  readonly scope: Scope;
  readonly chain: Chain;
  /** How many requests the batch has. */
  readonly size: number;
  /** Waits for an answer to a request, or to a question about it. */
  wait(item: PendingRequest, asked: Session): void;
  /** Begins what can be begun now, and hands the chain back when everything is done. */
  goOn(): void;
}
