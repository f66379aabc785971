import { createHash } from "node:crypto";
import { approvalsSection } from "../approvals.js";
import { branchesSection } from "../branches.js";
import { changesSection, patchSection } from "../changes.js";
import { checksSection } from "../checks.js";
import { commandsSection } from "../commands.js";
import type { Dossier } from "../dossier.js";
import { environmentSection } from "../environment.js";
import { graphSection } from "../graph.js";
import { memorySection } from "../memory.js";
import { modelsSection } from "../models.js";
import { type BundleFile, proofSection } from "../proof.js";
import { saidSection, timelineIds, timelineSection } from "../record.js";
import { spendingSection } from "../spending.js";
import { summarySection } from "../summary.js";
import { toolsSection } from "../tools.js";
import { Html, html } from "./html.js";
import { STYLE } from "./style.js";
import { Anchors, inline, type Section, told, when } from "./words.js";

/** The sections of the page, in order. */
const SECTIONS: readonly Section[] = [
  summarySection,
  graphSection,
  branchesSection,
  patchSection,
  checksSection,
  saidSection,
  modelsSection,
  toolsSection,
  commandsSection,
  changesSection,
  approvalsSection,
  memorySection,
  spendingSection,
  timelineSection,
  environmentSection,
  proofSection,
];

export type PageOptions = {
  /** The bundle that lies beside the page, so that it can name it. */
  readonly bundle?: BundleFile;
};

// Nothing may be loaded, run or sent: the page is its own style sheet and text.
const POLICY = `default-src 'none'; style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'; base-uri 'none'; form-action 'none'`;

/** A dossier as one HTML file: no script, no network, for screens and for paper. */
export function dossierHtml(dossier: Dossier, { bundle }: PageOptions = {}): string {
  const anchors = new Anchors(timelineIds(dossier));
  const { session, task, made } = dossier;
  const title = inline(task.text, 200);
  const here = SECTIONS.flatMap((section) => {
    const body = html`${section.body(dossier, anchors, bundle)}`;
    return body.text === "" ? [] : [{ ...section, count: section.total?.(dossier), body }];
  });
  const page = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${new Html(POLICY)}"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" content="no-referrer"><meta name="color-scheme" content="light dark"><meta name="generator" content="openrath"><title>Dossier: ${session.name ?? session.id.slice(0, 12)}</title><style>${new Html(STYLE)}</style></head>
<body><a class="skip" href="#main">To the content</a><div class="frame"><header class="top"><p class="eyebrow">Dossier</p><h1 dir="auto">${title}</h1>${
    "text" in task.text && task.text.characters > 200 ? told(task.text, "The whole task", "plain") : ""
  }<p class="meta">${session.name !== undefined && html`<span>${session.name}</span>`}<span class="id">${session.id.slice(0, 12)}</span>${
    task.by !== undefined && html`<span>asked by ${task.by}</span>`
  }${task.at !== undefined && html`<span>${when(task.at)}</span>`}</p></header>
<div class="columns"><nav class="contents" aria-label="Contents"><details open><summary>Contents</summary><ol>${here.map(
    ({ id, title: name, count }) =>
      html`<li><a href="#${id}"><span>${name}</span>${count !== undefined && html`<span class="n">${count.toLocaleString("en")}</span>`}</a></li>`,
  )}</ol></details></nav><main id="main">${here.map(
    ({ id, title: name, heading = name, count, note, body }) => {
      const beside = note === undefined ? count?.toLocaleString("en") : note(dossier);
      return html`<section id="${id}" aria-labelledby="${id}-h"><h2 id="${id}-h">${heading}${beside !== undefined && html` <span class="n">${beside}</span>`}</h2>
${body}</section>`;
    },
  )}</main></div>
<footer><p>Made on ${when(made.at)} from the record alone, with openrath ${made.openrath}. This page loads nothing and runs nothing.</p></footer></div></body></html>
`;
  return page.text;
}
