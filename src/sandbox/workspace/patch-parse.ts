import { textOfName } from "../path.js";
import { unquoted } from "./patch.js";
import { linesOf } from "./text-merge.js";

/** The part of a patch about one file. Lines are bytes, one character each: a patch may be in any encoding. */
export type FilePatch = {
  /** Where it was; undefined when it is new. */
  readonly from?: string;
  /** Where it is now; undefined when it is gone. */
  readonly to?: string;
  readonly kind: "change" | "add" | "delete" | "rename" | "copy";
  readonly oldMode?: number;
  readonly newMode?: number;
  /** The patch only says that the bytes differ, or holds them in a form that is not read here. */
  readonly isBinary: boolean;
  readonly hunks: readonly Hunk[];
  /** The line of the patch that it begins at, counted from 1. */
  readonly line: number;
};

export type Hunk = {
  readonly line: number;
  readonly from: number;
  readonly to: number;
  readonly lines: readonly HunkLine[];
};
export type HunkLine = { readonly sign: " " | "-" | "+"; readonly text: string };

/** A line of a patch that is not what a patch looks like, or does not fit. */
export type PatchMistake = { readonly line: number; readonly why: string };

/** Reads a unified diff, ignoring text around it. `recount` distrusts the line counts in hunk headers. */
export function parsePatch(
  patch: string | Uint8Array,
  options: { readonly recount?: boolean } = {},
): { readonly files: readonly FilePatch[]; readonly mistakes: readonly PatchMistake[] } {
  const parser = new Parser(Buffer.from(patch as string).toString("latin1"), options.recount ?? false);
  parser.run();
  return { files: parser.files.map(finished), mistakes: parser.mistakes };
}

type Draft = {
  line: number;
  isGit: boolean;
  /** From the first line of git's header. */
  both?: string | undefined;
  old?: string;
  now?: string;
  renameFrom?: string;
  renameTo?: string;
  isCopy: boolean;
  isNew: boolean;
  isGone: boolean;
  oldMode?: number;
  newMode?: number;
  isBinary: boolean;
  hunks: Hunk[];
};

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;
const NULL = "/dev/null";

class Parser {
  readonly files: Draft[] = [];
  readonly mistakes: PatchMistake[] = [];
  readonly #lines: readonly string[];
  readonly #recount: boolean;
  #at = 0;

  constructor(text: string, recount: boolean) {
    const lines = text.split("\n");
    if (lines.at(-1) === "") lines.pop();
    this.#lines = lines;
    this.#recount = recount;
  }

  run(): void {
    while (this.#at < this.#lines.length) {
      const line = this.#header();
      const file = this.files.at(-1);
      if (line.startsWith("diff --git ")) this.#open(true).both = bothNames(line.slice(11));
      else if (line.startsWith("--- ") && this.#header(1).startsWith("+++ ")) {
        // Git's header goes on with these two; without one they begin a file.
        const open =
          file?.isGit === true && file.old === undefined && file.hunks.length === 0
            ? file
            : this.#open(false);
        open.old = nameIn(line.slice(4));
        open.now = nameIn(this.#header(1).slice(4));
        this.#at += 1;
      } else if (line.startsWith("@@ ")) {
        this.#hunk(file);
        continue;
      } else if (file?.isGit === true && file.hunks.length === 0) extended(file, line);
      this.#at += 1;
    }
    if (this.files.length === 0 && this.mistakes.length === 0)
      this.mistakes.push({ line: 1, why: "there is no file in it: a file begins with --- and +++" });
  }

  /** A line without the carriage return that a patch sent through a mail may have. */
  #header(ahead = 0): string {
    return (this.#lines[this.#at + ahead] ?? "").replace(/\r$/, "");
  }

  #open(isGit: boolean): Draft {
    const file = {
      line: this.#at + 1,
      isGit,
      isCopy: false,
      isNew: false,
      isGone: false,
      isBinary: false,
      hunks: [],
    };
    this.files.push(file);
    return file;
  }

  #hunk(file: Draft | undefined): void {
    const line = this.#at + 1;
    const [isHunk, from, oldCount = "1", to, newCount = "1"] = HUNK.exec(this.#header()) ?? [];
    this.#at += 1;
    if (file === undefined) this.mistakes.push({ line, why: "a hunk stands before any file" });
    if (isHunk === undefined) {
      this.mistakes.push({ line, why: "the header of a hunk is not like @@ -1,2 +1,3 @@" });
      return;
    }
    const left = this.#recount ? undefined : { old: Number(oldCount), new: Number(newCount) };
    const lines = this.#body(left);
    if (left !== undefined && (left.old !== 0 || left.new !== 0))
      this.mistakes.push({
        line,
        why: `the hunk should have ${oldCount} old and ${newCount} new lines, and has ${Number(oldCount) - left.old} and ${Number(newCount) - left.new}`,
      });
    file?.hunks.push({ line, from: Number(from), to: Number(to), lines });
  }

  /** The lines of a hunk: as many as its header says, or as look like it. */
  #body(left: { old: number; new: number } | undefined): HunkLine[] {
    const lines: HunkLine[] = [];
    for (; this.#at < this.#lines.length; this.#at++) {
      const line = this.#lines[this.#at] as string;
      const sign = line === "" || line === "\r" ? " " : line[0];
      if (sign === "\\") {
        const last = lines.pop();
        if (last !== undefined) lines.push({ sign: last.sign, text: last.text.slice(0, -1) });
        continue;
      }
      if (left === undefined ? this.#endsHunk(line) : left.old <= 0 && left.new <= 0) break;
      if (sign !== " " && sign !== "-" && sign !== "+") break;
      lines.push({ sign, text: `${line === "\r" ? line : line.slice(1)}\n` });
      if (left !== undefined && sign !== "+") left.old -= 1;
      if (left !== undefined && sign !== "-") left.new -= 1;
    }
    // Empty lines behind the last hunk are not part of it.
    if (left === undefined) while (lines.at(-1)?.text === "\n" && lines.at(-1)?.sign === " ") lines.pop();
    return lines;
  }

  #endsHunk(line: string): boolean {
    return line.startsWith("--- ") && (this.#lines[this.#at + 1] ?? "").startsWith("+++ ");
  }
}

function extended(file: Draft, line: string): void {
  const [, words, rest = ""] =
    /^(old mode|new mode|new file mode|deleted file mode|rename from|rename to|copy from|copy to|Binary files|GIT binary patch)(?: (.*))?$/.exec(
      line,
    ) ?? [];
  const unchanged = /^index [0-9a-f]+\.\.[0-9a-f]+ (\d+)$/.exec(line)?.[1];
  if (unchanged !== undefined) file.oldMode = Number.parseInt(unchanged, 8);
  const mode = Number.parseInt(rest, 8);
  if (words === "old mode" || words === "deleted file mode") file.oldMode = mode;
  if (words === "new mode" || words === "new file mode") file.newMode = mode;
  file.isNew ||= words === "new file mode";
  file.isGone ||= words === "deleted file mode";
  file.isCopy ||= words === "copy from";
  file.isBinary ||= words === "Binary files" || words === "GIT binary patch";
  if (words === "rename from" || words === "copy from") file.renameFrom = nameIn(rest);
  if (words === "rename to" || words === "copy to") file.renameTo = nameIn(rest);
}

function finished(draft: Draft): FilePatch {
  const { old, now, both, renameFrom, renameTo, oldMode, newMode, isBinary, hunks, line } = draft;
  const common = {
    isBinary,
    hunks,
    line,
    ...(oldMode !== undefined && { oldMode }),
    ...(newMode !== undefined && { newMode }),
  };
  if (renameFrom !== undefined && renameTo !== undefined)
    return { ...common, kind: draft.isCopy ? "copy" : "rename", from: path(renameFrom), to: path(renameTo) };
  const [from, to] = stripped(old ?? both ?? NULL, now ?? both ?? NULL, old === undefined);
  if (draft.isNew || from === NULL) return { ...common, kind: "add", to: path(to) };
  if (draft.isGone || to === NULL) return { ...common, kind: "delete", from: path(from) };
  return { ...common, kind: "change", from: path(from), to: path(to) };
}

function path(latin: string): string {
  return textOfName(Buffer.from(latin, "latin1"));
}

/** Names as they are without the a/ and b/ that git puts before them. */
function stripped(old: string, now: string, isStripped: boolean): readonly [string, string] {
  const has = (name: string, letters: string): boolean =>
    name === NULL || (name[1] === "/" && letters.includes(name[0] as string));
  if (isStripped || !has(old, "aciow") || !has(now, "bciow") || (old === now && old[0] !== "/"))
    return [old, now];
  const strip = (name: string): string => (name === NULL ? name : name.slice(2));
  return [strip(old), strip(now)];
}

/** The name in a header: in quotes, up to the tab before a date, or all of it. */
function nameIn(text: string): string {
  return unquoted(text)?.name.toString("latin1") ?? (text.split("\t")[0] as string);
}

/** The name that stands twice behind `diff --git`, without its prefix; undefined when there are two names. */
function bothNames(text: string): string | undefined {
  const first = unquoted(text);
  if (first !== undefined) {
    const second = unquoted(first.rest.slice(1));
    const [old, now] = stripped(first.name.toString("latin1"), second?.name.toString("latin1") ?? "", false);
    return old === now ? old : undefined;
  }
  const half = (text.length - 1) / 2;
  const [old, now] = stripped(text.slice(0, half), text.slice(half + 1), false);
  return Number.isInteger(half) && old === now ? old : undefined;
}

/** Where a hunk went: the line of the file that was, how far that is from where it should have gone, and how well it fits. */
export type PlacedHunk = { readonly at: number; readonly offset: number; readonly fuzz: number };
export type UnfitHunk = PatchMistake & { readonly hunk: number };

/** The bytes with all hunks applied, or which of them do not fit. */
export function fitted(
  bytes: string,
  hunks: readonly Hunk[],
  fuzz: number,
): {
  readonly bytes: string;
  readonly hunks: readonly PlacedHunk[];
  readonly failures: readonly UnfitHunk[];
} {
  const lines = linesOf(bytes);
  const isWindows = endsLikeWindows(lines);
  const placed: PlacedHunk[] = [];
  const failures: UnfitHunk[] = [];
  const result: string[] = [];
  let [done, drift] = [0, 0];
  hunks.forEach((hunk, place) => {
    const exact = placeOf(lines, hunk, done, drift, fuzz);
    const other = "why" in exact ? ended(hunk, isWindows) : undefined;
    const found = other === undefined ? exact : placeOf(lines, other, done, drift, fuzz);
    if ("why" in found) {
      failures.push({ hunk: place + 1, line: hunk.line, why: found.why });
      return;
    }
    for (const line of lines.slice(done, found.at)) result.push(line);
    for (const line of found.now) result.push(line);
    done = found.at + found.old.length;
    drift = found.offset;
    placed.push({ at: found.at + 1, offset: found.offset, fuzz: found.fuzz });
  });
  for (const line of lines.slice(done)) result.push(line);
  return { bytes: result.join(""), hunks: placed, failures };
}

type Wanted = { readonly old: readonly string[]; readonly now: readonly string[]; readonly at: number };
type Found = Wanted & { readonly offset: number; readonly fuzz: number };

/** The place where a hunk fits: the one it names, moved like the hunk before, or else the only one. */
function placeOf(
  lines: readonly string[],
  hunk: Hunk,
  from: number,
  drift: number,
  fuzz: number,
): Found | { readonly why: string } {
  for (let less = 0; less <= fuzz; less++) {
    const wanted = reduced(hunk, less);
    if (wanted === undefined) break;
    const found = (at: number): Found => ({ ...wanted, at, offset: at - wanted.at, fuzz: less });
    for (const at of [wanted.at + drift, wanted.at])
      if (at >= from && stands(lines, wanted.old, at)) return found(at);
    // Nothing to look for: it can only go where it says.
    if (wanted.old.length === 0) continue;
    const places: number[] = [];
    for (let at = from; at + wanted.old.length <= lines.length && places.length < 3; at++)
      if (stands(lines, wanted.old, at)) places.push(at);
    const [only] = places;
    if (only !== undefined && places.length === 1) return found(only);
    if (places.length > 1)
      return {
        why: `it is not where line ${wanted.at + 1} is, and fits at several other places (lines ${places.map((at) => at + 1).join(", ")})`,
      };
  }
  return { why: misfit(lines, reduced(hunk, 0) as Wanted, from) };
}

/** The lines to find and those to put there, with `less` lines of context left out at each end. */
function reduced(hunk: Hunk, less: number): Wanted | undefined {
  const { lines } = hunk;
  const first = lines.findIndex(({ sign }) => sign !== " ");
  const last = lines.findLastIndex(({ sign }) => sign !== " ");
  const [lead, trail] = [
    Math.min(less, Math.max(first, 0)),
    Math.min(less, Math.max(lines.length - 1 - last, 0)),
  ];
  if (less > 0 && lead < less && trail < less) return undefined;
  const kept = lines.slice(lead, lines.length - trail);
  const old = kept.filter(({ sign }) => sign !== "+").map(({ text }) => text);
  const isInsertion = lines.every(({ sign }) => sign === "+");
  return {
    old,
    now: kept.filter(({ sign }) => sign !== "-").map(({ text }) => text),
    // A header names the line before, when the hunk has no line of the old file.
    at: (isInsertion ? hunk.from : Math.max(hunk.from - 1, 0)) + lead,
  };
}

function stands(lines: readonly string[], old: readonly string[], at: number): boolean {
  return at + old.length <= lines.length && old.every((line, place) => lines[at + place] === line);
}

/** A hunk with the line ends of the file, when both are consistent and differ: the patch was made from an editor's text. */
function ended(hunk: Hunk, isWindows: boolean | undefined): Hunk | undefined {
  const is = endsLikeWindows(hunk.lines.map(({ text }) => text));
  if (is === undefined || isWindows === undefined || is === isWindows) return undefined;
  const convert = (text: string): string =>
    isWindows ? text.replace(/\n$/, "\r\n") : text.replace(/\r\n$/, "\n");
  return { ...hunk, lines: hunk.lines.map(({ sign, text }) => ({ sign, text: convert(text) })) };
}

/** Whether all lines end with a carriage return, or none does; undefined when they differ or the list is empty. */
function endsLikeWindows(lines: readonly string[]): boolean | undefined {
  const whole = lines.filter((line) => line.endsWith("\n"));
  const count = whole.filter((line) => line.endsWith("\r\n")).length;
  return whole.length === 0 || (count > 0 && count < whole.length) ? undefined : count > 0;
}

/** Where the file first differs from what the hunk expects, at the place that fits best near where it says. */
function misfit(lines: readonly string[], { old, at }: Wanted, from: number): string {
  if (at < from) return `it begins in lines that an earlier hunk changed`;
  const place = old.findIndex((line, index) => lines[at + index] !== line);
  const [expected, there] = [old[place] ?? "", lines[at + place]];
  const found = there === undefined ? "the file has no such line" : `the file has ${shown(there)}`;
  return `its lines are not there: at line ${at + place + 1} it expects ${shown(expected)}, and ${found}`;
}

function shown(line: string): string {
  const text = Buffer.from(line, "latin1").toString("utf8").replace(/\n$/, "");
  return JSON.stringify(text.length > 120 ? `${text.slice(0, 120)}…` : text);
}
