import { PatchRefusedError } from "./error.js";

/** What one section of a "*** Begin Patch" does to one file. */
export type FileSection =
  | { readonly type: "add"; readonly path: string; readonly line: number; readonly text: string }
  | { readonly type: "delete"; readonly path: string; readonly line: number }
  | {
      readonly type: "update";
      readonly path: string;
      /** Where in the patch it begins. */
      readonly line: number;
      readonly moveTo?: string;
      readonly hunks: readonly Hunk[];
    };

/** Lines that stand together, some of which are taken out or put in. `headers` say below which lines to look. */
export type Hunk = {
  readonly headers: readonly string[];
  readonly lines: readonly { readonly mark: " " | "-" | "+"; readonly text: string }[];
  /** The last of them is the last of the file. */
  readonly atEnd: boolean;
  /** Where in the patch it begins. */
  readonly line: number;
};

/** Whether a text is such a patch, bare or between fences. */
export function isBeginPatch(text: string): boolean {
  return text.split("\n").some((line) => line.trimEnd() === BEGIN);
}

const BEGIN = "*** Begin Patch";
const END = "*** End Patch";

/** The sections of a patch, or a `PatchRefusedError` that says which line is wrong. */
export function readBeginPatch(text: string): readonly FileSection[] {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const first = lines.findIndex((line) => line.trimEnd() === BEGIN);
  const last = lines.findLastIndex((line) => line.trimEnd() === END);
  if (last < first) throw refused(lines.length, `"${END}" is missing: was it cut off?`);
  const sections: FileSection[] = [];
  let at = first + 1;
  while (at < last) {
    const line = lines[at] as string;
    if (line.trim() === "") {
      at += 1;
      continue;
    }
    const [, what, path = ""] = /^\*\*\* (Add|Delete|Update) File: (.*\S)\s*$/.exec(line) ?? [];
    if (what === undefined)
      throw refused(at + 1, `"*** Add File: …", "*** Update File: …" or "*** Delete File: …" belongs here`);
    const end = sectionEnd(lines, at + 1, last);
    const body = lines.slice(at + 1, end);
    if (what === "Add") sections.push({ type: "add", path, line: at + 1, text: addition(body, at + 2) });
    else if (what === "Delete") {
      if (body.some((one) => one.trim() !== ""))
        throw refused(at + 2, "nothing can follow the deletion of a file but the next file");
      sections.push({ type: "delete", path, line: at + 1 });
    } else sections.push(update(path, body, at + 2));
    at = end;
  }
  if (sections.length === 0) throw refused(first + 1, "there is no file in it");
  return sections;
}

function sectionEnd(lines: readonly string[], from: number, last: number): number {
  for (let at = from; at < last; at++)
    if (/^\*\*\* (Add|Delete|Update) File: /.test(lines[at] as string)) return at;
  return last;
}

function addition(body: readonly string[], first: number): string {
  const kept = withoutEmptyEnd(body);
  const text = kept.map((line, offset) => {
    if (!line.startsWith("+")) throw refused(first + offset, 'each line of a new file begins with "+"');
    return `${line.slice(1)}\n`;
  });
  return text.join("");
}

type OpenHunk = { headers: string[]; lines: Hunk["lines"][number][]; atEnd: boolean; line: number };

function update(path: string, body: readonly string[], first: number): FileSection {
  const moveTo = /^\*\*\* Move to: (.*\S)\s*$/.exec(body[0] ?? "")?.[1];
  const hunks: OpenHunk[] = [];
  let open: OpenHunk | undefined;
  const begun = (line: number): OpenHunk => {
    const hunk: OpenHunk = { headers: [], lines: [], atEnd: false, line };
    hunks.push(hunk);
    return hunk;
  };
  withoutEmptyEnd(body).forEach((line, offset) => {
    const number = first + offset;
    if (offset === 0 && moveTo !== undefined) return;
    const header = /^@@(?: (.*))?$/.exec(line);
    if (header !== null) {
      // Several in a row lead to one place: a class, then a method in it.
      if (open === undefined || open.lines.length > 0) open = begun(number);
      const below = header[1]?.trim() ?? "";
      if (below !== "" && !/^-\d+(,\d+)? \+\d+(,\d+)? @@/.test(below)) open.headers.push(below);
    } else if (line.trimEnd() === "*** End of File") {
      if (open === undefined) throw refused(number, "the end of a file is named, but no lines before it");
      open.atEnd = true;
      open = undefined;
    } else {
      const mark = line === "" ? " " : (line[0] as string);
      if (mark !== " " && mark !== "-" && mark !== "+")
        throw refused(number, 'a line begins with " ", "-" or "+", or is a "@@" that says where');
      open ??= begun(number);
      open.lines.push({ mark, text: line.slice(1) });
    }
  });
  const empty = hunks.find(({ lines }) => lines.every(({ mark }) => mark === " "));
  if (empty !== undefined) throw refused(empty.line, "it changes nothing here");
  if (hunks.length === 0 && moveTo === undefined) throw refused(first, `it changes nothing in ${path}`);
  return { type: "update", path, line: first - 1, ...(moveTo !== undefined && { moveTo }), hunks };
}

function withoutEmptyEnd(body: readonly string[]): readonly string[] {
  return body.slice(0, body.findLastIndex((line) => line !== "") + 1);
}

function refused(line: number, why: string): PatchRefusedError {
  return new PatchRefusedError([{ line, why }]);
}
