import type { FactId } from "../../session/index.js";
import type { Listed, Validation } from "./dossier.js";
import { Sample } from "./sample.js";
import { itemOf, type Seen } from "./seen.js";
import { cut, isObject, text, type Words } from "./words.js";

/** What was validated: tests that were run, and everything else that reported. */
export class Checks {
  readonly #words: Words;
  readonly #sample: Sample<Validation>;
  passed = 0;
  failed = 0;

  constructor(most: number, words: Words) {
    this.#words = words;
    this.#sample = new Sample(most);
  }

  see(seen: Seen, command: FactId | undefined): void {
    const { fact } = seen;
    if (fact.type !== "validation-report") return;
    if (fact.passed) this.passed += 1;
    else this.failed += 1;
    const detail = this.#words.maybe(fact.detail);
    const tests = testsIn(fact.detail);
    this.#sample.add({
      ...itemOf(seen),
      name: fact.name,
      passed: fact.passed,
      ...(fact.score !== undefined && { score: fact.score }),
      ...(detail !== undefined && { detail }),
      ...(tests !== undefined && { tests }),
      ...(fact.of !== undefined && { of: fact.of }),
      ...(command !== undefined && { command }),
    });
  }

  listed(): Listed<Validation> {
    return this.#sample.listed();
  }
}

const FAILURES = 50;

/** What a run of tests says, where it says it as our tools do. */
function testsIn(detail: unknown): Validation["tests"] {
  if (!isObject(detail) || typeof detail.passed !== "number" || typeof detail.failed !== "number")
    return undefined;
  const { passed, failed, skipped, total } = detail;
  const failures: readonly unknown[] = Array.isArray(detail.failures) ? detail.failures : [];
  return {
    passed,
    failed,
    ...(typeof skipped === "number" && { skipped }),
    ...(typeof total === "number" && { total }),
    failures: {
      items: failures
        .slice(0, FAILURES)
        .filter(isObject)
        .map(({ name, message }) => ({
          name: cut(text(name), FAILURES * 8),
          ...(message !== undefined && { message: cut(text(message), FAILURES * 40) }),
        })),
      total: failures.length,
    },
  };
}
