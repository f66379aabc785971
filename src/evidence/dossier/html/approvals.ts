import type { Answer, Approval, Dossier } from "../dossier.js";
import { type Html, html } from "./html.js";
import { type Anchors, column, inline, items, leftOut, line, pairs, table, told, when } from "./words.js";

/** What people were shown and said, and what policies decided. */
export function approvalsSection({ approvals, policies }: Dossier, anchors: Anchors): Html {
  if (approvals.total + policies.rulings.total + policies.set.total === 0) return html``;
  return html`<section id="approvals" aria-labelledby="approvals-h"><h2 id="approvals-h">Approvals and policy <span class="n">${approvals.total.toLocaleString("en")} asked, ${policies.rulings.total.toLocaleString("en")} decided by policy</span></h2>
${items(approvals, (approval) => item(approval, anchors))}${rulings(policies, anchors)}</section>`;
}

function item(approval: Approval, anchors: Anchors): Html {
  const last = approval.answers.at(-1);
  return html`<details class="item"${OPEN}><summary><h3 dir="auto">${approval.name ?? inline(approval.what, 100)}</h3> <span class="tag ${last === undefined ? "warn" : last.decision === "reject" ? "bad" : "good"}">${last?.decision ?? "not answered"}</span>${line(
    last?.by,
    approval.branch,
    when(approval.at),
  )}</summary><div class="body">${told(approval.what, "Exactly this was shown")}<p class="small">${sound(approval)}</p>${pairs(
    [
      ["Asked", approval.to?.join(", ")],
      ["Because of the rule", approval.rule],
      ["Until", approval.expires],
      ["About the call", approval.of && anchors.id(approval.of)],
    ],
  )}${told(approval.why, "Why it was asked")}${told(approval.edited, "Arguments that were put in place")}${approval.answers.map((answer) => given(answer, anchors))}${anchors.proofs(approval.facts)}</div></details>`;
}

const OPEN = html` open`;

function sound({ sound: is, digest }: Approval): Html {
  const hash = html`<span class="hash">${digest}</span>`;
  if (is === true) return html`<span class="tag good">digest checked</span> ${hash}`;
  if (is === false) return html`<span class="tag bad">the digest is of something else</span> ${hash}`;
  return html`<span class="tag warn">what was shown is not here any more</span> ${hash}`;
}

function given(answer: Answer, anchors: Anchors): Html {
  return html`<div class="said"><span class="who">${answer.by}</span> ${when(answer.at)} <span class="tag ${answer.decision === "reject" ? "bad" : "good"}">${answer.decision}</span> ${
    answer.covers
      ? html`<span class="small soft">names the same digest: it covers these bytes and no others</span>`
      : html`<span class="tag bad">names another digest: it does not cover this</span>`
  } ${anchors.id(answer.fact)}${told(answer.why, "Why", "plain")}${told(answer.edit, "Agreed to this instead")}${told(answer.value, "Gave this as the outcome")}</div>`;
}

function rulings({ set, rulings: list }: Dossier["policies"], anchors: Anchors): Html {
  if (list.total + set.total === 0) return html``;
  const rows = items(
    list,
    (ruling) =>
      html`<tr><td><span class="tag ${ruling.verdict === "allow" ? "good" : ruling.verdict === "deny" ? "bad" : "warn"}">${ruling.verdict}</span></td><td>${ruling.rules.join(", ")}</td><td class="words">${inline(ruling.why)}</td><td>${anchors.id(ruling.of)}</td><td class="nowrap">${when(ruling.at, "clock")}</td><td>${anchors.id(ruling.facts[0] ?? "")}</td></tr>`,
    leftOut(6),
  );
  return html`<p class="label">Rulings of policies</p>${items(
    set,
    ({ policy, module, version, facts }) =>
      html`<p class="small">${policy} holds for ${module}, version <code class="id" title="${version}">${version.slice(0, 12)}</code> ${anchors.id(facts[0] ?? "")}</p>`,
  )}${list.total > 0 && table("Rulings of policies", ["Verdict", "Rules", "Why", "About the call", "Time", "Fact"].map(column), rows)}`;
}
