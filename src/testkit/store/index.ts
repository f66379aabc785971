import { type ConformanceOptions, type ConformanceReport, runCases } from "../runner.js";
import { alsoCases } from "./also.js";
import { careCases } from "./care.js";
import type { MakeStore, StoreCase } from "./case.js";
import { eraseCases } from "./erase.js";
import { exchangeCases } from "./exchange.js";
import { factsCases } from "./facts.js";
import { keepCases } from "./keep.js";
import { loadCases } from "./load.js";
import { leaseCases, nameCases } from "./name.js";
import { treeCases } from "./tree.js";
import { watchCases } from "./watch.js";

export type { MakeStore, StoreCase } from "./case.js";

/**
 * The promises of `SPEC.md` visible through `Store`, as programs that throw; no test runner is needed.
 *
 * ```ts
 * const { failed } = await runStoreConformance(async () => {
 *   const path = await mkdtemp(join(tmpdir(), "mine-"));
 *   return { open: () => openMyStore(path), destroy: () => rm(path, { recursive: true }) };
 * });
 * ```
 */
export const storeConformance: readonly StoreCase[] = Object.freeze([
  ...keepCases,
  ...nameCases,
  ...alsoCases,
  ...leaseCases,
  ...loadCases,
  ...factsCases,
  ...exchangeCases,
  ...careCases,
  ...eraseCases,
  ...treeCases,
  ...watchCases,
]);

/** Runs the cases one after the other, each on fresh stores, and says which promises are kept. */
export function runStoreConformance(
  makeStore: MakeStore,
  options: ConformanceOptions = {},
): Promise<ConformanceReport> {
  return runCases(storeConformance, makeStore, options);
}
