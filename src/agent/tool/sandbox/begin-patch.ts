import type { PatchFiles } from "../../../sandbox/index.js";
import { PatchRefusedError } from "./error.js";
import { placeOf } from "./options.js";
import { bufferOf } from "./text.js";

export type FileSection =
  | { readonly type: "add"; readonly path: string; readonly line: number; readonly text: string }
  | { readonly type: "delete"; readonly path: string; readonly line: number }
  | {
      readonly type: "update";
      readonly path: string;
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
  readonly line: number;
};

export function isBeginPatch(text: string): boolean {
  return text.split("\n").some((line) => line.trimEnd() === BEGIN);
}

const BEGIN = "*** Begin Patch";
const END = "*** End Patch";

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
    const rest = lines.slice(at + 1, last);
    const next = rest.findIndex((one) => /^\*\*\* (Add|Delete|Update) File: /.test(one));
    const body = next < 0 ? rest : rest.slice(0, next);
    if (what === "Add") sections.push({ type: "add", path, line: at + 1, text: addition(body, at + 2) });
    else if (what === "Delete") {
      if (body.some((one) => one.trim() !== ""))
        throw refused(at + 2, "nothing can follow the deletion of a file but the next file");
      sections.push({ type: "delete", path, line: at + 1 });
    } else sections.push(update(path, body, at + 2));
    at += 1 + body.length;
  }
  if (sections.length === 0) throw refused(first + 1, "there is no file in it");
  return sections;
}

function addition(body: readonly string[], first: number): string {
  const text = withoutEmptyEnd(body).map((line, offset) => {
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

export async function appliedSections(
  files: PatchFiles,
  sections: readonly FileSection[],
): Promise<readonly string[]> {
  const drafts = new Map<string, Draft>();
  const opened = async (path: string): Promise<Draft> => {
    const bytes = drafts.has(path) ? undefined : await files.read(path);
    const before = bytes && bufferOf(bytes);
    const draft = drafts.get(path) ?? { before, after: before };
    drafts.set(path, draft);
    return draft;
  };
  const refused = (path: string, line: number, why: string): PatchRefusedError =>
    new PatchRefusedError([{ path, line, why }]);
  const done: string[] = [];
  for (const section of sections) {
    const { type, line } = section;
    const path = placeOf(section.path);
    const draft = await opened(path);
    const there = draft.after;
    draft.after = undefined;
    if (type === "add") {
      if (there !== undefined)
        throw refused(path, line, "it is there already: update it, or delete it first");
      draft.after = Buffer.from(section.text, "utf8");
      done.push(`add ${path}`);
      continue;
    }
    if (there === undefined) throw refused(path, line, "there is no such file");
    if (type === "delete") {
      done.push(`delete ${path}`);
      continue;
    }
    const moveTo = section.moveTo === undefined ? path : placeOf(section.moveTo);
    const target = await opened(moveTo);
    if (target.after !== undefined) throw refused(path, line, `there is a file ${moveTo} already`);
    // Each byte as one character: whatever the rest of the file is, it stays as it is.
    target.after = Buffer.from(withHunks(there.toString("latin1"), section), "latin1");
    done.push(section.moveTo === undefined ? `modify ${path}` : `move ${path} to ${moveTo}`);
  }
  await written(files, drafts);
  return done;
}

/** The bytes of a file before the patch and after it; undefined where it does not exist. */
type Draft = { readonly before: Buffer | undefined; after: Buffer | undefined };

export function movesIn(sections: readonly FileSection[]): ReadonlyMap<string, string> {
  return new Map(
    sections.flatMap((section) =>
      section.type === "update" && section.moveTo !== undefined
        ? [[placeOf(section.moveTo), placeOf(section.path)] as const]
        : [],
    ),
  );
}

/** Writes everything, or takes all of it back when something cannot be written. */
async function written(files: PatchFiles, drafts: ReadonlyMap<string, Draft>): Promise<void> {
  const begun: [string, Draft][] = [];
  const put = (path: string, bytes: Buffer | undefined): Promise<void> =>
    bytes === undefined ? files.remove(path) : files.write(path, bytes);
  try {
    for (const [path, draft] of drafts) {
      begun.push([path, draft]);
      await put(path, draft.after);
    }
  } catch (error) {
    for (const [path, { before }] of begun.reverse()) await put(path, before).catch(() => {});
    throw error;
  }
}

/** The file after the hunks of a section. Lines that only have other white space than the patch says keep their own. */
export function withHunks(file: string, section: Extract<FileSection, { type: "update" }>): string {
  const lines = file.split("\n");
  // An empty text after the last line end does not count as a line.
  const ended = lines.at(-1) === "";
  if (ended) lines.pop();
  const made: string[] = [];
  let at = 0;
  for (const hunk of section.hunks) {
    const texts = hunk.lines.map(({ mark, text }) => ({
      mark,
      text: Buffer.from(text, "utf8").toString("latin1"),
    }));
    const old = texts.filter(({ mark }) => mark !== "+").map(({ text }) => text);
    const from = placeOfHunk(lines, old, at, hunk, section.path);
    for (; at < from; at++) made.push(lines[at] as string);
    for (const { mark, text } of texts) {
      if (mark === "+") made.push(text);
      else {
        if (mark === " ") made.push(lines[at] as string);
        at += 1;
      }
    }
  }
  for (; at < lines.length; at++) made.push(lines[at] as string);
  return made.length === 0 ? "" : made.join("\n") + (ended ? "\n" : "");
}

const SAME: readonly ((one: string, other: string) => boolean)[] = [
  (one, other) => one === other,
  (one, other) => one.trimEnd() === other.trimEnd(),
  (one, other) => one.trim() === other.trim(),
];

/** Where a hunk goes. It must be clear: one place, or the first below what its headers name. */
function placeOfHunk(
  lines: readonly string[],
  old: readonly string[],
  after: number,
  { headers, atEnd, line }: Hunk,
  path: string,
): number {
  const refused = (why: string): PatchRefusedError => new PatchRefusedError([{ path, line, why }]);
  let from = after;
  for (const header of headers) {
    const same = lines.findIndex((one, place) => place >= from && one.trim() === header);
    const near = same >= 0 ? same : lines.findIndex((one, place) => place >= from && one.includes(header));
    if (near < 0) throw refused(`no line from line ${from + 1} on says ${JSON.stringify(header)}`);
    from = near + 1;
  }
  if (old.length === 0) return headers.length > 0 && !atEnd ? from : lines.length;
  for (const same of SAME) {
    const places: number[] = [];
    for (let place = from; place + old.length <= lines.length; place++) {
      if (atEnd && place + old.length !== lines.length) continue;
      if (old.every((text, offset) => same(lines[place + offset] as string, text))) places.push(place);
    }
    const [first] = places;
    if (first === undefined) continue;
    if (places.length > 1 && headers.length === 0) {
      const shown = places.slice(0, 10).map((place) => place + 1);
      throw refused(
        `its lines stand there ${places.length} times, at the lines ${shown.join(", ")}. Give more lines around them, or "@@ " with a line above them`,
      );
    }
    return first;
  }
  const behind = after > 0 ? ` behind line ${after}` : "";
  throw refused(
    `its lines do not stand there${behind}, beginning with ${JSON.stringify(old[0]?.slice(0, 200))}`,
  );
}
