import type { Failure, Finding, Json, RathError } from "../../session/index.js";
import { findingOf, readableError, thrownMessage } from "../../session/index.js";
import { isPromise, nearestOf } from "../../util/index.js";
import { bounded } from "./bound.js";
import { failureOf, ToolInputError, ToolOutputError, ToolSchemaError, UnknownToolError } from "./error.js";
import { jsonOf, jsonOfOutput, NotJson, pathOf } from "./json.js";
import type { CheckResult } from "./schema.js";
import type { Tool, ToolContext } from "./tool.js";

/** Deeper inputs are refused: how deep validators recurse depends on the machine, a replay must not. */
const DEEPEST = 64;

export type Checked =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly failure: Failure };

/** Whether the tool accepts this input, and the parsed input. Synchronous if the schema is; never throws. */
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
export function runTool(tool: Tool, input: unknown, context: ToolContext): Promise<Json> {
  return outputOf(tool, context, () => tool.run(input, context));
}

/** The outcome of an interrupted call; "unknown" when the tool cannot find out. */
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
  return new ToolSchemaError(
    tool.name,
    "input",
    `checking with it failed: ${thrownMessage(error)}`,
    "its author has to repair it; do without this tool",
    error,
  );
}

async function outputOf(tool: Tool, context: ToolContext, act: () => unknown): Promise<Json> {
  let done = false;
  try {
    const value = await act();
    done = true;
    const result = tool.output === undefined ? { ok: true as const, value } : await tool.output.check(value);
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
