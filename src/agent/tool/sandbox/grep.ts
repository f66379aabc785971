import { bytesOfName, type Sandbox, SandboxLostError, textOfName } from "../../../sandbox/index.js";
import type { ToolContext } from "../tool.js";
import { SearchRefusedError } from "./error.js";
import { wallOf } from "./options.js";
import { bufferOf, isBinary, linesOf } from "./text.js";

/** What is looked for. */
export type Wanted = { readonly pattern: string; readonly plain?: boolean; readonly ignoreCase?: boolean };
export type Match = { readonly path: string; readonly line: number; readonly text: string };

/** Seconds that a search may take: a pattern that takes longer is a bad one. */
const PATIENCE = 30;
/** Bytes of matches that are taken in. */
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
  const command = [
    "xargs",
    "-0",
    "grep",
    dialect,
    "-n",
    ...(ignoreCase ? ["-i"] : []),
    "-e",
    pattern,
    "--",
    "/dev/null",
  ];
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
  // It names the files that it cannot read; what it says otherwise is about the pattern, or about itself.
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
