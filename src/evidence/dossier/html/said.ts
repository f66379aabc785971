import type { Dossier, Said } from "../dossier.js";
import { type Html, html } from "./html.js";
import { type Anchors, count, items, line, told, when } from "./words.js";

/** What people, imports and notes say. What models say stands at their calls. */
export function saidSection({ words }: Dossier, anchors: Anchors): Html {
  if (words.total === 0) return html``;
  // Notes are for programs as a rule: they are there, and not in the way.
  const notes = words.items.filter(({ type }) => type === "note");
  const rest = { ...words, items: words.items.map((said) => (said.type === "note" ? undefined : said)) };
  return html`<section id="words" aria-labelledby="words-h"><h2 id="words-h">Messages and notes <span class="n">${words.total.toLocaleString("en")}</span></h2>
${items(rest, (said) => (said === undefined ? html`` : item(said, anchors)))}${
  notes.length > 0 &&
  html`<details class="part"><summary>${count(notes.length, "note")}</summary>${notes.map((note) => item(note, anchors))}</details>`
}</section>`;
}

function item(said: Said, anchors: Anchors): Html {
  return html`<div class="said"><span class="who">${said.title}</span>${line(
    said.by,
    said.branch,
    when(said.at, "clock"),
    anchors.id(said.facts[0] ?? ""),
  )}${told(said.text, "", said.type === "note" ? "code" : "plain")}</div>`;
}
