import { stripVTControlCharacters } from "node:util";
import { type ExecOptions, type ExecResult, type Sandbox, SandboxLostError } from "../../../sandbox/index.js";
import { defined } from "../../../util/index.js";
import { cutText, MIN_OUTPUT } from "../bound.js";
import type { ToolContext } from "../tool.js";
import { CommandUnstartedError } from "./error.js";
import { COMMAND, sandboxTool, wallOf } from "./options.js";
import { bufferOf, plural, printable } from "./text.js";

/** A tool that runs a command in the shell of the session's sandbox. A command that fails is a result like others. */
export const shellTool = sandboxTool({
  name: "shell",
  description:
    "Runs a shell command in the workspace and gives its output and exit code. Each call is a shell of its own: a cd or a variable does not last. Programs that ask questions get no answer, except from stdin.",
  properties: {
    command: { type: "string", minLength: 1, description: "What the shell shall run." },
    directory: { type: "string", description: "Where, relative to the workspace; default the workspace." },
    timeout: { type: "number", exclusiveMinimum: 0, description: "Seconds after which it is ended." },
    stdin: { type: "string", description: "What the command reads." },
  },
  required: ["command"],
  ...COMMAND,
  run: async ({ command, directory, timeout, stdin }, context, { maxOutput }) => {
    const sandbox = await context.sandbox();
    const result = await runCommand(sandbox, command, context, {
      wall: wallOf(sandbox, timeout),
      ...defined({ directory, stdin }),
    });
    return shownResult(result, maxOutput);
  },
});

/** Runs a command to its end and tells observers what it prints. Lost sandboxes and commands that never began are thrown. */
export async function runCommand(
  sandbox: Sandbox,
  command: string | readonly string[],
  context: ToolContext,
  options: ExecOptions = {},
): Promise<ExecResult> {
  const execution = sandbox.exec(command, { signal: context.signal, ...options });
  const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  for await (const event of execution) {
    if (event.type !== "output") continue;
    const text = decoders[event.from].decode(event.bytes, { stream: true });
    if (text !== "") context.emit({ type: "output", from: event.from, text });
  }
  const result = await execution.result;
  const { outcome, why } = result;
  if (outcome === "lost")
    throw new SandboxLostError(sandbox.ref.id, why ?? "a command has no end that is known");
  if (outcome === "unstarted")
    throw new CommandUnstartedError(
      typeof command === "string" ? command : command.join(" "),
      why ?? "it could not be started",
    );
  // The command was cancelled; one that ended first has a result.
  if (outcome === "killed") context.signal.throwIfAborted();
  return result;
}

/** The output of a command as people read it: no colours, and the final text of an overwritten line. */
export function printedOf(bytes: Uint8Array): string {
  const text = stripVTControlCharacters(bufferOf(bytes).toString("utf8")).replaceAll("\r\n", "\n");
  if (!text.includes("\r")) return printable(text);
  const lines = text.split("\n").map((line) => {
    const whole = line.endsWith("\r") ? line.slice(0, -1) : line;
    return whole.slice(whole.lastIndexOf("\r") + 1);
  });
  return printable(lines.join("\n"));
}

/** The output of a command and how it ended, in at most so many characters: the end is always there. */
export function shownResult(result: ExecResult, most: number): string {
  const notes = notesOf(result);
  const stdout = printedOf(result.stdout).trimEnd();
  const stderr = printedOf(result.stderr).trimEnd();
  const label = stderr === "" ? "" : "[stderr]\n";
  const room = most - notes.join("\n").length - label.length - CUT.length - 6;
  // Each may use the room that the other does not need.
  const half = Math.floor(room / 2);
  const first = Math.max(MIN_OUTPUT, stderr.length < half ? room - stderr.length : half);
  const second = Math.max(MIN_OUTPUT, stdout.length < half ? room - stdout.length : half);
  const cut = stdout.length > first || stderr.length > second;
  return [
    ...(stdout === "" ? [] : [cutText(stdout, first)]),
    ...(stderr === "" ? [] : [label + cutText(stderr, second)]),
    ...(cut ? [CUT] : []),
    ...notes,
  ].join("\n");
}

const CUT = "[the output is cut here, the record holds all of it: print less, or into a file to view]";

export function notesOf({ outcome, code, signal, cut, milliseconds, why }: ExecResult): readonly string[] {
  const after = `after ${(milliseconds / 1000).toFixed(1)} s`;
  const because = why === undefined ? "" : `: ${why}`;
  const ended: { readonly [name in ExecResult["outcome"]]?: string } = {
    timeout: `ended ${after}: it took too long`,
    oom: `ended ${after}: it needed more memory than it may have`,
    disk: `ended ${after}: it wrote more than it may`,
    killed: `killed ${after}${because}`,
  };
  const how = ended[outcome];
  const exit =
    how !== undefined
      ? `[${how}]`
      : signal !== undefined
        ? `[ended by ${signal}${because}]`
        : `[exit code ${code ?? "unknown"}]`;
  return [...(cut > 0 ? [`[${plural(cut, "byte")} of output were too much and are not kept]`] : []), exit];
}
