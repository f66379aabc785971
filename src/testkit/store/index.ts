import { alsoCases } from "./also.js";
import { careCases } from "./care.js";
import { type ConformanceCase, ConformanceError, type MakeStore } from "./case.js";
import { eraseCases } from "./erase.js";
import { exchangeCases } from "./exchange.js";
import { keepCases } from "./keep.js";
import { leaseCases } from "./lease.js";
import { loadCases } from "./load.js";
import { nameCases } from "./name.js";
import { treeCases } from "./tree.js";
import { watchCases } from "./watch.js";

export {
  type ConformanceCase,
  ConformanceError,
  type MadeStore,
  type MakeStore,
} from "./case.js";

/**
 * The promises of `SPEC.md` that can be seen through the `Store` interface, each as a program that throws when
 * it is broken. Needs no test runner: run it on a store of your own.
 *
 * ```ts
 * const { failed } = await runConformance(async () => {
 *   const path = await mkdtemp(join(tmpdir(), "mine-"));
 *   return { open: () => openMyStore(path), destroy: () => rm(path, { recursive: true }) };
 * });
 * ```
 */
export const conformance: readonly ConformanceCase[] = Object.freeze([
  ...keepCases,
  ...nameCases,
  ...alsoCases,
  ...leaseCases,
  ...loadCases,
  ...exchangeCases,
  ...careCases,
  ...eraseCases,
  ...treeCases,
  ...watchCases,
]);

export type ConformanceReport = {
  readonly passed: number;
  readonly failed: readonly { readonly id: string; readonly title: string; readonly error: Error }[];
  /** Promises that mean nothing to this store, such as surviving a restart to one in memory. */
  readonly skipped: readonly { readonly id: string; readonly title: string; readonly note: string }[];
};

export type ConformanceOptions = {
  /** Ids of the cases to run; all of them unless given. */
  readonly only?: readonly string[];
  /** Told of each case when it is over, in one line. */
  readonly report?: (line: string) => void;
};

/** Runs the cases one after the other, each on fresh stores, and says which promises are kept. */
export async function runConformance(
  makeStore: MakeStore,
  options: ConformanceOptions = {},
): Promise<ConformanceReport> {
  const { only, report = () => {} } = options;
  const failed: { id: string; title: string; error: Error }[] = [];
  const skipped: { id: string; title: string; note: string }[] = [];
  let passed = 0;
  for (const { id, title, run } of conformance) {
    if (only !== undefined && !only.includes(id)) continue;
    try {
      const note = await run(makeStore);
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
