import type { Dossier, Validation } from "../dossier.js";
import { rounded } from "../saying.js";
import { type Html, html } from "./html.js";
import { type Anchors, items, line, told, when } from "./words.js";

/** What was tested and validated. */
export function checksSection({ validations, counts }: Dossier, anchors: Anchors): Html {
  if (validations.total === 0) return html``;
  return html`<section id="checks" aria-labelledby="checks-h"><h2 id="checks-h">Tests and validations <span class="n">${counts.testsPassed} passed, ${counts.testsFailed} did not</span></h2>
${items(
  validations,
  (check) =>
    html`<details class="item"><summary><h3 dir="auto">${check.name}</h3> <span class="tag ${check.passed ? "good" : "bad"}">${check.passed ? "passed" : "did not pass"}</span>${check.score !== undefined && html` <span class="soft">score ${rounded(check.score)}</span>`}${line(check.tests && counted(check.tests), check.branch, check.by, when(check.at, "clock"))}</summary><div class="body">${tests(check)}${told(check.detail, "What it says")}${
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
