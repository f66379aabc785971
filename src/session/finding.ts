import { RathError } from "./error.js";

/** The result of a `reconcile`: the effect happened and gave this value; it certainly did not happen; or only a person can tell. */
export type Finding<Value> = { readonly value: Value } | "again" | "unknown";

/**
 * Reads the result of a `reconcile`. `{ output }` is the form of tools in version 0.1. Anything else is refused: as an
 * outcome it would be false evidence. That includes an undefined value, which is what a lookup returns that found nothing.
 */
export function findingOf(found: unknown, where: string): Finding<unknown> {
  if (found === "again" || found === "unknown") return found;
  if (typeof found === "object" && found !== null) {
    if ("value" in found && found.value !== undefined) return { value: found.value };
    if ("output" in found && found.output !== undefined) return { value: found.output };
  }
  throw new FindingError(where, found);
}

/** A `reconcile` returned something other than a `Finding`. The effect stays in doubt. */
export class FindingError extends RathError {
  constructor(where: string, found: unknown) {
    const fields =
      typeof found === "object" && found !== null
        ? Object.entries(found)
            .slice(0, 9)
            .map(([field, value]) => (value === undefined ? `${field}: undefined` : field))
        : undefined;
    const told = fields === undefined ? String(found) : `an object with ${fields.join(", ") || "no fields"}`;
    super(
      "finding-refused",
      `Cannot reconcile ${where}: its \`reconcile\` must return { value }, "again" or "unknown"; it returned ${told}.`,
      {
        hint: 'return { value } with the outcome, "again" if it certainly did not happen, or "unknown"',
        data: { where, ...(fields !== undefined && { fields }) },
      },
    );
  }
}
