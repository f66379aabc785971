import { mayAgree, type Principal } from "../../session/index.js";
import { delegationOf } from "../policy/index.js";
import type { Rath } from "../rath.js";
import type { Awaited } from "./awaited.js";

/** The sender of answers through a protocol, and whether they may approve their own requests. */
export type Sender = { readonly who: Principal; readonly selfApproval: boolean };

/**
 * Says of what a run waits for whether a sender may answer it. Over a protocol, the requester of a run is not an approver
 * of what it does, unless the terms name them or `selfApproval` is set.
 */
export async function mayAnswer(
  rath: Rath,
  name: string,
  { who, selfApproval }: Sender,
): Promise<(one: Awaited) => boolean> {
  const isRequester = delegationOf(await rath.load(name)).includes(who);
  return (one) => {
    // A signal, and a question of a model, are asked of the requester as well.
    if (one.doubt !== true && (one.type !== "approval-ask" || one.answer !== undefined))
      return one.to === undefined || one.to.includes(who);
    return (one.to !== undefined || !isRequester || selfApproval) && mayAgree(one, who);
  };
}
