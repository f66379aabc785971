import { FileError } from "../../../sandbox/index.js";
import type { Tool } from "../tool.js";
import { notesOf, syntaxRefusal, unmatched, windows } from "./edit-answer.js";
import { EditRefusedError } from "./error.js";
import { endingOf, lineChanges, lineCounter, replaced, stretchesOf } from "./match.js";
import { fileFinding, ONE_FILE, type SandboxToolOptions, sandboxTool } from "./options.js";
import { placeOf } from "./place.js";
import { checkChange, type LineChange } from "./syntax.js";
import { bufferOf, linesOf, plural, textOf } from "./text.js";
import { opened } from "./view.js";

type EditInput = {
  readonly path: string;
  readonly old?: string;
  readonly new: string;
  readonly all?: boolean;
  readonly line?: number;
};

/**
 * A tool that replaces an exact text of a file, or inserts one behind a line. Before a change is kept its syntax is
 * checked: one that breaks the file is refused with what is wrong.
 */
export function editTool(options: SandboxToolOptions = {}): Tool {
  return sandboxTool<EditInput>(options, {
    name: "edit",
    description:
      "Changes a file of the workspace: replaces `old`, which must stand in it exactly once, with `new`; or inserts `new` behind the line `line`. White space counts. A change that brings a syntax error is not made, and you are told why.",
    properties: {
      path: { type: "string", minLength: 1, description: "Relative to the workspace." },
      old: {
        type: "string",
        description: "The text to replace, without line numbers. Include enough lines to make it unique.",
      },
      new: { type: "string", description: "What shall stand there instead." },
      all: { type: "boolean", description: "Replace every place where `old` stands." },
      line: {
        type: "integer",
        minimum: 0,
        description: "Instead of `old`: insert `new` behind this line; 0 is the beginning.",
      },
    },
    required: ["path", "new"],
    effect: "write",
    ...ONE_FILE,
    reconcile: fileFinding,
    run: async (given, context) => {
      const place = placeOf(given.path);
      const sandbox = await context.sandbox();
      const { entry, bytes } = await opened(sandbox, place);
      if (entry.kind === "directory") throw new FileError("not-a-file", place, "it is a directory");
      const shown = bytes === undefined ? undefined : textOf(bytes);
      if (
        bytes === undefined ||
        shown?.kind !== "text" ||
        shown.notes.some((note) => note.startsWith("encoded"))
      )
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
}

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
  return {
    what: `Inserted ${plural(added, "line")} into ${place}.`,
    after,
    changes: [{ line: line + 1, removed: 0, added }],
  };
}

function latin1(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}

function utf8(bytes: string): string {
  return Buffer.from(bytes, "latin1").toString("utf8");
}
