import { isObject, parseJson } from "../../../util/index.js";
import type { Found, TestFailure } from "./report.js";

type Case = {
  readonly fullName?: unknown;
  readonly status?: unknown;
  readonly failureMessages?: unknown;
};

/** The JSON that jest and vitest write, on a line of its own or alone in a file. */
export function readJson(output: string): Found {
  for (const text of [output, ...output.split("\n")]) {
    const trimmed = text.trim();
    if (!trimmed.startsWith("{") || !trimmed.includes('"numTotalTests"')) continue;
    const value = parseJson(trimmed);
    if (isObject(value) && Array.isArray(value.testResults)) return counted(value.testResults);
  }
  return undefined;
}

function counted(files: readonly unknown[]): Found {
  let [passed, failed, skipped] = [0, 0, 0];
  const failures: TestFailure[] = [];
  for (const file of files) {
    const { assertionResults, status, message, name } = (file ?? {}) as { readonly [field: string]: unknown };
    const cases = Array.isArray(assertionResults) ? (assertionResults as readonly Case[]) : [];
    for (const one of cases) {
      if (one.status === "passed") passed += 1;
      else if (one.status !== "failed") skipped += 1;
      else {
        failed += 1;
        const messages = Array.isArray(one.failureMessages) ? one.failureMessages : [];
        const words = String(messages[0] ?? "").split(/\n +at /)[0] ?? "";
        failures.push({ name: String(one.fullName ?? ""), message: words.trim() });
      }
    }
    // A file that could not be run has no tests, and none of them passed.
    if (cases.length === 0 && status === "failed") {
      failed += 1;
      failures.push({ name: String(name ?? ""), message: String(message ?? "").trim() });
    }
  }
  return { passed, failed, skipped, failures };
}
