import { type Failure, type Json, RathError } from "../../session/index.js";
import { clip } from "../../util/index.js";

export type Issue = { readonly path: string; readonly message: string };

/** A tool that cannot be: its name, its effect or a limit is not one. */
export class ToolDefinitionError extends RathError {
  constructor(tool: string, reason: string, hint: string) {
    super("tool-definition-refused", `Cannot define the tool ${quoted(tool)}: ${reason}.`, {
      hint,
      data: { tool: brief(tool), reason },
    });
  }
}

/** A schema that nobody can check values with, or that no model can be shown. */
export class ToolSchemaError extends RathError {
  constructor(tool: string, side: "input" | "output", reason: string, hint: string, cause?: unknown) {
    super("tool-schema-refused", `Cannot use the ${side} schema of the tool ${quoted(tool)}: ${reason}.`, {
      hint,
      data: { tool: brief(tool), side, reason },
      cause,
    });
  }
}

/** An input that does not fit: the model reads this and tries again. */
export class ToolInputError extends RathError {
  constructor(tool: string, issues: readonly Issue[]) {
    const shown = bounded(issues);
    super("tool-input-refused", `Cannot call ${quoted(tool)}: its input does not fit.${listed(shown)}`, {
      hint: "call it again with an input that fits its schema",
      data: { tool: brief(tool), issues: shown },
    });
  }
}

/** An output that breaks the tool's promise or cannot be recorded. The tool did run all the same. */
export class ToolOutputError extends RathError {
  constructor(tool: string, issues: readonly Issue[], hint: string, cause?: unknown) {
    const shown = bounded(issues);
    super(
      "tool-output-refused",
      `The tool ${quoted(tool)} did its work; only its output cannot be used.${listed(shown)}`,
      {
        hint: `it has been done: do not repeat it for its output. For its author: ${hint}`,
        data: { tool: brief(tool), done: true, issues: shown },
        cause,
      },
    );
  }
}

/** A tool that says in its output, instead of throwing, that it failed or was not allowed to. */
export class ToolReportedError extends RathError {
  constructor(tool: string, message: string, report: Json) {
    super("tool-reported-failure", message, {
      hint: `the tool ${quoted(tool)} reported this itself: try another input, or another way`,
      data: { tool: brief(tool), report },
    });
  }
}

/** A tool that is not among those the model was given. */
export class UnknownToolError extends RathError {
  constructor(tool: string, known: readonly string[], meant: string | undefined) {
    const names = known.slice(0, NAMES).map((name) => brief(name));
    const more = known.length > NAMES ? ` and ${known.length - NAMES} more` : "";
    super("tool-unknown", `There is no tool ${quoted(tool)}.`, {
      hint:
        meant !== undefined
          ? `did you mean ${quoted(meant)}?`
          : names.length === 0
            ? "answer without tools: there are none"
            : `the tools are ${names.join(", ")}${more}`,
      data: { tool: brief(tool), known: names, ...(meant !== undefined && { meant: brief(meant) }) },
    });
  }
}

/** An error as evidence. */
export function failureOf(error: RathError): Failure {
  return { name: error.name, message: error.message, code: error.code, data: error.data };
}

/** More problems than this are only counted: a model would not read a thousand lines. */
const ISSUES = 20;
const NAMES = 50;
const PATH = 200;
const WORDS = 300;

function bounded(issues: readonly Issue[]): Issue[] {
  const shown = issues
    .slice(0, ISSUES)
    .map(({ path, message }) => ({ path: brief(path, PATH), message: brief(message, WORDS) }));
  const more = issues.length - shown.length;
  return more > 0 ? [...shown, { path: "", message: `and ${more} more` }] : shown;
}

function listed(issues: readonly Issue[]): string {
  return issues.map(({ path, message }) => `\n- ${path === "" ? message : `${path}: ${message}`}`).join("");
}

function quoted(name: string): string {
  return JSON.stringify(brief(name));
}

/** Names and messages come from models and from other people's code: they may be of any length and shape. */
function brief(text: string, most = 100): string {
  return clip(String(text), most);
}
