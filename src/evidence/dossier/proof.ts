import type { FactId } from "../../session/index.js";
import { quoteShell } from "../../util/index.js";
import type { Dossier } from "./dossier.js";
import { type Html, html, isExact } from "./html/html.js";
import { type Anchors, column, count, items, leftOut, type Section, table, when } from "./html/words.js";
import { type ItemOf, shape } from "./item.js";
import type { Listed, Told } from "./words.js";

export const SIGNATURE = shape("head-sign", "of key signature");

export type Proof = {
  readonly head: FactId;
  /** The record line of the head: its SHA-256 is the id. */
  readonly line: Told;
  /** Every head that the bundle holds: the session's own first, then the branches that nothing took in. */
  readonly heads: readonly { readonly id: FactId; readonly names: readonly string[] }[];
  /** How many lines were read and held against their ids while this was made. */
  readonly facts: number;
  readonly roots: readonly FactId[];
  /** Pieces of content outside of lines, without the files of workspaces. */
  readonly blobs: {
    readonly count: number;
    readonly bytes: number;
    readonly erased: number;
    readonly missing: number;
  };
  readonly signatures: Listed<ItemOf<typeof SIGNATURE>>;
};

/** The bundle that lies beside the page. */
export type BundleFile = { readonly file: string; readonly digest?: string };

/** How anybody can check all of this without us. */
export const proofSection: Section = {
  id: "proof",
  title: "Proof",
  body: ({ proof, erasures, counts, session, memory }, anchors, bundle) => {
    const { blobs, heads, signatures } = proof;
    const file = bundle === undefined ? "The bundle" : html`The bundle <code>${bundle.file}</code>`;
    return html`<p class="lead">The id of a fact is the SHA-256 of its line in the record, and a line names the facts it follows by their ids. So the id of the head covers everything before it, to the byte. While this page was made ${count(proof.facts, "line")} were read, and each was held against its id.</p>
<p class="label">Head</p><p class="hash">${proof.head}</p>
${lineOf(proof)}
<p class="label">Check it</p><pre>${commands(bundle?.file, session.id)}</pre>
<p class="small">${file} holds every line and every piece of content that this page is made of.${bundle?.digest !== undefined && html` Its sha256 is <span class="hash">${bundle.digest}</span>.`} ${memory.reasons.total > 0 && "Why memories exist is told from their spaces, which are in the bundle when it was made with --memory. "}A page can be altered; the proof in the bundle cannot.</p>
<p class="label">What is in it</p><ul><li>${count(counts.facts, "fact")} in the past of the head${counts.elsewhere > 0 && `, ${count(counts.elsewhere, "fact")} on other branches`}</li><li>${count(blobs.count, "piece")} of content outside of lines, ${count(blobs.bytes, "byte")}${blobs.erased > 0 && `, ${blobs.erased} of them erased`}${blobs.missing > 0 && `, ${blobs.missing} of them not in this copy`}</li><li>${count(heads.length, "head")}: ${heads.slice(0, 50).map(({ id, names }) => html`${anchors.id(id)} ${names.length > 0 && `(${names.join(", ")}) `}`)}${heads.length > 50 && `and ${heads.length - 50} more`}</li><li>${count(proof.roots.length, "root")}: ${proof.roots.slice(0, 50).map((id) => html`${anchors.id(id)} `)}</li></ul>
<p class="label">Signatures</p>${signatures.total === 0 ? html`<p class="small soft">No head in this record is signed: it proves what is in it, and not who wrote it or that nothing was cut off at its end.</p>` : signed(signatures, anchors)}
${
  erasures.total > 0 &&
  html`<p class="label">Erasures</p>${table(
    "Erasures",
    ["By", "When", "Why", "Pieces", "Fact"].map(column),
    items(
      erasures,
      (one) =>
        html`<tr><td>${one.by}</td><td class="nowrap">${when(one.at)}</td><td class="words">${one.why}</td><td>${one.digests.map((digest) => html`<code class="id">${digest.slice(0, 12)}</code> `)}</td><td>${anchors.id(one.facts[0] ?? "")}</td></tr>`,
      leftOut(5),
    ),
  )}`
}
<p class="label">What it does not prove</p><p class="small">That what was recorded is true, or when it was written: times and names are what the writer said. That nothing came after the head, unless the head is known from elsewhere or signed.</p>`;
  },
};

/** The line of the head, where it is all here and can be copied as it stands. */
function lineOf({ line }: Dossier["proof"]): Html {
  if ("withheld" in line || line.text.length < line.characters || !isExact(line.text)) return html``;
  return html`<details class="part"><summary>Its line, and how to compute the id with sha256sum</summary><pre>${line.text}</pre><p class="small">In a shell:</p><pre>${`printf %s ${quoteShell(line.text)} | sha256sum`}</pre></details>`;
}

function commands(file: string | undefined, id: string): string {
  const name = file === undefined ? "BUNDLE" : quoteShell(file);
  return [
    `rath verify ${name}`,
    `python3 tools/verify.py --head ${id} ${name}  # the standard library of Python, and nothing of ours`,
    `rath import ${name} && rath show ${id.slice(0, 12)}`,
  ].join("\n");
}

function signed(signatures: Dossier["proof"]["signatures"], anchors: Anchors): Html {
  return table(
    "Signatures",
    ["By", "Key", "Signs", "When", "Signature", "Fact"].map(column),
    items(
      signatures,
      (one) =>
        html`<tr><td>${one.by}</td><td><code>${one.key}</code></td><td>${anchors.id(one.of)}</td><td class="nowrap">${when(one.at)}</td><td><code class="hash">${one.signature.slice(0, 200)}</code></td><td>${anchors.id(one.facts[0] ?? "")}</td></tr>`,
      leftOut(6),
    ),
  );
}
