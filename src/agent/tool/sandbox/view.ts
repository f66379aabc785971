import { FileError, type Sandbox } from "../../../sandbox/index.js";
import { content } from "../content.js";
import { listed } from "./list.js";
import { CHANGE, ONE_FILE, placeOf, sandboxTool, shownPlace } from "./options.js";
import { bufferOf, linesOf, plural, sizeOf, textOf, windowOf } from "./text.js";

/** Longer files are not taken in whole only to show a hundred lines of them. */
const LARGEST = 32 * 1024 ** 2;
/** The size of picture that providers accept. */
const PICTURE = 5_000_000;
const WINDOW = 100;

/** A tool that shows a window of a file with line numbers, a directory, or a picture. */
export const viewTool = sandboxTool({
  name: "view",
  description: `Shows a file of the workspace: ${WINDOW} lines with their numbers ("12:text"), from the line you name. Of a directory it shows what is in it, of a picture the picture.`,
  properties: {
    path: { type: "string", description: "Relative to the workspace." },
    start: { type: "integer", minimum: 1, description: "The first line to show; default 1." },
    lines: { type: "integer", minimum: 1, description: `How many lines; default ${WINDOW}.` },
  },
  required: ["path"],
  effect: "read",
  ...ONE_FILE,
  run: async ({ path, start = 1, lines = WINDOW }, context, { maxOutput, skip }) => {
    const sandbox = await context.sandbox();
    const place = placeOf(path);
    const { bytes, entry } = await opened(sandbox, place);
    if (entry.kind === "directory")
      return listed(sandbox, place, { skip, depth: 1, maxOutput, signal: context.signal });
    if (bytes === undefined)
      return `[${place}: ${sizeOf(entry.size)}, too long to view: print a part of it with shell, such as sed -n '1,100p']`;
    const shown = textOf(bytes);
    if (shown.kind === "image") {
      const what = `[${place}: ${shown.media}, ${sizeOf(bytes.length)}]`;
      if (bytes.length > PICTURE) return `${what.slice(0, -1)}, too large to be shown]`;
      const data = bufferOf(bytes).toString("base64");
      const name = place.slice(place.lastIndexOf("/") + 1).toWellFormed();
      const file = { type: "file", media: shown.media, data, name } as const;
      return content([{ type: "text", text: what }, file]);
    }
    if (shown.kind === "binary") return `[${place}: ${shown.what}, ${sizeOf(bytes.length)}]`;
    const last = shown.lines.length;
    if (start > Math.max(1, last))
      throw new FileError("failed", place, `it has ${last} lines, there is no line ${start}`);
    const notes = shown.notes.map((note) => `[${note}]`);
    const room = maxOutput - place.length - notes.join("\n").length - ROOM;
    return [...notes, windowOf(place, shown.lines, start, lines, room)].join("\n");
  },
});

const ROOM = 150;

/** The entry at a place, with its bytes if it is a file of reasonable length. */
export async function opened(
  sandbox: Sandbox,
  place: string,
): Promise<{
  readonly entry: { readonly kind: "file" | "directory"; readonly size: number; readonly mode: number };
  readonly bytes?: Uint8Array;
}> {
  if (place === "") return { entry: { kind: "directory", size: 0, mode: 0o755 } };
  const entry = await sandbox.files.stat(place);
  if (entry === undefined) throw new FileError("missing", place, "there is nothing there");
  const { kind, size, mode } = entry;
  if (kind === "link") {
    const target = await sandbox.files.link(place);
    const why = `it is a link to ${JSON.stringify(target)}, and links are not followed`;
    throw new FileError("not-a-file", place, why);
  }
  if (kind === "other")
    throw new FileError("not-a-file", shownPlace(place), "it is not a file but a socket, a pipe or a device");
  if (kind === "directory" || size > LARGEST) return { entry: { kind, size, mode } };
  return { entry: { kind, size, mode }, bytes: await sandbox.files.read(place) };
}

/** A tool that writes a whole file. */
export const writeTool = sandboxTool({
  name: "write",
  description:
    "Writes a whole file of the workspace, with the directories on the way; what was in it is replaced. To change a part of a file use edit.",
  properties: {
    path: { type: "string", minLength: 1, description: "Relative to the workspace." },
    text: { type: "string", description: "All that shall be in the file." },
  },
  required: ["path", "text"],
  ...ONE_FILE,
  ...CHANGE,
  run: async ({ path, text }, context) => {
    const sandbox = await context.sandbox();
    const place = placeOf(path);
    const there = await sandbox.files.stat(place);
    const before = there?.kind === "file" ? await opened(sandbox, place) : undefined;
    await sandbox.files.write(place, text.toWellFormed());
    const lines = plural(linesOf(text).length, "line");
    if (there === undefined) return `Created ${place} with ${lines}.`;
    if (there.kind === "link")
      return `Replaced the link ${place} by a file with ${lines}; where it led to is as it was.`;
    const old = before?.bytes === undefined ? undefined : textOf(before.bytes);
    if (old?.kind !== "text") return `Replaced ${place}: ${lines} now.`;
    const endings = old.notes.some((note) => note.includes("CRLF")) && !text.includes("\r\n");
    return `Replaced ${place}: ${lines} now, ${old.lines.length} before.${endings ? " Its line endings were CRLF and are LF now." : ""}`;
  },
});
