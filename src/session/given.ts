import { showValue } from "../util/index.js";
import { MergeError, RathError } from "./error.js";
import type { Adopt, FactOf } from "./fact/index.js";
import type { Session } from "./session.js";

export function given<Options extends object>(options: Options, use: string): Options {
  if (typeof options === "object" && options !== null) return options;
  throw new RathError("option-refused", `Cannot ${use} with ${showValue(options)} for options.`, {
    hint: 'leave the options out, or pass an object: { by: "user:ada" }',
    data: { use },
  });
}

/** The place of side effects is a name: a runtime knows what stands behind it, the record cannot. */
export function requirePlace(sandbox: unknown): void {
  if (typeof sandbox === "string") return;
  const what = sandbox === undefined ? "nothing" : showValue(sandbox);
  const provider = typeof (sandbox as { create?: unknown } | null | undefined)?.create === "function";
  throw new RathError("place-refused", `Cannot move a session to ${what}: a place is a name.`, {
    hint: provider
      ? 'give it a name where the runtime is opened: openRath({ sandboxes: { mine: provider } }), then session.to("mine")'
      : 'give its name, then its settings: session.to("local"), or session.to("local", { workspace: "./repo" })',
    data: { given: what },
  });
}

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
