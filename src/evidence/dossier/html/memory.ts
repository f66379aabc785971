import type { Dossier, MemoryDeed, MemoryRead, MemoryReason } from "../dossier.js";
import { rounded } from "../saying.js";
import { type Html, html } from "./html.js";
import { type Anchors, count, inline, items, line, pairs, told, when } from "./words.js";

/** What was recalled, what was remembered, and why those memories are there. */
export function memorySection({ memory }: Dossier, anchors: Anchors): Html {
  const { reads, deeds, reasons } = memory;
  if (reads.total + deeds.total === 0) return html``;
  return html`<section id="memory" aria-labelledby="memory-h"><h2 id="memory-h">Memory <span class="n">${count(reads.total, "reading")}, ${count(deeds.total, "change")}</span></h2>
${items(reads, (read) => reading(read, anchors))}${items(deeds, (deed) => done(deed, anchors))}${
  reasons.total > 0 &&
  html`<p class="label">Why these memories exist</p>${items(reasons, (one) => reason(one, anchors))}`
}</section>`;
}

function reading(read: MemoryRead, anchors: Anchors): Html {
  return html`<details class="item"><summary><h3 dir="auto">Read ${read.space}</h3> <span class="soft">${inline(read.query, 120)}</span>${line(
    count(read.hits.total, "memory found", "memories found"),
    read.branch,
    read.module?.join(" › ") ?? read.by,
    when(read.at, "clock"),
  )}</summary><div class="body">${told(read.query, "Asked for", "plain")}${read.withheld !== undefined && told(read.withheld, "Found")}${items(
    read.hits,
    (hit) =>
      html`<div class="said"><span class="who">memory ${anchors.id(hit.memory)}${hit.score !== undefined && ` score ${rounded(hit.score)}`}</span>${told(hit.text, "", "plain")}</div>`,
  )}${told(read.shown, "What stood in the prompt of it", "plain")}${told(read.settings, "How it was looked for")}${pairs([["The space stood at", read.head && anchors.id(read.head)]])}${anchors.proofs(read.facts)}</div></details>`;
}

const DEEDS: ReadonlyMap<string, string> = new Map([
  ["memory-write", "Remembered"],
  ["memory-revise", "Revised"],
  ["memory-revoke", "Revoked"],
  ["memory-promote", "Promoted"],
  ["memory-expire", "Expired"],
  ["memory-link", "Linked"],
  ["memory-rollback", "Rolled back"],
]);

function done(deed: MemoryDeed, anchors: Anchors): Html {
  return html`<details class="item"><summary><h3 dir="auto">${DEEDS.get(deed.type) ?? deed.type}${deed.space !== undefined && ` in ${deed.space}`}</h3> <span class="soft">${inline(deed.text, 160)}</span>${line(deed.branch, deed.by, when(deed.at, "clock"))}</summary><div class="body">${told(deed.text, "", "plain")}${told(deed.why, "Why", "plain")}${pairs(
    [
      ["Memory", anchors.id(deed.memory)],
      ["Learnt from", deed.source],
      ["Holds for", inline(deed.scope)],
      ["Because of", deed.because.length > 0 && deed.because.map((id) => html`${anchors.id(id)} `)],
    ],
  )}${anchors.proofs(deed.facts)}</div></details>`;
}

function reason(one: MemoryReason, anchors: Anchors): Html {
  return html`<details class="item"><summary><h3>Memory ${anchors.id(one.memory)}</h3> <span class="soft">${one.versions[0]?.text}</span></summary><div class="body">${
    one.problem !== undefined && html`<p class="small warn">${one.problem}</p>`
  }<p class="label">Versions</p><ul>${one.versions.map(
    ({ fact, type, by, at, text }) =>
      html`<li dir="auto"><code>${type}</code> by ${by}, ${when(at)}: ${text} ${anchors.id(fact)}</li>`,
  )}</ul><p class="label">It rests on</p><ul>${one.grounds.map(
    ({ fact, type, ground, by, text }) =>
      html`<li dir="auto"><span class="tag">${ground}</span> <code>${type}</code>${by !== undefined && ` by ${by}`}: ${text} ${anchors.id(fact)}</li>`,
  )}</ul>${one.more && html`<p class="more">There is more behind it than was followed: <code>rath memory why</code>.</p>`}</div></details>`;
}
