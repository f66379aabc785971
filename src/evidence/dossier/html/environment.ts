import type { Dossier } from "../dossier.js";
import { type Html, html } from "./html.js";
import { type Anchors, count, inline, items, line, pairs, told, when } from "./words.js";

/** Where things happened and with what. */
export function environmentSection({ environment, made, imports }: Dossier, anchors: Anchors): Html {
  const { placements, sandboxes, agents, runs, modules } = environment;
  return html`<section id="environment" aria-labelledby="environment-h"><h2 id="environment-h">Environment</h2>
${items(
  runs,
  (run) =>
    html`<details class="item"><summary><h3 dir="auto">Run ${run.name ?? run.run} of ${run.module}</h3> ${run.error !== undefined && html`<span class="tag bad">failed</span>`}${line(
      when(run.at),
      run.suspended > 0 && `suspended ${count(run.suspended, "time")}`,
      run.end === undefined ? "not ended" : undefined,
    )}</summary><div class="body">${pairs([
      ["Run", html`<code>${run.run}</code>`],
      ["On behalf of", run.for],
      ["What-if of", run.from && html`run <code>${run.from.run}</code> ${anchors.id(run.from.start)}`],
      ["Ended", run.end && anchors.id(run.end)],
    ])}${told(run.digests, "Digests of the program")}${told(run.error, "It ended with")}${anchors.proofs(run.facts)}</div></details>`,
)}
${items(
  agents,
  (one) =>
    html`<details class="item"><summary><h3 dir="auto">Agent ${one.agent}</h3>${line(count(one.tools.length, "tool"), one.branch, when(one.at, "clock"))}</summary><div class="body">${told(one.instructions, "Instructions", "plain")}${
      one.tools.length > 0 && html`<p class="small">Tools: ${one.tools.join(", ")}</p>`
    }${told(one.definitions, "Definitions of tools")}${told(one.parameters, "Parameters")}${told(one.output, "Output")}${anchors.proofs(one.facts)}</div></details>`,
)}
${items(
  sandboxes,
  (box) =>
    html`<details class="item"><summary><h3 dir="auto">Sandbox ${box.sandbox}</h3> <span class="tag">${box.provider}, isolation ${box.isolation}</span>${line(`opened ${count(box.incarnation, "time")}`, box.branch, when(box.at, "clock"))}</summary><div class="body">${told(box.spec, "What was asked for")}${told(box.status, "What it is")}${told(box.capabilities, "What it can do")}${told(box.native, "As its provider calls it")}${box.ends.map(
      ({ type, why, fact }) =>
        html`<p class="small"><code>${type}</code> ${inline(why)} ${anchors.id(fact)}</p>`,
    )}${anchors.proofs(box.facts)}</div></details>`,
)}
${
  placements.total > 0 &&
  html`<p class="label">Placements</p><ul>${items(
    placements,
    (one) =>
      html`<li>${one.sandbox} <span class="soft">${inline(one.spec)}</span> ${anchors.id(one.facts[0] ?? "")}</li>`,
    (words) => html`<li class="more">${words}</li>`,
  )}</ul>`
}
${
  modules.total > 0 &&
  html`<p class="label">Modules</p><ul>${items(
    modules,
    (one) =>
      html`<li>${one.module} <span class="soft">entered ${count(one.entered, "time")}${one.digests !== undefined && html`, ${inline(one.digests)}`}</span> ${anchors.id(one.fact)}</li>`,
    (words) => html`<li class="more">${words}</li>`,
  )}</ul>`
}
${imports.total > 0 && html`<p class="label">Imported from</p>${items(imports, (one) => html`<details class="item"><summary><h3 dir="auto">${inline(one.source, 120)}</h3> <span class="tag">${one.format}</span></summary><div class="body"><p class="small">sha256 of the file <span class="hash">${one.digest}</span></p>${told(one.detail, "What the source says about itself")}${anchors.proofs(one.facts)}</div></details>`)}`}
<p class="label">Who made this dossier</p>${pairs([
    ["When", when(made.at)],
    ["With", `openrath ${made.openrath}, Node ${made.node}, ${made.platform}`],
  ])}</section>`;
}
