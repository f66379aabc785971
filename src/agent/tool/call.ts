import {
  type Failure,
  type Finding,
  findingOf,
  type Json,
  type RathError,
  readableError,
  thrownMessage,
} from "../../session/index.js";
import { isPromise, nearestOf } from "../../util/index.js";
import { bounded } from "./bound.js";
import { failureOf, ToolInputError, ToolOutputError, ToolSchemaError, UnknownToolError } from "./error.js";
import { jsonOf, jsonOfOutput, NotJson, pathOf } from "./json.js";
import type { CheckResult } from "./schema.js";
import type { Tool, ToolContext } from "./tool.js";

/**
 * Deeper inputs are refused. Validators recurse, and how deep they get depends on the machine and on who called them,
 * while a replay must come to the same answer.
 */
const DEEPEST = 64;

export type Checked =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly failure: Failure };

/**
 * Whether the tool can be called with this input, and what its schema makes of it. It answers at once where the schema
 * does, and never throws.
 */
export function checkInput(tool: Tool, input: unknown): Checked | Promise<Checked> {
  const checked = (result: CheckResult): Checked =>
    result.ok ? result : { ok: false, failure: failureOf(new ToolInputError(tool.name, result.issues)) };
  const failed = (error: unknown): Checked => ({
    ok: false,
    failure: failureOf(unchecked(tool, readableError(error))),
  });
  try {
    const result = tool.input.check(jsonOf(input, DEEPEST));
    return isPromise(result) ? result.then(checked, failed) : checked(result);
  } catch (error) {
    return failed(error);
  }
}

/** Calls the tool with an input that was checked, and gives what to record: fitting its schema, JSON, not too long. */
export async function runTool(tool: Tool, input: unknown, context: ToolContext): Promise<Json> {
  context.signal.throwIfAborted();
  return outputOf(tool, context, () => tool.run(input, context));
}

/** What became of a call that was started and has no outcome; "unknown" when the tool cannot find out. */
export async function reconcileTool(
  tool: Tool,
  input: unknown,
  context: ToolContext,
): Promise<Finding<Json>> {
  if (tool.reconcile === undefined) return "unknown";
  const found = findingOf(await tool.reconcile(input, context), `the tool ${JSON.stringify(tool.name)}`);
  return typeof found === "string" ? found : { value: await outputOf(tool, context, () => found.value) };
}

export function unknownTool(name: string, known: readonly string[]): Failure {
  return failureOf(new UnknownToolError(name, known, nearestOf(name, known)));
}

function unchecked(tool: Tool, error: unknown): RathError {
  if (error instanceof NotJson)
    return new ToolInputError(tool.name, [{ path: pathOf(error.steps), message: error.reason }]);
  if (error instanceof RangeError)
    return new ToolInputError(tool.name, [
      { path: "", message: "it is too large or nested too deep to be checked" },
    ]);
  const reason = thrownMessage(error);
  return new ToolSchemaError(
    tool.name,
    "input",
    `checking with it failed: ${reason}`,
    "its author has to repair it; do without this tool",
    error,
  );
}

async function outputOf(tool: Tool, context: ToolContext, act: () => unknown): Promise<Json> {
  let done = false;
  try {
    const value = await act();
    done = true;
    const result = (await tool.output?.check(value)) ?? { ok: true, value };
    if (!result.ok) throw new ToolOutputError(tool.name, result.issues, "make run and output agree");
    const made = result.value;
    // Half a secret at the edge would not be known as one.
    const whole = context.redact(typeof made === "string" ? made.toWellFormed() : jsonOfOutput(made));
    return bounded(whole, tool.maxOutput);
  } catch (thrown) {
    const error = readableError(thrown);
    if (error instanceof ToolOutputError || !(done || error instanceof NotJson)) throw error;
    // It is done, whatever was thrown then: only the output is lost.
    const { steps, reason, hint } =
      error instanceof NotJson
        ? error
        : new NotJson(`checking it failed: ${thrownMessage(error)}`, "repair the schema of its output");
    throw new ToolOutputError(tool.name, [{ path: pathOf(steps), message: reason }], hint, error);
  }
}
