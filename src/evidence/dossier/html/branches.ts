import { costText } from "../../../session/index.js";
import type { Branch, Dossier } from "../dossier.js";
import { rounded } from "../saying.js";
import { fateWord } from "./graph.js";
import { type Html, html } from "./html.js";
import { reason } from "./summary.js";
import { type Anchors, column, count, inline, items, line, pairs, table, told, when } from "./words.js";

/** Every branch, what became of it and why; and what selectors chose. */
export function branchesSection({ branches, routes }: Dossier, anchors: Anchors): Html {
  return html`<section id="branches" aria-labelledby="branches-h"><h2 id="branches-h">Branches and decisions <span class="n">${branches.total.toLocaleString("en")}</span></h2>
${items(branches, (branch) => item(branch, anchors))}${chosen(routes, anchors)}</section>`;
}

function item(branch: Branch, anchors: Anchors): Html {
  const { decided, facts, head, models, tools, usage, cost } = branch;
  const tone =
    branch.fate === "accepted" || branch.fate === "result" ? "good" : branch.fate === "rejected" ? "bad" : "";
  return html`<details class="item"><summary><h3 dir="auto">${branch.name}</h3> <span class="tag ${tone}">${fateWord(branch)}</span>${reason(branch)}${line(
    count(branch.length, "fact"),
    models > 0 && count(models, "model call"),
    tools > 0 && count(tools, "tool call"),
    models > 0 && cost !== 0 && costText(cost),
    branch.parent !== undefined && `from ${branch.parent}`,
  )}</summary><div class="body">${pairs([
    ["Begun by", html`${branch.by}, ${when(branch.at)}`],
    ["Why it was begun", inline(branch.why, 600)],
    [
      branch.fate === "gathered" ? "Gathered by" : "Decided by",
      decided && html`${decided.by}, ${when(decided.at)} ${anchors.id(decided.fact)}`,
    ],
    ["Why", inline(decided?.why, 1_000)],
    ["Went on in", branch.fate === "gathered" ? undefined : decided?.into],
    [
      "Checks",
      branch.checks.length > 0 &&
        branch.checks.map(
          ({ name, passed, score, fact }) =>
            html`<span class="tag ${passed ? "good" : "bad"}">${name} ${passed ? "passed" : "did not pass"}${score !== undefined && `, ${rounded(score)}`}</span> ${anchors.id(fact)} `,
        ),
    ],
    [
      "Tokens",
      usage.input + usage.output > 0 &&
        `${usage.input.toLocaleString("en")} in, ${usage.output.toLocaleString("en")} out`,
    ],
    ["Ends at", anchors.id(head)],
    [
      "In the result's past",
      branch.elsewhere === true ? "no: it was found because it hangs from a fact of this session" : undefined,
    ],
  ])}${told(branch.answer, "What was said last on it", "plain")}${anchors.proofs(facts)}</div></details>`;
}

function chosen(routes: Dossier["routes"], anchors: Anchors): Html {
  if (routes.total === 0) return html``;
  const rows = items(
    routes,
    (route) =>
      html`<tr><th scope="row">${route.selector}</th><td>${route.chosen ?? "none"}</td><td>${route.candidates.map(({ name, score }) => html`${name}${score !== undefined && ` (${rounded(score)})`} `)}</td><td class="words">${inline(route.why)}</td><td>${route.chooser}</td><td>${anchors.id(route.facts[0] ?? "")}</td></tr>`,
    (words) => html`<tr><td class="more" colspan="6">${words}</td></tr>`,
  );
  return html`<p class="label">What selectors chose</p>${table("What selectors chose", ["Selector", "Chosen", "Among", "Why", "By", "Fact"].map(column), rows)}`;
}
