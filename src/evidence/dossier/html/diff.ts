import type { Dossier, FileDiff, Listed, Told } from "../dossier.js";
import { type Html, html } from "./html.js";
import { type Anchors, count, gone, items } from "./words.js";

/** What the accepted way changed in the files, from the first to the last. */
export function patchSection({ patch, outcome }: Dossier, anchors: Anchors): Html {
  if (patch === null) return html``;
  return html`<section id="patch" aria-labelledby="patch-h"><h2 id="patch-h">The accepted patch <span class="n">+${patch.added} −${patch.removed} in ${count(patch.files.total, "file")}</span></h2>
<p class="lead">From the files as they came to the files as ${outcome.branch} has them, computed from the trees that the record names.</p>
${patch.files.total === 0 && html`<p class="soft">Nothing is different.</p>`}${files(patch.files, true)}
<p class="proofs">tree ${tree(patch.from)} to ${tree(patch.to)}, ${patch.facts.map((id) => html`${anchors.id(id)} `)}</p></section>`;
}

function tree(digest: string | null): Html {
  return digest === null
    ? html`(empty)`
    : html`<code class="id" title="${digest}">${digest.slice(0, 12)}</code>`;
}

/** Files with their diffs. */
export function files(list: Listed<FileDiff>, open: boolean): Html {
  return html`${items(list, (file) => {
    const counts = html`<span class="soft small"> ${WORDS[file.change]}${file.added + file.removed > 0 && html`, <span class="good">+${file.added}</span> <span class="bad">−${file.removed}</span>`}</span>`;
    const name = html`<code dir="auto">${file.path === "" ? "(all files)" : file.path}</code>${counts}`;
    if (file.diff === undefined) return html`<p>${name} <span class="soft small">${file.note}</span></p>`;
    return html`<details class="part"${open && OPEN}><summary>${name}</summary>${diff(file.diff)}</details>`;
  })}`;
}

const OPEN = html` open`;
const WORDS = { add: "added", modify: "changed", delete: "deleted" } as const;

/** Lines are coloured, and say by their sign what they are. */
function diff(text: Told): Html {
  if ("withheld" in text) return gone(text);
  const lines = text.text.replace(/\n$/, "").split("\n");
  const first = lines.findIndex((line) => line.startsWith("@@"));
  const left = text.characters - text.text.length;
  return html`<pre class="diff">${lines.map((line, place) => {
    const isHead = first === -1 || place < first;
    // The names of the file stand above it already.
    if (isHead && NAMES.test(line)) return html``;
    const kind =
      isHead || line.startsWith("@@") ? "h" : line.startsWith("+") ? "a" : line.startsWith("-") ? "d" : "c";
    return html`<span class="${kind}">${line === "" ? " " : line}</span>`;
  })}</pre>${left > 0 && html`<p class="more">${count(left, "more character")} in the bundle.</p>`}`;
}

const NAMES = /^(?:diff --git |index |--- |\+\+\+ )/;
