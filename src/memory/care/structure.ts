import { ROOT } from "../files/path.js";
import type { Memory } from "../state.js";
import { CORE } from "../tier/block.js";

/** Whether a memory is a block of core memory or a file: what is in them is for those who keep them to say. */
export function isKeptElsewhere({ subject }: Pick<Memory, "subject">): boolean {
  return subject !== undefined && (subject.startsWith(CORE) || subject.startsWith(`${ROOT}/`));
}
