import type { Dossier } from "../dossier.js";
import { type Html, html } from "./html.js";
import { column, items, leftOut, table, when } from "./words.js";

/** Every fact in a line, in the order of time. Ids all over the page lead here. */
export function timelineSection({ timeline }: Dossier): Html {
  const rows = items(
    timeline,
    ({ facts: [id = ""], at, by, type, text, branch }) =>
      html`<tr id="f-${id.slice(0, 16)}"><td class="nowrap">${when(at, "clock")}</td><td><code>${type}</code></td><td class="words" dir="auto">${text}</td><td>${by}</td><td>${branch}</td><td><code class="id" title="${id}">${id.slice(0, 12)}</code></td></tr>`,
    leftOut(6),
  );
  return html`<section id="timeline" aria-labelledby="timeline-h"><h2 id="timeline-h">Timeline <span class="n">${timeline.total.toLocaleString("en")}</span></h2>
<details class="part"><summary>Every fact in a line</summary>${table("Every fact in a line", ["Time, UTC", "Type", "What", "By", "Branch", "Fact"].map(column), rows)}</details></section>`;
}

/** Ids that are rows of the timeline. */
export function timelineIds({ timeline }: Dossier): readonly string[] {
  return timeline.items.map(({ facts: [id = ""] }) => id);
}
