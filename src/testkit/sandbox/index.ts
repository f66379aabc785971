import { type ConformanceCase, ConformanceError, type Place, UnknownCaseError } from "./case.js";
import { commandCases } from "./command.js";
import { endCases } from "./end.js";
import { filesCases } from "./files.js";
import { forkCases } from "./fork.js";
import { lifeCases } from "./life.js";
import { limitCases } from "./limit.js";
import { pathsCases } from "./paths.js";
import { providerCases } from "./provider.js";
import { restoreCases } from "./restore.js";
import { streamCases } from "./stream.js";
import { treeCases } from "./tree.js";

export { type ConformanceCase, ConformanceError, type Place, UnknownCaseError } from "./case.js";

/**
 * What every kind of sandbox promises, each promise as a program that throws when it is broken. Needs no test runner:
 * run it on a provider of your own.
 *
 * ```ts
 * const { failed } = await runConformance({ provider: async () => mySandbox() });
 * ```
 */
export const conformance: readonly ConformanceCase[] = Object.freeze([
  ...providerCases,
  ...commandCases,
  ...streamCases,
  ...endCases,
  ...filesCases,
  ...pathsCases,
  ...treeCases,
  ...restoreCases,
  ...forkCases,
  ...lifeCases,
  ...limitCases,
]);

export type ConformanceReport = {
  readonly passed: number;
  readonly failed: readonly { readonly id: string; readonly title: string; readonly error: Error }[];
  /** Promises that mean nothing to this kind of sandbox, such as terminals where there are none, and why. */
  readonly skipped: readonly { readonly id: string; readonly title: string; readonly note: string }[];
};

export type ConformanceOptions = {
  /** Ids of the cases to run; all of them unless given. */
  readonly only?: readonly string[];
  /** Told of each case when it is over, in one line. */
  readonly report?: (line: string) => void;
};

/**
 * Runs the cases one after the other, each with a provider of its own, and says which promises are kept. An id in `only`
 * that there is not is an `UnknownCaseError`.
 */
export async function runConformance(
  place: Place,
  options: ConformanceOptions = {},
): Promise<ConformanceReport> {
  const { only, report = () => {} } = options;
  const known = conformance.map(({ id }) => id);
  const unknown = (only ?? []).filter((id) => !known.includes(id));
  if (unknown.length > 0) throw new UnknownCaseError(unknown, known);
  const failed: { id: string; title: string; error: Error }[] = [];
  const skipped: { id: string; title: string; note: string }[] = [];
  let passed = 0;
  for (const { id, title, run } of conformance) {
    if (only !== undefined && !only.includes(id)) continue;
    try {
      const note = await run(place);
      if (note === undefined) passed += 1;
      else skipped.push({ id, title, note });
      report(note === undefined ? `ok    [${id}] ${title}` : `skip  [${id}] ${title}: ${note}`);
    } catch (error) {
      const known = error instanceof Error ? error : new ConformanceError(id, title, error);
      failed.push({ id, title, error: known });
      report(`FAIL  [${id}] ${title}: ${known.message}`);
    }
  }
  return { passed, failed, skipped };
}
