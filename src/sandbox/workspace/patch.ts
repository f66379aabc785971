import { createHash } from "node:crypto";
import type { Digest, TreeEntry } from "../../session/index.js";
import { bytesOfName, namesOf } from "../path.js";
import type { Trees } from "../trees.js";
import { diffTrees, entryAt, isSame, textOf } from "./entries.js";
import type { Leaf } from "./stat-cache.js";
import { changedLines, type LineChange, linesOf } from "./text-merge.js";

export type PatchOptions = {
  /** Only these paths, and what is below them. */
  readonly paths?: readonly string[];
  /** Lines around a change; 3 unless given. */
  readonly context?: number;
};

/** The difference of two trees as `git apply` takes it. Binary or long files are only said to differ. */
export async function patchOf(
  trees: Trees,
  before: Digest | null,
  after: Digest | null,
  options: PatchOptions = {},
): Promise<string> {
  const context = Math.max(0, options.context ?? 3);
  const paths = options.paths?.map((path) => namesOf(path).join("/"));
  const wanted = (path: string): boolean =>
    paths === undefined || paths.some((one) => one === "" || one === path || path.startsWith(`${one}/`));
  let patch = "";
  for (const { path } of await diffTrees(trees, before, after)) {
    if (!wanted(path)) continue;
    const old = leaf(await entryAt(trees, before, path));
    const now = leaf(await entryAt(trees, after, path));
    // A link is not a changed file: git wants the one gone and the other new.
    const isOther = old !== undefined && now !== undefined && (old.kind === "link") !== (now.kind === "link");
    if (isOther) patch += await section(trees, path, old, undefined, context);
    patch += await section(trees, path, isOther ? undefined : old, now, context);
  }
  return patch;
}

const NO_ID = "0".repeat(40);

function leaf(entry: TreeEntry | undefined): Leaf | undefined {
  return entry?.kind === "tree" ? undefined : entry;
}

async function section(
  trees: Trees,
  path: string,
  old: Leaf | undefined,
  now: Leaf | undefined,
  context: number,
): Promise<string> {
  if (old === undefined && now === undefined) return "";
  const [a, b] = [quoted(bytesOfName(`a/${path}`)), quoted(bytesOfName(`b/${path}`))];
  let text = `diff --git ${a} ${b}\n`;
  const [oldMode, newMode] = [modeOf(old), modeOf(now)];
  if (oldMode === undefined) text += `new file mode ${newMode}\n`;
  else if (newMode === undefined) text += `deleted file mode ${oldMode}\n`;
  else if (oldMode !== newMode) text += `old mode ${oldMode}\nnew mode ${newMode}\n`;
  if (old !== undefined && now !== undefined && sameContent(old, now)) return text;
  const [from, to] = [old === undefined ? "/dev/null" : a, now === undefined ? "/dev/null" : b];
  const [before, after] = [await contentOf(trees, old), await contentOf(trees, now)];
  if (before === undefined || after === undefined) return `${text}Binary files ${from} and ${to} differ\n`;
  // The ids that git would give them: with these it can also apply a patch to files that moved on (--3way).
  const [oldId, newId] = [old && gitId(before), now && gitId(after)].map((id) => id ?? NO_ID);
  text += `index ${oldId}..${newId}${oldMode === newMode ? ` ${newMode}` : ""}\n`;
  const hunks = hunksOf(linesOf(before), linesOf(after), context);
  // A tab ends a name with a space in it, or readers take what follows the space for a date.
  const end = (name: string): string => (name.includes(" ") && !name.startsWith('"') ? "\t" : "");
  return hunks === "" ? text : `${text}--- ${from}${end(from)}\n+++ ${to}${end(to)}\n${hunks}`;
}

function gitId(text: string): string {
  const bytes = Buffer.from(text, "utf8");
  return createHash("sha1").update(`blob ${bytes.length}\0`).update(bytes).digest("hex");
}

/** As git writes it. Git itself knows 644 and 755 and takes the others for one of them. */
function modeOf(entry: Leaf | undefined): string | undefined {
  if (entry === undefined) return undefined;
  return entry.kind === "link" ? "120000" : `100${entry.mode.toString(8).padStart(3, "0")}`;
}

function sameContent(one: Leaf, other: Leaf): boolean {
  return isSame(
    one.kind === "link" ? one : { ...one, mode: 0 },
    other.kind === "link" ? other : { ...other, mode: 0 },
  );
}

/** The content of a file, or the target of a link; undefined when it is not text. */
async function contentOf(trees: Trees, entry: Leaf | undefined): Promise<string | undefined> {
  if (entry === undefined) return "";
  if (entry.kind === "link") return entry.target.isWellFormed() ? entry.target : undefined;
  return textOf(trees, entry);
}

/** The changes with the lines around them; those that share some are one hunk. */
function hunksOf(before: readonly string[], after: readonly string[], context: number): string {
  let text = "";
  let group: LineChange[] = [];
  const changes = changedLines(before, after);
  changes.forEach((change, place) => {
    group.push(change);
    const next = changes[place + 1];
    if (next !== undefined && next.at - (change.at + change.count) <= 2 * context) return;
    text += hunk(before, after, group, context);
    group = [];
  });
  return text;
}

function hunk(
  before: readonly string[],
  after: readonly string[],
  changes: readonly LineChange[],
  context: number,
): string {
  const [first, last] = [changes[0] as LineChange, changes.at(-1) as LineChange];
  const lead = Math.min(context, first.at);
  const end = Math.min(before.length, last.at + last.count + context);
  const trail = end - (last.at + last.count);
  const from = first.at - lead;
  const newFrom = first.newAt - lead;
  const newCount = last.newAt + last.newCount + trail - newFrom;
  let text = `@@ -${range(from, end - from)} +${range(newFrom, newCount)} @@\n`;
  let at = from;
  for (const change of changes) {
    text += marked(" ", before.slice(at, change.at));
    text += marked("-", before.slice(change.at, change.at + change.count));
    text += marked("+", after.slice(change.newAt, change.newAt + change.newCount));
    at = change.at + change.count;
  }
  return text + marked(" ", before.slice(at, end));
}

/** Lines are counted from 1; of none, the line before is named. */
function range(from: number, count: number): string {
  if (count === 1) return String(from + 1);
  return `${count === 0 ? from : from + 1},${count}`;
}

function marked(sign: string, lines: readonly string[]): string {
  return lines
    .map((line) => (line.endsWith("\n") ? sign + line : `${sign}${line}\n\\ No newline at end of file\n`))
    .join("");
}

const ESCAPES = new Map([
  [0x07, "\\a"],
  [0x08, "\\b"],
  [0x09, "\\t"],
  [0x0a, "\\n"],
  [0x0b, "\\v"],
  [0x0c, "\\f"],
  [0x0d, "\\r"],
  [0x22, '\\"'],
  [0x5c, "\\\\"],
]);
const UNESCAPES = new Map([...ESCAPES].map(([byte, text]) => [text[1], byte]));

/** A name as git writes it: plain where it can be, else in quotes, with what is not printable ASCII as escapes. */
export function quoted(name: Uint8Array, { always = false } = {}): string {
  let text = "";
  let isPlain = !always;
  for (const byte of name) {
    const escaped =
      ESCAPES.get(byte) ??
      (byte < 0x20 || byte >= 0x7f ? `\\${byte.toString(8).padStart(3, "0")}` : undefined);
    isPlain &&= escaped === undefined;
    text += escaped ?? String.fromCharCode(byte);
  }
  return isPlain ? text : `"${text}"`;
}

/** Reads a name in quotes from the start of a text; undefined without one. */
export function unquoted(text: string): { readonly name: Buffer; readonly rest: string } | undefined {
  if (!text.startsWith('"')) return undefined;
  const bytes: number[] = [];
  for (let at = 1; at < text.length; at++) {
    const character = text[at] as string;
    if (character === '"') return { name: Buffer.from(bytes), rest: text.slice(at + 1) };
    if (character !== "\\") {
      bytes.push(text.charCodeAt(at));
      continue;
    }
    const octal = /^[0-3][0-7]{2}/.exec(text.slice(at + 1, at + 4))?.[0];
    const byte = octal === undefined ? UNESCAPES.get(text[at + 1]) : Number.parseInt(octal, 8);
    if (byte === undefined) return undefined;
    bytes.push(byte);
    at += octal?.length ?? 1;
  }
  return undefined;
}
