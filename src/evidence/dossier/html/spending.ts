import { costText } from "../../../session/index.js";
import type { Dossier, Listed, Spent } from "../dossier.js";
import { type Html, html } from "./html.js";
import { type Anchors, column, inline, items, lasting, leftOut, numbers, table, when } from "./words.js";

/** Usage and cost by agent, model and branch; budgets and where they stopped something. */
export function spendingSection({ spending, budgets }: Dossier, anchors: Anchors): Html {
  if (spending.total.calls + spending.elsewhere.calls + budgets.total === 0) return html``;
  return html`<section id="spending" aria-labelledby="spending-h"><h2 id="spending-h">Usage and cost</h2>
<p class="lead">Every call is counted once, however often branches share it.${!spending.priced && " Some replies have no price: a sum that includes one of them is unknown."}</p>
${sums("By agent", spending.agents)}${sums("By model", spending.models)}${sums("By branch", spending.branches)}${
  spending.elsewhere.calls > 0 &&
  html`<p class="small">On branches that are not in the past of the result: ${spending.elsewhere.calls.toLocaleString("en")} calls, ${costText(spending.elsewhere.cost)}. They are in the tables, and not in the sums at the top.</p>`
}${
  budgets.total > 0 &&
  html`<p class="label">Budgets</p><ul>${items(
    budgets,
    (one) =>
      html`<li>${one.kind === "set" ? html`Set: ${inline(one.limits)}` : html`<span class="tag bad">stopped</span> ${one.limit}: ${one.spent} of ${one.allowed} spent, ${one.asked} more asked for`} <span class="soft">${when(one.at)}</span> ${anchors.id(one.facts[0] ?? "")}</li>`,
    (words) => html`<li class="more">${words}</li>`,
  )}</ul>`
}</section>`;
}

function sums(title: string, list: Listed<Spent & { readonly name: string }>): Html {
  if (list.total === 0) return html``;
  const heads = [
    column(title),
    ...["Calls", "Tokens in", "of it cached", "Tokens out", "of it reasoning", "Cost", "Time"].map(numbers),
  ];
  const rows = items(
    list,
    ({ name, calls, usage, cost, milliseconds }) =>
      html`<tr><th scope="row" dir="auto">${name}</th>${[
        calls.toLocaleString("en"),
        usage.input.toLocaleString("en"),
        usage.cached.toLocaleString("en"),
        usage.output.toLocaleString("en"),
        usage.reasoning.toLocaleString("en"),
        costText(cost),
        lasting(milliseconds),
      ].map((value) => html`<td class="num">${value}</td>`)}</tr>`,
    leftOut(8),
  );
  return table(title, heads, rows);
}
