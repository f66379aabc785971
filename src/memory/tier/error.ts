import { type Json, RathError } from "../../session/index.js";

/** Why an edit of core memory was refused. */
export type BlockFault = "unknown" | "read-only" | "limit" | "text" | "undo";

/** An edit of a block that cannot be made as it was asked for: the model reads this and tries something else. */
export class BlockError extends RathError {
  constructor(
    fault: BlockFault,
    label: string,
    reason: string,
    hint: string,
    data: { readonly [key: string]: Json } = {},
  ) {
    super(
      `memory-block-${fault}`,
      `Cannot edit the block ${JSON.stringify(label.slice(0, 100))}: ${reason}. ${hint}`,
      { hint, data: { label: label.slice(0, 100), reason, ...data } },
    );
  }
}
