import type { FileEntry, Sandbox, SandboxFiles } from "../../../sandbox/index.js";
import { globOf, isGlob } from "./glob.js";
import { placeOf, SHARED, sandboxTool, shownPlace } from "./options.js";
import { plural, printable, sizeOf } from "./text.js";

const DEEPEST = 10;

/** A tool that lists directories. */
export const listTool = sandboxTool({
  name: "list",
  description: "Lists what is in a directory of the workspace, with sizes; directories end with a slash.",
  properties: {
    path: { type: "string", description: "The directory, relative to the workspace; default the workspace." },
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

/** A directory as text: what is in it, as far as there is room, and how much that is. */
export async function listed(
  { files }: Sandbox,
  place: string,
  options: WalkOptions & { readonly maxOutput: number },
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
  const lines = entries.map((one) => lineOf(one, start));
  return fitted(head, lines, options.maxOutput);
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

function shownName(path: string): string {
  return printable(path.toWellFormed().replaceAll("\n", "\\n"));
}

function lineOf({ path, entry, closed }: Walked, start: number): string {
  const name = shownName(path.slice(start));
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

/** A tool that finds files and directories by name. */
export const findTool = sandboxTool({
  name: "find",
  description:
    'Finds files and directories of the workspace by a part of their name ("config"), or by a glob: "*.ts" for names, "src/**/*.ts" for paths.',
  properties: {
    name: { type: "string", minLength: 1, description: "A part of a name, or a glob." },
    path: { type: "string", description: "The directory to look in; default the workspace." },
  },
  required: ["name"],
  effect: "read",
  ...SHARED,
  run: async ({ name, path = "" }, context, { maxOutput, skip }) => {
    const { files } = await context.sandbox();
    const { found, notes, where } = await entriesFitting(files, path, nameTest(name), skip, context.signal);
    const lines = found.map(
      ({ path: place, entry }) => shownName(place) + (entry.kind === "directory" ? "/" : ""),
    );
    const head = `[${plural(found.length, "match", "matches")} for ${JSON.stringify(name)}${where}${notes}]`;
    return fitted(head, lines, maxOutput);
  },
});

/** The entries below a directory whose path, from the workspace or from that directory, fits; and what to say about the walk. */
export async function entriesFitting(
  files: SandboxFiles,
  path: string,
  fits: (path: string) => boolean,
  skip: readonly string[],
  signal: AbortSignal,
): Promise<{ readonly found: readonly Walked[]; readonly notes: string; readonly where: string }> {
  const root = placeOf(path);
  const { entries, cut } = await walk(files, root, { skip, signal });
  const found = entries.filter(
    (one) => fits(one.path) || (root !== "" && fits(one.path.slice(root.length + 1))),
  );
  const closed = new Set(entries.filter((one) => one.closed === "skipped").map((one) => one.entry.name));
  const looked = closed.size > 0 ? `, not looking into ${[...closed].join(", ")}` : "";
  const notes = `${looked}${cut ? ", among the first 200000 entries" : ""}`;
  return { found, notes, where: root === "" ? "" : ` in ${root}` };
}

/** Without wildcards a name is a part of one, in capitals or not; with a slash a part of the path. */
function nameTest(name: string): (path: string) => boolean {
  if (isGlob(name)) return globOf(name);
  const names = name.split("/").filter((part) => part !== "" && part !== ".");
  const wanted = names.join("/").toLowerCase();
  return (path) => {
    const where = wanted.includes("/") ? path : path.slice(path.lastIndexOf("/") + 1);
    return where.toLowerCase().includes(wanted);
  };
}

/** Entries that a walk looks at before it gives up: a model learns nothing from more. */
const ENTRIES = 200_000;

export type Walked = {
  readonly path: string;
  readonly entry: FileEntry;
  /** How many directories it is below the one where the walk began; 1 is in it. */
  readonly depth: number;
  /** Why a directory was not looked into. */
  readonly closed?: "skipped" | "deep" | "unreadable";
};

type WalkOptions = {
  /** Names of directories that are not looked into. */
  readonly skip: readonly string[];
  readonly depth?: number;
  readonly signal: AbortSignal;
  readonly most?: number;
};

/** The entries below a directory, sorted, parents first; `cut` when there are too many. Follows no link. */
export async function walk(
  files: SandboxFiles,
  root: string,
  { skip, depth = Number.POSITIVE_INFINITY, signal, most = ENTRIES }: WalkOptions,
): Promise<{ readonly entries: readonly Walked[]; readonly cut: boolean }> {
  const found: Walked[] = [];
  const waiting: Walked[] = [];
  const open = async (path: string, level: number): Promise<void> => {
    signal.throwIfAborted();
    for (const entry of [...(await files.list(path))].reverse())
      waiting.push({ path: path === "" ? entry.name : `${path}/${entry.name}`, entry, depth: level });
  };
  await open(root, 1);
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (found.length >= most) return { entries: found, cut: true };
    found.push(next);
    if (next.entry.kind !== "directory") continue;
    let closed: Walked["closed"];
    if (skip.includes(next.entry.name)) closed = "skipped";
    else if (next.depth >= depth) closed = "deep";
    else
      await open(next.path, next.depth + 1).catch(() => {
        signal.throwIfAborted();
        closed = "unreadable";
      });
    if (closed !== undefined) found[found.length - 1] = { ...next, closed };
  }
  return { entries: found, cut: false };
}
