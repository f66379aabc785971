import type { FactId } from "../../session/index.js";
import { defined, isObject } from "../../util/index.js";
import type { Dossier } from "./dossier.js";
import { type Html, html } from "./html/html.js";
import { type Anchors, items, line, told, when } from "./html/words.js";
import { itemOf, Sample, type Seen } from "./item.js";
import { cut, type Item, type Listed, rounded, type Told, text, type Words } from "./words.js";

export type Validation = Item & {
  readonly name: string;
  readonly passed: boolean;
  readonly score?: number;
  readonly detail?: Told;
  /** Where it says how many tests there were. */
  readonly tests?: {
    readonly passed: number;
    readonly failed: number;
    readonly skipped?: number;
    readonly total?: number;
    readonly failures: Listed<{ readonly name: string; readonly message?: string }>;
  };
  readonly of?: FactId;
  /** The command that was run for it. */
  readonly command?: FactId;
};

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
    this.#sample.add({
      ...itemOf(seen),
      name: fact.name,
      passed: fact.passed,
      ...defined({
        score: fact.score,
        detail: this.#words.maybe(fact.detail),
        tests: testsIn(fact.detail),
        of: fact.of,
        command,
      }),
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

/** What was tested and validated. */
export function checksSection({ validations, counts }: Dossier, anchors: Anchors): Html {
  if (validations.total === 0) return html``;
  return html`<section id="checks" aria-labelledby="checks-h"><h2 id="checks-h">Tests and validations <span class="n">${counts.testsPassed} passed, ${counts.testsFailed} did not</span></h2>
${items(
  validations,
  (check) =>
    html`<details class="item"><summary><h3 dir="auto">${check.name}</h3> <span class="tag ${check.passed ? "good" : "bad"}">${check.passed ? "passed" : "did not pass"}</span>${check.score !== undefined && html` <span class="soft">score ${rounded(check.score)}</span>`}${line(check.tests && counted(check.tests), check.branch, check.by, when(check.at, "clock"))}</summary><div class="body">${tests(check)}${told(check.detail, "Detail")}${
      check.command !== undefined &&
      html`<p class="small">The command that was run: ${anchors.id(check.command)}</p>`
    }${check.of !== undefined && html`<p class="small">Of the call ${anchors.id(check.of)}</p>`}${anchors.proofs(check.facts)}</div></details>`,
)}</section>`;
}

type Tests = NonNullable<Validation["tests"]>;

function counted({ passed, failed, skipped = 0, total }: Tests): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}${total === undefined ? "" : ` of ${total}`}`;
}

function tests({ tests: found }: Validation): Html {
  if (found === undefined || found.failures.total === 0) return html``;
  return html`<p class="label">What failed</p>${items(
    found.failures,
    ({ name, message }) =>
      html`<div class="said"><b dir="auto">${name}</b>${message !== undefined && html`<pre dir="auto">${message}</pre>`}</div>`,
  )}`;
}
