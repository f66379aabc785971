import type { Sandbox } from "../../../sandbox/index.js";
import type { Tool } from "../tool.js";
import { SearchRefusedError } from "./error.js";
import { globOf } from "./glob.js";
import { type Match, matchesIn } from "./grep.js";
import { fitted } from "./list.js";
import { type SandboxToolOptions, SHARED, sandboxTool } from "./options.js";
import { placeOf, shownPlace } from "./place.js";
import { plural, printable, shortened, textOf } from "./text.js";
import { walk } from "./walk.js";

/** Files around whose matches more lines are shown. */
const FILES = 50;

type SearchInput = {
  readonly pattern: string;
  readonly plain?: boolean;
  readonly ignoreCase?: boolean;
  readonly path?: string;
  readonly glob?: string;
  readonly context?: number;
};

/** A tool that searches the contents of files. The pattern is run inside the sandbox, where it can hold up nobody. */
export function searchTool(options: SandboxToolOptions = {}): Tool {
  return sandboxTool<SearchInput>(options, {
    name: "search",
    description:
      "Searches the files of the workspace for a regular expression, or for plain text, and gives the matching lines with path and line number.",
    properties: {
      pattern: {
        type: "string",
        minLength: 1,
        maxLength: 4000,
        description: "What to look for, within a line.",
      },
      plain: {
        type: "boolean",
        description: "Take the pattern as plain text instead of a regular expression.",
      },
      ignoreCase: { type: "boolean", description: "Take capital and small letters for the same." },
      path: { type: "string", description: "A directory or a file to search; default the workspace." },
      glob: {
        type: "string",
        description: 'Search only files whose path fits, such as "*.ts" or "src/**/*.py".',
      },
      context: { type: "integer", minimum: 0, maximum: 20, description: "Lines to show around each match." },
    },
    required: ["pattern"],
    effect: "read",
    ...SHARED,
    run: async (given, context, { maxOutput, skip }) => {
      if (/[\n\0]/.test(given.pattern))
        throw new SearchRefusedError(
          given.pattern,
          "a pattern is about one line, it cannot hold a line break",
        );
      const sandbox = await context.sandbox();
      const { paths, notes, root } = await candidates(sandbox, given, skip, context.signal);
      const { matches, more } = await matchesIn(sandbox, paths, given, context);
      const files = new Set(matches.map(({ path }) => path)).size;
      const where = root === "" ? "" : ` in ${shownPlace(root)}`;
      const head = `[${more ? "at least " : ""}${plural(matches.length, "matching line")} in ${plural(files, "file")} for ${JSON.stringify(given.pattern)}${where}, ${plural(paths.length, "file")} searched${notes}]`;
      return fitted(head, await shown(sandbox, matches, given.context ?? 0), maxOutput);
    },
  });
}

/** The files to be searched. */
async function candidates(
  { files }: Sandbox,
  { path = "", glob }: SearchInput,
  skip: readonly string[],
  signal: AbortSignal,
): Promise<{ readonly paths: readonly string[]; readonly notes: string; readonly root: string }> {
  const root = placeOf(path);
  const entry = root === "" ? undefined : await files.stat(root);
  if (entry?.kind === "file") return { paths: [root], notes: "", root };
  const { entries, cut } = await walk(files, root, { skip, signal });
  const fits = glob === undefined ? () => true : globOf(glob);
  const inside = (place: string): string => (root === "" ? place : place.slice(root.length + 1));
  // A line break would end the name for whoever reads the answer.
  const paths = entries
    .filter(({ entry: one, path: place }) => one.kind === "file" && !place.includes("\n"))
    .map((one) => one.path)
    .filter((one) => fits(one) || (root !== "" && fits(inside(one))));
  const closed = [...new Set(entries.filter((one) => one.closed === "skipped").map((one) => one.entry.name))];
  const notes = [
    ...(closed.length > 0 ? [`, not looking into ${closed.join(", ")}`] : []),
    ...(cut ? [", among the first 200000 entries"] : []),
  ];
  return { paths, notes: notes.join(""), root };
}

/** The matches as lines; with some around them, "-" stands where a line is no match. */
async function shown(
  { files }: Sandbox,
  matches: readonly Match[],
  around: number,
): Promise<readonly string[]> {
  const name = (path: string): string => printable(path.toWellFormed());
  if (around === 0)
    return matches.map(({ path, line, text }) => `${name(path)}:${line}:${shortened(text, 300)}`);
  const lines: string[] = [];
  const byPath = grouped(matches);
  let left = FILES;
  for (const [path, inFile] of byPath) {
    const file = left-- > 0 ? textOf(await files.read(path).catch(() => new Uint8Array())) : undefined;
    const all = file?.kind === "text" ? file.lines : [];
    const hits = new Map(inFile.map(({ line, text }) => [line, text]));
    let last = 0;
    for (const { line } of inFile) {
      const from = Math.max(last + 1, line - around);
      if (last > 0 && from > last + 1) lines.push("--");
      const to = all.length === 0 ? line : Math.min(all.length, line + around);
      for (let at = all.length === 0 ? line : from; at <= to; at++) {
        const hit = hits.has(at);
        lines.push(
          `${name(path)}${hit ? ":" : "-"}${at}${hit ? ":" : "-"}${shortened(hits.get(at) ?? all[at - 1] ?? "", 300)}`,
        );
      }
      last = Math.max(last, to);
    }
    lines.push("--");
  }
  return lines.slice(0, -1);
}

function grouped(matches: readonly Match[]): ReadonlyMap<string, readonly Match[]> {
  const groups = new Map<string, Match[]>();
  for (const match of matches) {
    const known = groups.get(match.path);
    if (known === undefined) groups.set(match.path, [match]);
    else known.push(match);
  }
  return groups;
}
