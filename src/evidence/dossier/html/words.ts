import type { FactId } from "../../../session/index.js";
import { amount } from "../../../util/index.js";
import type { Dossier } from "../dossier.js";
import type { BundleFile } from "../proof.js";
import { type Listed, inline as lineOf, type Told } from "../words.js";
import { type Html, html, type Piece } from "./html.js";

/** Texts of up to so many characters and lines stand open; longer ones are folded, and say how long they are. */
const SHORT = 600;
const LINES = 12;

/** A text of the record. With a title it can be folded; `plain` is for prose. */
export function told(text: Told | undefined, title: string, style: "code" | "plain" = "code"): Html {
  if (text === undefined) return html``;
  if ("withheld" in text) return html`${label(title)}${gone(text)}`;
  if (text.text === "") return html`${label(title)}<p class="soft small">(empty)</p>`;
  const block = html`<pre${style === "plain" && PLAIN} dir="auto">${text.text}</pre>${rest(text)}`;
  if (isShort(text)) return html`${label(title)}${block}`;
  // Without a title its beginning says what it is.
  const name = title === "" ? html`<span class="ink">${lineOf(text, 90)}</span>` : title;
  return html`<details class="part"><summary>${name} ${size(text)}</summary>${block}</details>`;
}

const PLAIN = html` class="plain"`;

function label(title: string): Html {
  return title === "" ? html`` : html`<p class="label">${title}</p>`;
}

/** A text on one line, for headings and tables. */
export function inline(text: Told | undefined, most = 240): Piece {
  return text === undefined ? undefined : "withheld" in text ? gone(text) : lineOf(text, most);
}

/** The placeholder for withheld content. */
export function gone(text: Extract<Told, { readonly withheld: string }>): Html {
  const { withheld, digest, erasure } = text;
  const what =
    erasure !== undefined
      ? html`Erased by ${erasure.by} on ${when(erasure.at)}: ${erasure.why}`
      : withheld === "erased"
        ? html`Erased`
        : withheld === "missing"
          ? html`Not here: this copy of the record does not have it`
          : html`The content stored here differs from the record`;
  return html`<span class="gone">${what} <span class="id">sha256 ${digest.slice(0, 12)}</span></span>`;
}

function rest(text: Extract<Told, { readonly text: string }>): Html {
  const left = text.characters - text.text.length;
  return left <= 0 ? html`` : html`<p class="more">${count(left, "more character")} in the bundle.</p>`;
}

function isShort({ text, characters }: Extract<Told, { readonly text: string }>): boolean {
  if (characters > SHORT) return false;
  let lines = 0;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1))
    if (++lines > LINES) return false;
  return true;
}

function size({ text, characters }: Extract<Told, { readonly text: string }>): Html {
  const lines = text.split("\n").length;
  const long = `${count(characters, "character")}${characters > text.length ? "" : `, ${count(lines, "line")}`}`;
  return html`<span class="soft">(${long})</span>`;
}

/** A number of things, in words. */
export const count = amount;

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** A time as people read it, in UTC. */
export function when(at: string | undefined, style: "whole" | "clock" = "whole"): Html {
  const date = at === undefined ? undefined : new Date(at);
  if (date === undefined || Number.isNaN(date.getTime())) return html`<span class="soft">no time</span>`;
  const iso = date.toISOString();
  const clock = iso.slice(11, style === "clock" ? 23 : 19);
  const day = `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]} ${date.getUTCFullYear()}`;
  return html`<time datetime="${iso}">${style === "clock" ? clock : `${day}, ${clock} UTC`}</time>`;
}

/** How long, as people say it. */
export function lasting(milliseconds: number | undefined): string | undefined {
  if (milliseconds === undefined || !Number.isFinite(milliseconds)) return undefined;
  if (milliseconds < 1_000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 90_000) return `${(milliseconds / 1_000).toFixed(1)} s`;
  const minutes = Math.round(milliseconds / 60_000);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 72 ? `${hours} h` : `${Math.round(hours / 24)} days`;
}

/** Which facts are on the page, so that ids can lead to them. */
export class Anchors {
  readonly #here: ReadonlySet<FactId>;

  constructor(here: Iterable<FactId>) {
    this.#here = new Set(here);
  }

  /** An id, short, leading to its fact where that is on the page. */
  id(id: string): Html {
    const short = id.slice(0, 12);
    if (!/^[0-9a-f]{64}$/.test(id)) return html`<code class="id">${short}</code>`;
    return this.#here.has(id)
      ? html`<a class="id" href="#f-${id.slice(0, 16)}" title="${id}">${short}</a>`
      : html`<code class="id" title="${id}">${short}</code>`;
  }

  /** The facts that prove an item. */
  proofs(facts: readonly FactId[]): Html {
    return html`<p class="proofs">${facts.length === 1 ? "fact" : "facts"} ${facts.map((id) => this.id(id))}</p>`;
  }
}

/** A section of the page: it is left out where it has no body. */
export type Section = {
  readonly id: string;
  /** In the contents, and over the section unless that has a heading of its own. */
  readonly title: string;
  readonly heading?: string;
  readonly total?: (dossier: Dossier) => number | undefined;
  /** Beside the heading; by default the total. */
  readonly note?: (dossier: Dossier) => Piece;
  readonly body: (dossier: Dossier, anchors: Anchors, bundle?: BundleFile) => Piece;
};

/** An item that can be folded: its heading and what stands beside it, its body, and the facts that prove it. */
export function card(
  heading: Piece,
  body: Piece,
  anchors: Anchors,
  facts: readonly FactId[],
  isOpen = false,
): Html {
  return html`<details class="item"${isOpen && OPEN}><summary>${heading}</summary><div class="body">${body}${anchors.proofs(facts)}</div></details>`;
}

export const OPEN: Html = html` open`;

/** Items with a word about those that were left out, in the place where they would be. */
export function items<Item>(
  list: Listed<Item>,
  show: (item: Item, place: number) => Html,
  said: (words: string) => Html = (words) => html`<p class="more">${words}</p>`,
): readonly Html[] {
  const left = list.total - list.items.length;
  const gap = list.gap ?? list.items.length;
  const shown = list.items.map((item, place) => show(item, place < gap ? place : place + left));
  if (left <= 0) return shown;
  return [
    ...shown.slice(0, gap),
    said(`${left.toLocaleString("en")} more in the bundle.`),
    ...shown.slice(gap),
  ];
}

/** A short list under a label; nothing where it is empty. */
export function bullets<Item>(title: string, list: Listed<Item>, show: (item: Item) => Html): Piece {
  const rows = items(
    list,
    (item) => html`<li>${show(item)}</li>`,
    (words) => html`<li class="more">${words}</li>`,
  );
  return list.total > 0 && html`<p class="label">${title}</p><ul>${rows}</ul>`;
}

/** A line of small facts about something; missing values are left out. */
export function line(...pieces: readonly Piece[]): Html {
  return html`<span class="line">${pieces.map((piece) => (piece === undefined || piece === false || piece === "" ? html`` : html`<span>${piece}</span>`))}</span>`;
}

/** Pairs of a name and what it is; missing values are left out. */
export function pairs(rows: readonly (readonly [name: string, value: Piece])[]): Html {
  const said = rows.filter(([, value]) => value !== undefined && value !== false && value !== "");
  return said.length === 0
    ? html``
    : html`<dl class="pairs">${said.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
}

/** A wide table that can be moved sideways, also with the keyboard. */
export function table(title: string, heads: readonly Html[], rows: readonly Html[]): Html {
  return html`<div class="scroll" role="region" aria-label="${title}" tabindex="0"><table><thead><tr>${heads}</tr></thead><tbody>${rows}</tbody></table></div>`;
}

/** The word about rows of a table that were left out. */
export function leftOut(columns: number): (words: string) => Html {
  return (words) => html`<tr><td class="more" colspan="${columns}">${words}</td></tr>`;
}

export const column = (name: string): Html => html`<th scope="col">${name}</th>`;
export const numbers = (name: string): Html => html`<th scope="col" class="num">${name}</th>`;
