import type { Tool } from "../tool.js";
import { fileFinding, ONE_FILE, type SandboxToolOptions, sandboxTool } from "./options.js";
import { placeOf } from "./place.js";
import { linesOf, plural, textOf } from "./text.js";
import { opened } from "./view.js";

type WriteInput = { readonly path: string; readonly text: string };

/** A tool that writes a whole file. */
export function writeTool(options: SandboxToolOptions = {}): Tool {
  return sandboxTool<WriteInput>(options, {
    name: "write",
    description:
      "Writes a whole file of the workspace, with the directories on the way; what was in it is replaced. To change a part of a file use edit.",
    properties: {
      path: { type: "string", minLength: 1, description: "Relative to the workspace." },
      text: { type: "string", description: "All that shall be in the file." },
    },
    required: ["path", "text"],
    effect: "write",
    ...ONE_FILE,
    reconcile: fileFinding,
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
}
