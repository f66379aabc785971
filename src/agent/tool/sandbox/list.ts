import type { FileEntry, Sandbox } from "../../../sandbox/index.js";
import type { Tool } from "../tool.js";
import { type SandboxToolOptions, SHARED, sandboxTool } from "./options.js";
import { placeOf, shownPlace } from "./place.js";
import { plural, printable, sizeOf } from "./text.js";
import { type Walked, walk } from "./walk.js";

const DEEPEST = 10;

type ListInput = { readonly path?: string; readonly depth?: number };

/** A tool that lists directories. */
export function listTool(options: SandboxToolOptions = {}): Tool {
  return sandboxTool<ListInput>(options, {
    name: "list",
    description: "Lists what is in a directory of the workspace, with sizes; directories end with a slash.",
    properties: {
      path: {
        type: "string",
        description: "The directory, relative to the workspace; default the workspace.",
      },
      depth: {
        type: "integer",
        minimum: 1,
        maximum: DEEPEST,
        description: "How many levels of directories to look into; default 1.",
      },
    },
    effect: "read",
    ...SHARED,
    run: async ({ path = "", depth = 1 }, context, { maxOutput, skip }) => {
      const sandbox = await context.sandbox();
      return listed(sandbox, placeOf(path), { skip, depth, maxOutput, signal: context.signal });
    },
  });
}

/** A directory as text: what is in it, as far as there is room, and how much that is. */
export async function listed(
  { files }: Sandbox,
  place: string,
  options: {
    readonly skip: readonly string[];
    readonly depth: number;
    readonly maxOutput: number;
    readonly signal: AbortSignal;
  },
): Promise<string> {
  const { entries, cut } = await walk(files, place, { ...options, most: 20_000 });
  const count = (kind: FileEntry["kind"]): number =>
    entries.filter(({ entry }) => entry.kind === kind).length;
  const [directories, links, others] = [count("directory"), count("link"), count("other")];
  const kinds = [
    plural(directories, "directory", "directories"),
    plural(count("file"), "file"),
    ...(links > 0 ? [plural(links, "link")] : []),
    ...(others > 0 ? [plural(others, "other entry", "other entries")] : []),
  ];
  const head = `[${shownPlace(place)}: ${cut ? "at least " : ""}${kinds.join(", ")}]`;
  const start = place === "" ? 0 : place.length + 1;
  return fitted(
    head,
    entries.map((one) => lineOf(one, start)),
    options.maxOutput,
  );
}

/** As many lines as there is room for, and how many are left out. */
export function fitted(head: string, lines: readonly string[], most: number): string {
  const shown = [head];
  let left = most - head.length - 60;
  for (const line of lines) {
    left -= line.length + 1;
    if (left < 0) break;
    shown.push(line);
  }
  const more = lines.length - (shown.length - 1);
  return more === 0 ? shown.join("\n") : `${shown.join("\n")}\n[… ${more} more are not shown]`;
}

function lineOf({ path, entry, closed }: Walked, start: number): string {
  const name = printable(path.slice(start).toWellFormed().replaceAll("\n", "\\n"));
  switch (entry.kind) {
    case "directory":
      return `${name}/${closed === "skipped" ? " (not looked into)" : closed === "unreadable" ? " (cannot be read)" : ""}`;
    case "link":
      return `${name} (link)`;
    case "other":
      return `${name} (no file)`;
    default:
      return `${name} ${sizeOf(entry.size)}${(entry.mode & 0o100) !== 0 ? " executable" : ""}`;
  }
}
