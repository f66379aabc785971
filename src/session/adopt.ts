import { showValue } from "../util/index.js";
import { MergeError } from "./error.js";
import type { Adopt, FactOf } from "./fact/index.js";
import type { Session } from "./session.js";

/** The side of a merge that goes on, as the record says it. */
export function adoptOf(
  adopt: Adopt | Session,
  parents: readonly Session[],
): FactOf<"branch-merge">["adopt"] {
  if (parents.length < 2)
    throw new MergeError("there is nothing to merge", "pass one session or a list of at least one");
  if (new Set(parents.map((parent) => parent.id)).size !== parents.length) {
    throw new MergeError(
      "the same session is there twice",
      "merge each branch once; a session cannot merge with itself",
    );
  }
  const choice =
    typeof adopt === "object" && adopt !== null
      ? parents.findIndex((parent) => parent.id === adopt.id)
      : adopt;
  const sides = parents.length === 2 ? ["ours", "theirs", "both", "none"] : ["ours", "both", "none"];
  if (typeof choice === "number" ? choice in parents : sides.includes(choice)) return choice;
  throw new MergeError(
    `no side answers to adopt: ${showValue(adopt)}`,
    'adopt "ours", "theirs" (of two), "both", "none" to gather without preferring a side, one of the merged sessions, or its place in the list',
  );
}
