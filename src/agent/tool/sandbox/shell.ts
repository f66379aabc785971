import { type Tool, tool } from "../tool.js";
import { runCommand, shownResult } from "./command.js";
import { COMMAND, commandFinding, type SandboxToolOptions, settingsOf, wallOf } from "./options.js";

type ShellInput = {
  readonly command: string;
  readonly directory?: string;
  readonly timeout?: number;
  readonly stdin?: string;
};

/** A tool that runs a command in the shell of the session's sandbox. A command that fails is a result like others. */
export function shellTool(options: SandboxToolOptions = {}): Tool {
  const { maxOutput, approval } = settingsOf("shell", options);
  return tool({
    name: "shell",
    description:
      "Runs a shell command in the workspace and gives its output and exit code. Each call is a shell of its own: a cd or a variable does not last. Programs that ask questions get no answer, except from stdin.",
    input: {
      type: "object",
      properties: {
        command: { type: "string", minLength: 1, description: "What the shell shall run." },
        directory: {
          type: "string",
          description: "Where, relative to the workspace; default the workspace.",
        },
        timeout: { type: "number", exclusiveMinimum: 0, description: "Seconds after which it is ended." },
        stdin: { type: "string", description: "What the command reads." },
      },
      required: ["command"],
      additionalProperties: false,
    },
    effect: "write",
    ...COMMAND,
    approval,
    maxOutput,
    reconcile: commandFinding,
    run: async (input, context) => {
      const { command, directory, timeout, stdin } = input as unknown as ShellInput;
      const sandbox = await context.sandbox();
      const result = await runCommand(sandbox, command, context, {
        wall: wallOf(sandbox, timeout),
        ...(directory !== undefined && { directory }),
        ...(stdin !== undefined && { stdin }),
      });
      return shownResult(result, maxOutput);
    },
  });
}
