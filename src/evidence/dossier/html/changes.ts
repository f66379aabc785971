import type { Change, Dossier } from "../dossier.js";
import { files } from "./diff.js";
import { type Html, html } from "./html.js";
import { type Anchors, count, inline, items, line, told, when } from "./words.js";

const KINDS: { readonly [kind in Change["kind"]]: string } = {
  import: "Files came in",
  change: "Files changed",
  merge: "Files merged",
  resolve: "Conflicts decided",
};

/** What each call did to the files. */
export function changesSection({ changes }: Dossier, anchors: Anchors): Html {
  if (changes.total === 0) return html``;
  return html`<section id="changes" aria-labelledby="changes-h"><h2 id="changes-h">Changes of files <span class="n">${changes.total.toLocaleString("en")}</span></h2>
${items(changes, (change, place) => item(change, place, anchors))}</section>`;
}

function item(change: Change, place: number, anchors: Anchors): Html {
  const [first] = change.files.items;
  const named =
    first === undefined
      ? inline(change.source)
      : html`<code dir="auto">${first.path}</code>${change.files.total > 1 && ` and ${count(change.files.total - 1, "other")}`}`;
  return html`<details class="item"><summary><h3>${place + 1}. ${KINDS[change.kind]}</h3> ${named}${line(change.branch, change.tool ?? change.by, when(change.at, "clock"))}</summary><div class="body">${files(change.files, true)}${told(change.source, "From")}${told(change.conflicts, change.kind === "resolve" ? "Choices" : "Conflicts")}${told(change.why, "Why")}<p class="small soft">tree <code class="id">${change.before?.slice(0, 12) ?? "(empty)"}</code> to <code class="id" title="${change.after}">${change.after.slice(0, 12)}</code>${
    change.of !== undefined && html`, by the call ${anchors.id(change.of)}`
  }</p>${anchors.proofs(change.facts)}</div></details>`;
}
