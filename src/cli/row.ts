import { type Fact, type FactId, isDigest, jsonCopy, RathError, textOf, toneOf } from "../session/index.js";
import type { Store } from "../store/index.js";
import { contentOf } from "./content.js";
import type { Shell } from "./shell.js";
import { describe, plain, shortAgo } from "./text.js";
import { cut, pad, width } from "./width.js";

/** As much of a fact is told where there is room for everything. */
const EVERYTHING = 1000;

/** A fact as a row: what comes before it, its id, the number of its step, what happened, who did it, and when. */
export function rowOf(
  shell: Shell,
  room: number,
  {
    start = "",
    id,
    step,
    fact,
  }: {
    readonly start?: string;
    readonly id: FactId;
    readonly step?: number | undefined;
    readonly fact: Fact;
  },
): string {
  const number = step === undefined ? "" : `${shell.cyan(`#${step}`)} `;
  const left = `${start}${shell.id(id)} ${number}`;
  const isNarrow = Number.isFinite(room);
  const by = plain(fact.by);
  const right = isNarrow
    ? `${cut(by, 16)} ${shortAgo(plain(fact.at), Date.now())}`
    : `${by} ${plain(fact.at)}`;
  const space = isNarrow ? Math.max(0, room - width(left) - width(right) - 1) : EVERYTHING;
  const text = describe(fact, Math.max(10, space));
  const tone = toneOf(fact);
  const words = tone === "bad" ? shell.red(text) : tone === "good" ? shell.green(text) : text;
  const middle = isNarrow ? pad(cut(words, space), space) : words;
  return cut(`${left}${middle} ${shell.dim(right)}`, room);
}

/** All that a fact says, indented, and the patch where it changed files. */
export async function contentText(shell: Shell, store: Store, fact: Fact): Promise<string> {
  const texts: string[] = [];
  for (const [field, value] of contentOf(fact)) {
    const text = blockOf(value);
    if (text.trim() !== "")
      texts.push(`${shell.dim(`${field}:`)}${text.includes("\n") ? "\n" : " "}${plain(text)}`);
  }
  const patch = await patchOfFact(store, fact);
  if (patch !== undefined) texts.push((await import("./command/diff.js")).coloured(shell, patch));
  return texts.map((text) => `${text.trimEnd().replace(/^(?=.)/gm, "    ")}\n`).join("");
}

/** The patch of a fact that changed files; undefined for others. */
export async function patchOfFact(store: Store, fact: Fact): Promise<string | undefined> {
  if (fact.type !== "workspace-change" && fact.type !== "workspace-merge") return undefined;
  const before = fact.type === "workspace-change" ? fact.before : fact.ours;
  if (!isDigest(fact.after)) return undefined;
  const { patchOf, Trees } = await import("../sandbox/index.js");
  try {
    return await patchOf(new Trees(store), before, fact.after);
  } catch (error) {
    // Files that were erased, or are not here, do not hide the rest.
    if (!(error instanceof RathError)) throw error;
    return `${error.message.split("\n")[0]}\n`;
  }
}

/** A text as it is; the parts of a message one after the other; other values as JSON over several lines. */
function blockOf(value: unknown): string {
  if (typeof value !== "object" || value === null) return textOf(value);
  const parts = Array.isArray(value) ? value : [value];
  const isMessage = parts.length > 0 && parts.every((part) => typeof Object(part).type === "string");
  if (isMessage) return parts.map((part) => textOf([part])).join("\n");
  const text = textOf(value);
  return text.startsWith("{") || text.startsWith("[") ? JSON.stringify(jsonCopy(value), null, 2) : text;
}
