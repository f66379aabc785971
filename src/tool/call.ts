import type { Failure, Json, RathError } from "../session/index.js";
import { bounded } from "./bound.js";
import { failureOf, ToolInputError, ToolOutputError, ToolSchemaError, UnknownToolError } from "./error.js";
import { jsonOf, NotJson, pathOf } from "./json.js";
import type { Tool, ToolContext } from "./tool.js";

/**
 * Deeper inputs are refused. Validators recurse, and how deep they get depends on the machine and on who called them,
 * while a replay must come to the same answer.
 */
const DEEPEST = 64;

/** What a tool's `run` may be given, or what the model reads instead. */
export type Checked =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly failure: Failure };

/** Whether the tool can be called with this input, and what its schema makes of it. Never throws. */
export async function checkInput(tool: Tool, input: unknown): Promise<Checked> {
  try {
    const result = await tool.input.check(jsonOf(input, DEEPEST));
    return result.ok
      ? result
      : { ok: false, failure: failureOf(new ToolInputError(tool.name, result.issues)) };
  } catch (error) {
    return { ok: false, failure: failureOf(unchecked(tool, error)) };
  }
}

/** Calls the tool with an input that was checked, and gives what to record: fitting its schema, JSON, not too long. */
export async function runTool(tool: Tool, input: unknown, context: ToolContext): Promise<Json> {
  context.signal.throwIfAborted();
  return outputOf(tool, () => tool.run(input, context));
}

/** What became of a call that was started and has no outcome; "unknown" when the tool cannot find out. */
export async function reconcileTool(
  tool: Tool,
  input: unknown,
  context: ToolContext,
): Promise<{ readonly output: Json } | "again" | "unknown"> {
  const finding = (await tool.reconcile?.(input, context)) ?? "unknown";
  return typeof finding === "string" ? finding : { output: await outputOf(tool, () => finding.output) };
}

/** What the model reads when it calls a tool that is not there. */
export function unknownTool(name: string, known: readonly string[]): Failure {
  return failureOf(new UnknownToolError(name, known, nearest(name, known)));
}

function unchecked(tool: Tool, error: unknown): RathError {
  if (error instanceof NotJson)
    return new ToolInputError(tool.name, [{ path: pathOf(error.steps), message: error.reason }]);
  if (error instanceof RangeError)
    return new ToolInputError(tool.name, [
      { path: "", message: "it is too large or nested too deep to be checked" },
    ]);
  const reason = error instanceof Error ? error.message : String(error);
  return new ToolSchemaError(
    tool.name,
    "input",
    `checking with it failed: ${reason}`,
    "its author has to repair it; do without this tool",
    error,
  );
}

async function outputOf(tool: Tool, act: () => unknown): Promise<Json> {
  try {
    let value = await act();
    if (tool.output !== undefined) {
      const result = await tool.output.check(value);
      if (!result.ok)
        throw new ToolOutputError(
          tool.name,
          result.issues,
          "it has been done: do not repeat it for its output. Its author has to make run and output agree",
        );
      value = result.value;
    }
    return bounded(typeof value === "string" ? value.toWellFormed() : jsonOf(value), tool.maxOutput);
  } catch (error) {
    if (!(error instanceof NotJson)) throw error;
    throw new ToolOutputError(
      tool.name,
      [{ path: pathOf(error.steps), message: error.reason }],
      error.hint,
      error,
    );
  }
}

/** The name that was most likely meant, if any is near. */
function nearest(name: string, known: readonly string[]): string | undefined {
  const wanted = plainly(name.slice(0, LONGEST));
  let best: string | undefined;
  let least = Math.max(1, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of known) {
    const steps = distance(wanted, plainly(candidate.slice(0, LONGEST)));
    if (steps < least) [best, least] = [candidate, steps];
  }
  return best;
}

/** No tool has a longer name. */
const LONGEST = 64;

/** `readFile`, `read-file` and `functions.read_file` mean one thing. */
function plainly(name: string): string {
  return name
    .replace(/^.*[.:/]/s, "")
    .replaceAll(/[^A-Za-z0-9]/g, "")
    .toLowerCase();
}

/** How many letters must be added, left out or changed. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, place) => place);
  for (let i = 0; i < one.length; i++) {
    const next = [i + 1];
    for (let j = 0; j < other.length; j++) {
      const change = (row[j] as number) + (one[i] === other[j] ? 0 : 1);
      next.push(Math.min(change, (row[j + 1] as number) + 1, (next[j] as number) + 1));
    }
    row = next;
  }
  return row[other.length] as number;
}
