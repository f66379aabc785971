import { RathError } from "../../session/index.js";
import { nearestOf } from "../../util/index.js";

/** All options that there are. Whoever adds one to the type is told to add it here. */
export type Known<Options> = { readonly [option in keyof Options]-?: true };

/** Refuses an option that there is not: misspelt, it would be none, and a check that was asked for would not be made. */
export function requireOptions<Options extends object>(
  options: Options,
  known: Known<Options>,
  call: string,
): void {
  if (typeof options !== "object" || options === null || Array.isArray(options))
    throw new RathError("option-refused", `The options of ${call} are no object.`, {
      hint: `the options are ${Object.keys(known).join(", ")}`,
    });
  const unknown = Object.keys(options).find((option) => !Object.hasOwn(known, option));
  if (unknown === undefined) return;
  const meant = nearestOf(unknown, Object.keys(known));
  throw new RathError("option-refused", `${call} has no option ${JSON.stringify(unknown.slice(0, 60))}.`, {
    hint:
      meant === undefined ? `the options are ${Object.keys(known).join(", ")}` : `did you mean "${meant}"?`,
    data: { option: unknown.slice(0, 60) },
  });
}
