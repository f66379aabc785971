import { type ConformanceOptions, type ConformanceReport, runCases } from "../runner.js";
import type { SandboxCase, SandboxPlace } from "./case.js";
import { commandCases } from "./command.js";
import { endCases } from "./end.js";
import { filesCases } from "./files.js";
import { lifeCases } from "./life.js";
import { limitCases } from "./limit.js";
import { pathsCases } from "./paths.js";
import { providerCases } from "./provider.js";
import { streamCases } from "./stream.js";
import { forkCases, restoreCases, treeCases } from "./tree.js";

export type { SandboxCase, SandboxPlace } from "./case.js";

/**
 * The promises of every kind of sandbox as programs that throw; no test runner is needed.
 *
 * ```ts
 * const { failed } = await runSandboxConformance({ provider: async () => mySandbox() });
 * ```
 */
export const sandboxConformance: readonly SandboxCase[] = Object.freeze([
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

/** Runs the cases one after the other, each with a provider of its own, and says which promises are kept. */
export function runSandboxConformance(
  place: SandboxPlace,
  options: ConformanceOptions = {},
): Promise<ConformanceReport> {
  return runCases(sandboxConformance, place, options);
}
