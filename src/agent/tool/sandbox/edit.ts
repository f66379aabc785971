import { FileError } from "../../../sandbox/index.js";
import { EditRefusedError } from "./error.js";
import { endingOf, lineChanges, lineCounter, nearestTo, replaced, stretchesOf } from "./match.js";
import { CHANGE, ONE_FILE, placeOf, sandboxTool } from "./options.js";
import { checkChange, type LineChange, type SyntaxFinding, shownProblem } from "./syntax.js";
import { bufferOf, linesOf, plural, textOf, windowOf } from "./text.js";
import { opened } from "./view.js";

const OLD = "The text to replace, without line numbers. Include enough lines to make it unique.";

type EditInput = {
  readonly path: string;
  readonly old?: string;
  readonly new: string;
  readonly all?: boolean;
  readonly line?: number;
};

/** A tool that replaces an exact text or inserts after a line. A change that breaks the syntax is refused. */
export const editTool = sandboxTool({
  name: "edit",
  description:
    "Changes a file of the workspace: replaces `old`, which must stand in it exactly once, with `new`; or inserts `new` behind the line `line`. White space counts. A change that brings a syntax error is not made, and you are told why.",
  properties: {
    path: { type: "string", minLength: 1, description: "Relative to the workspace." },
    old: { type: "string", description: OLD },
    new: { type: "string", description: "What shall stand there instead." },
    all: { type: "boolean", description: "Replace every place where `old` stands." },
    line: {
      type: "integer",
      minimum: 0,
      description: "Instead of `old`: insert `new` behind this line; 0 is the beginning.",
    },
  },
  required: ["path", "new"],
  ...ONE_FILE,
  ...CHANGE,
  run: async (given, context) => {
    const place = placeOf(given.path);
    const sandbox = await context.sandbox();
    const { entry, bytes } = await opened(sandbox, place);
    if (entry.kind === "directory") throw new FileError("not-a-file", place, "it is a directory");
    const shown = bytes === undefined ? undefined : textOf(bytes);
    const isText = shown?.kind === "text" && !shown.notes.some((note) => note.startsWith("encoded"));
    if (bytes === undefined || !isText)
      throw new EditRefusedError("not-text", place, "it is not UTF-8 text, or too long to edit.");
    // Each byte as one character: whatever the rest of the file is, it stays as it is.
    const before = bufferOf(bytes).toString("latin1");
    const change = changeOf(place, before, given);
    const { after, changes } = change;
    const [was, is] = [utf8(before), utf8(after)];
    const finding = await checkChange(place, was, is, changes, sandbox);
    if (finding.checked && finding.fresh.length > 0) throw syntaxRefusal(place, was, is, changes, finding);
    context.signal.throwIfAborted();
    await sandbox.files.write(place, Buffer.from(after, "latin1"));
    return [change.what, windows(place, is, changes, "after"), ...notesOf(finding)].join("\n");
  },
});

type Change = { readonly what: string; readonly after: string; readonly changes: readonly LineChange[] };

function changeOf(place: string, before: string, given: EditInput): Change {
  const { old, line, all = false } = given;
  const text = latin1(given.new);
  if (line !== undefined) {
    if (old !== undefined) throw new EditRefusedError("bad-place", place, "give `old` or `line`, not both.");
    return insertion(place, before, line, text);
  }
  if (old === undefined || old === "")
    throw new EditRefusedError(
      "bad-place",
      place,
      "`old` is missing. Give the text to replace, or the `line` to insert behind; to write a whole file use write.",
    );
  const wanted = latin1(old);
  const stretches = stretchesOf(before, wanted);
  if (stretches.length === 0) throw unmatched(place, utf8(before), old);
  if (stretches.length > 1 && !all) {
    const line = lineCounter(before);
    const places = stretches.map(({ from }) => line(from));
    const shown = `${places.slice(0, 10).join(", ")}${places.length > 10 ? ", …" : ""}`;
    throw new EditRefusedError(
      "many-matches",
      place,
      `\`old\` stands in it ${stretches.length} times, at the lines ${shown}. Add lines around the one you mean, or say all: true.`,
      { lines: places.slice(0, 100) },
    );
  }
  const made = replaced(before, stretches, text);
  const after = made.file;
  if (after === before)
    throw new EditRefusedError("no-change", place, "`old` and `new` are the same, nothing would change.");
  const changes = lineChanges({ text: before, stretches }, { text: after, stretches: made.stretches });
  return { what: `Replaced ${plural(stretches.length, "place")} in ${place}.`, after, changes };
}

function insertion(place: string, before: string, line: number, text: string): Change {
  const total = linesOf(before).length;
  if (line > total)
    throw new EditRefusedError(
      "bad-place",
      place,
      `it has ${plural(total, "line")}, there is no line ${line}.`,
    );
  if (text === "") throw new EditRefusedError("no-change", place, "`new` is empty, nothing would change.");
  const ending = endingOf(before) ?? "\n";
  let at = 0;
  for (let passed = 0; passed < line; passed++) {
    const end = before.indexOf("\n", at);
    at = end < 0 ? before.length : end + 1;
  }
  // Whole lines are inserted: the line before ends first, and what is inserted ends too, unless it is the last.
  const open = at === before.length && at > 0 && !before.endsWith("\n");
  const body = text.replaceAll("\r\n", "\n");
  const whole = body.endsWith("\n") || open ? body : `${body}\n`;
  const inserted = (open ? "\n" : "") + whole;
  const after = before.slice(0, at) + inserted.replaceAll("\n", ending) + before.slice(at);
  const added = linesOf(whole).length;
  const what = `Inserted ${plural(added, "line")} into ${place}.`;
  return { what, after, changes: [{ line: line + 1, removed: 0, added }] };
}

function latin1(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}

function utf8(bytes: string): string {
  return Buffer.from(bytes, "latin1").toString("utf8");
}

/** Lines that are shown above and below a change. */
const AROUND = 4;

export function unmatched(place: string, before: string, old: string): EditRefusedError {
  const lines = linesOf(before);
  const nearest = nearestTo(lines, linesOf(old));
  if (nearest === undefined)
    return new EditRefusedError(
      "no-match",
      place,
      "`old` does not stand in it, nor anything like it. View the file first.",
    );
  const { line, lines: count, differences } = nearest;
  const why = differences.length === 0 ? "" : ` There ${differences.join("; ")}.`;
  const shown = windowOf(place, lines, Math.max(1, line - 2), count + 4, WINDOW);
  const most = `\`old\` does not stand in it exactly. Most like it is line ${line}.${why}\n${shown}`;
  return new EditRefusedError("no-match", place, most, { line });
}

/** Characters of a window in a refusal, and of all windows behind a change. */
const WINDOW = 3000;

export function syntaxRefusal(
  place: string,
  before: string,
  after: string,
  changes: readonly LineChange[],
  { fresh, old }: Extract<SyntaxFinding, { checked: true }>,
): EditRefusedError {
  const shown = fresh.slice(0, 10).map(shownProblem);
  const more = fresh.length > 10 ? [`and ${fresh.length - 10} more`] : [];
  const had = old.length > 0 ? [`(${plural(old.length, "error")} there before not counted)`] : [];
  const lines = [
    `the edit brings ${plural(fresh.length, "new syntax error")}.`,
    ...shown,
    ...more,
    ...had,
    "It would have looked like this:",
    windows(place, after, changes, "after", fresh[0]?.line),
    "It is like this:",
    windows(place, before, changes, "before"),
    "Change the edit, and try again.",
  ];
  return new EditRefusedError("syntax", place, lines.join("\n"), { problems: shown });
}

/** The lines around changes, as they were or as they are, and around another line that matters. */
export function windows(
  place: string,
  text: string,
  changes: readonly LineChange[],
  side: "before" | "after",
  also?: number,
): string {
  const lines = linesOf(text);
  let moved = 0;
  const wanted = changes.map((change) => {
    const from = change.line + (side === "after" ? moved : 0);
    moved += change.added - change.removed;
    const lines = side === "after" ? change.added : change.removed;
    return { from: from - AROUND, to: from + lines - 1 + AROUND };
  });
  if (also !== undefined) wanted.push({ from: also - 2, to: also + 2 });
  wanted.sort((one, other) => one.from - other.from);
  const joined: { from: number; to: number }[] = [];
  for (const one of wanted) {
    const last = joined.at(-1);
    const [from, to] = [Math.max(1, one.from), Math.min(lines.length, one.to)];
    if (last !== undefined && from <= last.to + 1) last.to = Math.max(last.to, to);
    else joined.push({ from: Math.min(from, Math.max(1, lines.length)), to });
  }
  const room = WINDOW / Math.min(SHOWN, joined.length);
  const shown = joined
    .slice(0, SHOWN)
    .map(({ from, to }) => windowOf(place, lines, from, Math.max(1, to - from + 1), room));
  if (joined.length > SHOWN) shown.push(`[… ${joined.length - SHOWN} more places]`);
  return shown.join("\n");
}

/** Places of a change that are shown. */
const SHOWN = 5;

export function notesOf(finding: SyntaxFinding): readonly string[] {
  if (!finding.checked) return [`[syntax not checked: ${finding.why}]`];
  const { old } = finding;
  const shown = `${old.slice(0, 3).map(shownProblem).join("; ")}${old.length > 3 ? "; …" : ""}`;
  return old.length === 0 ? [] : [`[syntax errors as before: ${shown}]`];
}
