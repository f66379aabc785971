import type { ExecResult, Sandbox } from "../../../sandbox/index.js";
import type { Json } from "../../../session/index.js";
import { parseJson } from "../../../util/index.js";
import { cutText, MIN_OUTPUT } from "../bound.js";
import { ToolInputError } from "../error.js";
import { COMMAND, placeOf, sandboxTool, wallOf } from "./options.js";
import { parseTests, TEST_KINDS, type TestKind, type TestReport } from "./report.js";
import { notesOf, printedOf, runCommand, shownResult } from "./shell.js";
import { bufferOf, printable } from "./text.js";

/** Failures that are recorded, and characters of each. */
const FAILURES = 100;
const MESSAGE = 4000;

/** A tool that runs the project's tests in the sandbox and records them as a `validation-report`. */
export const testTool = sandboxTool({
  name: "test",
  description:
    "Runs the tests of the project and tells which failed and why. Without a command, the project's own is found out (package.json, Cargo.toml, pytest).",
  properties: {
    command: { type: "string", minLength: 1, description: "The command that runs the tests." },
    kind: {
      type: "string",
      enum: [...TEST_KINDS],
      description: "What the results are printed as; found out if left out.",
    },
    directory: { type: "string", description: "Where to run it, relative to the workspace." },
    report: {
      type: "string",
      description: "A file that the command writes its results to, such as JUnit XML.",
    },
    timeout: { type: "number", exclusiveMinimum: 0, description: "Seconds after which it is ended." },
  },
  ...COMMAND,
  run: async (given, context, { maxOutput }) => {
    const sandbox = await context.sandbox();
    const directory = placeOf(given.directory ?? "");
    const command = given.command ?? (await commandIn(sandbox, directory));
    const written = given.report === undefined ? undefined : placeOf(given.report);
    const stale = written === undefined ? undefined : await bytesAt(sandbox, written);
    const result = await runCommand(sandbox, command, context, {
      wall: wallOf(sandbox, given.timeout),
      directory,
      // No colours, no questions, no watching for changes.
      env: { CI: "true", NO_COLOR: "1" },
    });
    const file = written === undefined ? undefined : await freshText(sandbox, written, stale);
    const report = judgedOf(result, given.kind, file);
    context.record({ type: "validation-report", name: "tests", ...evidenceOf(report, command, result) });
    return shownReport(report, result, maxOutput);
  },
});

async function commandIn(sandbox: Sandbox, directory: string): Promise<string> {
  const at = (name: string): string => (directory === "" ? name : `${directory}/${name}`);
  const manifest = await bytesAt(sandbox, at("package.json"));
  if (manifest !== undefined && hasScript(manifest)) return "npm test";
  if ((await sandbox.files.stat(at("Cargo.toml"))) !== undefined) return "cargo test";
  for (const name of ["pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini", "conftest.py"])
    if ((await sandbox.files.stat(at(name))) !== undefined) return "python3 -m pytest";
  throw new ToolInputError("test", [
    { path: "command", message: "it cannot be found out how the tests are run here: give the command" },
  ]);
}

function hasScript(manifest: Buffer): boolean {
  const { scripts } = Object(parseJson(manifest.toString("utf8"))) as { readonly scripts?: unknown };
  const { test } = Object(scripts) as { readonly test?: unknown };
  return typeof test === "string" && !test.includes("no test specified");
}

async function bytesAt({ files }: Sandbox, place: string): Promise<Buffer | undefined> {
  const entry = await files.stat(place);
  return entry?.kind === "file" ? bufferOf(await files.read(place)) : undefined;
}

/** The text of a report that this run has written; an older one says nothing about it. */
async function freshText(
  sandbox: Sandbox,
  place: string,
  stale: Buffer | undefined,
): Promise<{ readonly text: string } | { readonly why: string }> {
  const bytes = await bytesAt(sandbox, place);
  if (bytes === undefined) return { why: `${place} was not written` };
  return stale?.equals(bytes) === true
    ? { why: `${place} was not written anew` }
    : { text: bytes.toString("utf8") };
}

function judgedOf(
  result: ExecResult,
  kind: TestKind | undefined,
  file: Awaited<ReturnType<typeof freshText>> | undefined,
): TestReport {
  const given = {
    code: result.outcome === "ok" || result.outcome === "error" ? result.code : null,
    ...(kind && { kind }),
  };
  const output = `${bufferOf(result.stdout).toString("utf8")}\n${bufferOf(result.stderr).toString("utf8")}`;
  const written = file !== undefined && "text" in file ? parseTests(file.text, given) : undefined;
  if (written !== undefined && written.kind !== "exit-code") return written;
  const report = parseTests(output, given);
  if (file === undefined) return report;
  const why = "why" in file ? file.why : "the report could not be read";
  return { ...report, passed: false, notes: [...report.notes, why] };
}

/** The recorded evidence: the verdict, and enough for a reader to check it. */
function evidenceOf(
  { kind, passed, counts, failures, notes }: TestReport,
  command: string,
  { code, outcome }: ExecResult,
): { readonly passed: boolean; readonly score?: number; readonly detail: Json } {
  return {
    passed,
    ...(counts !== undefined && counts.total > 0 && { score: counts.passed / counts.total }),
    detail: {
      command: command.toWellFormed(),
      kind,
      outcome,
      code,
      ...counts,
      failures: failures
        .slice(0, FAILURES)
        .map(({ name, message }) => ({ name: brief(name), message: brief(message) })),
      ...(failures.length > FAILURES && { unlisted: failures.length - FAILURES }),
      ...(notes.length > 0 && { notes }),
    },
  };
}

function brief(text: string): string {
  return cutText(text.toWellFormed(), MESSAGE);
}

/** The verdict in a line, then failures as far as there is room, or the raw output. */
function shownReport(report: TestReport, result: ExecResult, most: number): string {
  const { kind, passed, counts, failures, notes } = report;
  const verdict = passed ? "The tests passed" : "The tests did not pass";
  const numbers =
    counts === undefined
      ? ""
      : `: ${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped of ${counts.total} (${kind})`;
  const ended = notesOf(result).join(" ");
  const head = [`${verdict}${numbers}. ${ended}`, ...notes.map((note) => `[${note}]`)].join("\n");
  if (passed && counts !== undefined) return head;
  if (failures.length === 0) return `${head}\n${shownResult(result, most - head.length - 1)}`;
  const parts = [head];
  let left = most - head.length - 100;
  // Several short messages tell more than a long one.
  const room = Math.min(1500, Math.max(MIN_OUTPUT, Math.floor(most / 8)));
  for (const { name, message } of failures) {
    const words = message === "" ? "" : `\n${cutText(printedOf(Buffer.from(message)), room)}`;
    const part = `- ${printable(name.toWellFormed()).slice(0, 300)}${words.replaceAll("\n", "\n  ")}`;
    left -= part.length + 1;
    if (left < 0) break;
    parts.push(part);
  }
  const more = failures.length - (parts.length - 1);
  if (more > 0) parts.push(`[… ${more} more failures are not shown; the record lists them]`);
  return parts.join("\n");
}
