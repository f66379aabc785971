import { parseJson } from "../../../util/index.js";
import { dedented, indentOf, Tally } from "./tally.js";

/** A result that nothing above it has claimed as one of its parts yet. */
type Result = { readonly depth: number; readonly bad: boolean };

/** TAP 13 and 14, nested by indent (node, tap) or braces (vitest). Only innermost results count. */
export function readTap(output: string): Tally | undefined {
  const lines = output.split("\n");
  let plan: number | undefined;
  const tally = new Tally();
  let [top, seen] = [0, 0];
  let [claimed, bailed] = [0, false];
  const open: Result[] = [];
  const path: { readonly depth: number; readonly name: string }[] = [];
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] as string;
    const depth = indentOf(line);
    const text = line.slice(depth).trimEnd();
    if (text === "}") {
      while ((open.at(-1)?.depth ?? -1) > depth) open.pop();
      while ((path.at(-1)?.depth ?? -1) >= depth) path.pop();
    }
    if (depth === 0) {
      bailed ||= text.startsWith("Bail out!");
      plan ??= numberIn(text, /^1\.\.(\d+)/);
      claimed = Math.max(claimed, numberIn(text, /^# fail (\d+)$/) ?? 0);
    }
    const subtest = /^# Subtest: (.*)$/.exec(text)?.[1];
    if (subtest !== undefined) {
      while ((path.at(-1)?.depth ?? -1) >= depth) path.pop();
      path.push({ depth, name: plainName(subtest) });
    }
    const result = /^(not )?ok\b( +\d+)?( +- +| +|$)(.*)$/.exec(text);
    if (result === null) continue;
    seen += 1;
    if (depth === 0) top += 1;
    const { name, skip, opens } = described(result[4] ?? "");
    while ((path.at(-1)?.depth ?? -1) >= depth) path.pop();
    const bad = result[1] !== undefined && !skip;
    if (opens) {
      path.push({ depth, name });
      continue;
    }
    const diagnostics = diagnosticsAfter(lines, at, depth);
    let [parts, badParts] = [0, 0];
    for (let part = open.at(-1); part !== undefined && part.depth > depth; part = open.at(-1)) {
      parts += 1;
      if (part.bad) badParts += 1;
      open.pop();
    }
    open.push({ depth, bad });
    at += diagnostics.length;
    if (parts > 0 && !(bad && badParts === 0)) continue;
    tally.count(skip ? "skipped" : bad ? "failed" : "passed");
    const names = [...path.map((one) => one.name), name];
    if (bad) tally.failures.push({ name: names.join(" > "), message: messageIn(diagnostics) });
  }
  // Without its first line or a plan, a line that begins with "ok" is just a line.
  if (!/^TAP version 1[34]/m.test(output) && (plan === undefined || seen === 0)) return undefined;
  if (bailed) tally.notes.push("the tests bailed out");
  if (plan !== undefined && top < plan) tally.notes.push(`${plan} results were promised, ${top} came`);
  if (plan === undefined) tally.notes.push("the plan is missing: the run was cut off");
  tally.failed = Math.max(tally.failed, claimed);
  return tally;
}

/** The name, and whether it is skipped or to be done, without the time that some print. */
function described(text: string): { readonly name: string; readonly skip: boolean; readonly opens: boolean } {
  const opens = text.endsWith("{");
  const whole = opens ? text.slice(0, -1).trimEnd() : text;
  let name = whole;
  let skip = false;
  for (let at = whole.lastIndexOf("#"); at >= 0; at = whole.lastIndexOf("#", at - 1)) {
    if (whole[at - 1] === "\\") continue;
    const word = /^# *(skip|todo|time=)/i.exec(whole.slice(at))?.[1]?.toLowerCase();
    if (word === undefined) break;
    skip ||= word !== "time=";
    name = whole.slice(0, at).trimEnd();
    if (at === 0) break;
  }
  return { name: plainName(name), skip, opens };
}

function plainName(name: string): string {
  return name.replaceAll("\\#", "#").replaceAll("\\\\", "\\").trim();
}

/** The diagnostics of a result: a block of YAML, or the lines below it that are indented more. */
function diagnosticsAfter(lines: readonly string[], at: number, depth: number): readonly string[] {
  const first = lines[at + 1] ?? "";
  const block = first.trim() === "---";
  const found: string[] = [];
  for (let next = at + 1; next < lines.length; next++) {
    const line = lines[next] as string;
    const inner = indentOf(line);
    if (!block && (inner <= depth || /^\s*(#|(not )?ok\b|1\.\.\d|\})/.test(line))) break;
    found.push(line);
    if (block && line.trim() === "..." && inner <= indentOf(first)) break;
  }
  return found;
}

/** The words of a failure: what the YAML calls error, message or diff, else the beginning of what is said. */
function messageIn(diagnostics: readonly string[]): string {
  const yaml = diagnostics[0]?.trim() === "---";
  if (!yaml) return beginningOf(diagnostics);
  const words = (field: string): number =>
    diagnostics.findIndex((line) => line.trimStart().startsWith(`${field}: `));
  const at = ["error", "message", "diff"].map(words).find((place) => place >= 0) ?? -1;
  const line = diagnostics[at];
  if (line === undefined)
    return beginningOf(diagnostics.filter((one) => !/^\s*(---|\.\.\.|duration_ms: .*)$/.test(one)));
  const value = line.slice(line.indexOf(":") + 1).trim();
  if (!/^[|>]/.test(value)) return unquoted(value);
  const rest = diagnostics.slice(at + 1);
  const end = rest.findIndex((inner) => inner.trim() !== "" && indentOf(inner) <= indentOf(line));
  return beginningOf(end < 0 ? rest : rest.slice(0, end));
}

function beginningOf(lines: readonly string[]): string {
  return dedented(lines).slice(0, LINES).join("\n").trim();
}

function unquoted(value: string): string {
  if (value.startsWith("'"))
    return value.slice(1, value.endsWith("'") ? -1 : undefined).replaceAll("''", "'");
  if (!value.startsWith('"')) return value;
  const json = parseJson(value);
  return json === undefined ? value.slice(1, value.endsWith('"') ? -1 : undefined) : String(json);
}

/** Lines of a message that are shown: what follows is stack. */
const LINES = 12;

function numberIn(text: string, pattern: RegExp): number | undefined {
  const digits = pattern.exec(text)?.[1];
  return digits === undefined ? undefined : Number(digits);
}
