import { bytesOfName, type Sandbox, SandboxLostError, textOfName } from "../../../sandbox/index.js";
import type { ToolContext } from "../tool.js";
import { SearchRefusedError } from "./error.js";
import { globOf } from "./glob.js";
import { entriesFitting, fitted } from "./list.js";
import { placeOf, SHARED, sandboxTool, wallOf } from "./options.js";
import { bufferOf, isBinary, linesOf, plural, printable, shortened, textOf } from "./text.js";

/** Files around whose matches more lines are shown. */
const FILES = 50;

/** A tool that searches the contents of files. The pattern is run inside the sandbox, where it can hold up nobody. */
export const searchTool = sandboxTool({
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
      throw new SearchRefusedError(given.pattern, "a pattern is about one line, it cannot hold a line break");
    const sandbox = await context.sandbox();
    const { paths, notes, where } = await candidates(sandbox, given, skip, context.signal);
    const { matches, more } = await matchesIn(sandbox, paths, given, context);
    const files = new Set(matches.map(({ path }) => path)).size;
    const head = `[${more ? "at least " : ""}${plural(matches.length, "matching line")} in ${plural(files, "file")} for ${JSON.stringify(given.pattern)}${where}, ${plural(paths.length, "file")} searched${notes}]`;
    return fitted(head, await shown(sandbox, matches, given.context ?? 0), maxOutput);
  },
});

async function candidates(
  { files }: Sandbox,
  { path = "", glob }: { readonly path?: string; readonly glob?: string },
  skip: readonly string[],
  signal: AbortSignal,
): Promise<{ readonly paths: readonly string[]; readonly notes: string; readonly where: string }> {
  const root = placeOf(path);
  const entry = root === "" ? undefined : await files.stat(root);
  if (entry?.kind === "file") return { paths: [root], notes: "", where: ` in ${root}` };
  const fits = glob === undefined ? () => true : globOf(glob);
  const { found, ...rest } = await entriesFitting(files, path, fits, skip, signal);
  // A line break would end the name for the reader.
  const paths = found.filter((one) => one.entry.kind === "file" && !one.path.includes("\n"));
  return { paths: paths.map((one) => one.path), ...rest };
}

/** The matches as lines; context lines have "-" in place of ":". */
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
        const sign = hits.has(at) ? ":" : "-";
        lines.push(`${name(path)}${sign}${at}${sign}${shortened(hits.get(at) ?? all[at - 1] ?? "", 300)}`);
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

export type Wanted = { readonly pattern: string; readonly plain?: boolean; readonly ignoreCase?: boolean };
export type Match = { readonly path: string; readonly line: number; readonly text: string };

/** Seconds that a search may take: a pattern that takes longer is a bad one. */
const PATIENCE = 30;
const OUTPUT = 4 * 1024 ** 2;

type Found = { readonly matches: readonly Match[]; readonly more: boolean };

/** The lines that match, of files whose paths are known. */
export async function matchesIn(
  sandbox: Sandbox,
  paths: readonly string[],
  given: Wanted,
  context: ToolContext,
): Promise<Found> {
  if (paths.length === 0) return { matches: [], more: false };
  // As Perl knows them where grep can do that, else as POSIX does.
  for (const dialect of given.plain === true ? ["-F"] : ["-P", "-E"]) {
    const found = await grep(sandbox, paths, dialect, given, context);
    if (found !== undefined) return found;
  }
  if (given.plain !== true)
    throw new SearchRefusedError(
      given.pattern,
      "there is no grep in this sandbox. Search for plain text: plain: true",
    );
  return plainMatches(sandbox, paths, given, context.signal);
}

/** Asks the grep of the sandbox; undefined when it is not there, or knows no such expressions. */
async function grep(
  sandbox: Sandbox,
  paths: readonly string[],
  dialect: string,
  { pattern, ignoreCase = false }: Wanted,
  { signal }: ToolContext,
): Promise<Found | undefined> {
  const names = paths.flatMap((path) => [Buffer.from("./"), bytesOfName(path), Buffer.of(0)]);
  // With an empty file as well, grep names the file of each line even where it is asked about one: every grep does that.
  const options = ignoreCase ? ["-n", "-i"] : ["-n"];
  const command = ["xargs", "-0", "grep", dialect, ...options, "-e", pattern, "--", "/dev/null"];
  const { outcome, code, stdout, stderr, cut, why } = await sandbox.exec(command, {
    stdin: Buffer.concat(names),
    env: { LC_ALL: "C" },
    wall: Math.min(PATIENCE * 1000, wallOf(sandbox, undefined)),
    output: OUTPUT,
    signal,
  }).result;
  if (outcome === "lost") throw new SandboxLostError(sandbox.ref.id, why ?? "while files were searched");
  signal.throwIfAborted();
  if (outcome === "timeout" || outcome === "oom")
    throw new SearchRefusedError(
      pattern,
      "it takes too long, or too much memory. Search fewer files, or for something simpler",
    );
  if (outcome === "unstarted" || code === 127 || code === 126) return undefined;
  // It names unreadable files; other messages are about the pattern, or about itself.
  const said = bufferOf(stderr).toString("utf8").split("\n");
  const problem = said.find((line) => line.trim() !== "" && !line.includes("./"));
  if (problem !== undefined) {
    if (dialect === "-P" && /perl|option/i.test(problem)) return undefined;
    throw new SearchRefusedError(pattern, problem.replace(/^(\S*grep): /, "").trim());
  }
  return { matches: parsed(bufferOf(stdout), paths), more: cut > 0 };
}

/** Lines of "./path:12:text". Paths are known: one that itself looks like that is not mistaken. */
function parsed(output: Buffer, paths: readonly string[]): readonly Match[] {
  const known = new Set(paths);
  const found: Match[] = [];
  for (let at = 0; at < output.length; ) {
    const end = output.indexOf(10, at);
    const line = output.subarray(at, end < 0 ? output.length : end);
    at = end < 0 ? output.length : end + 1;
    if (line.includes(0)) continue;
    for (let colon = line.indexOf(58); colon >= 0; colon = line.indexOf(58, colon + 1)) {
      const path = textOfName(line.subarray(2, colon));
      const number = /^(\d{1,9}):/.exec(line.toString("latin1", colon + 1, colon + 12))?.[1];
      if (number === undefined || !known.has(path)) continue;
      const text = line.toString("utf8", colon + 2 + number.length);
      found.push({ path, line: Number(number), text: text.endsWith("\r") ? text.slice(0, -1) : text });
      break;
    }
  }
  return found;
}

/** Plain text can be looked for from outside: that takes as long as the files are long. */
async function plainMatches(
  { files }: Sandbox,
  paths: readonly string[],
  { pattern, ignoreCase = false }: Wanted,
  signal: AbortSignal,
): Promise<Found> {
  const matches: Match[] = [];
  const wanted = ignoreCase ? pattern.toLowerCase() : pattern;
  for (const path of paths) {
    signal.throwIfAborted();
    const bytes = await files.read(path).catch(() => undefined);
    if (bytes === undefined || isBinary(bytes)) continue;
    linesOf(bufferOf(bytes).toString("utf8")).forEach((text, at) => {
      if ((ignoreCase ? text.toLowerCase() : text).includes(wanted))
        matches.push({ path, line: at + 1, text });
    });
  }
  return { matches, more: false };
}
