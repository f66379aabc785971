import { nearestOf } from "../../util/index.js";
import { AuditError } from "./error.js";

/** All options that there are. Whoever adds one to the type is told to add it where it is checked. */
export type Known<Options> = { readonly [option in keyof Options]-?: true };

/** An object with none but these: an option that is misspelt would be none. */
export function requireOptions<Options extends object>(
  options: Options,
  known: Known<Options>,
  use: string,
): void {
  if (typeof options !== "object" || options === null || Array.isArray(options))
    throw new AuditError(
      "question-refused",
      `Cannot ${use} with options that are no object.`,
      `the options are ${Object.keys(known).join(", ")}`,
    );
  const names = Object.keys(known);
  const unknown = Object.keys(options).find((option) => !names.includes(option));
  if (unknown === undefined) return;
  const meant = nearestOf(unknown, names);
  throw new AuditError(
    "question-refused",
    `Cannot ${use}: there is no option ${JSON.stringify(unknown.slice(0, 80))}.`,
    meant === undefined ? `the options are ${names.join(", ")}` : `did you mean "${meant}"?`,
    { option: unknown.slice(0, 80) },
  );
}
