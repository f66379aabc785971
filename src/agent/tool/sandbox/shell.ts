import { defined } from "../../../util/index.js";
import type { Tool } from "../tool.js";
import { runCommand, shownResult } from "./command.js";
import { COMMAND, commandFinding, type SandboxToolOptions, sandboxTool, wallOf } from "./options.js";

type ShellInput = {
  readonly command: string;
  readonly directory?: string;
  readonly timeout?: number;
  readonly stdin?: string;
};

/** A tool that runs a command in the shell of the session's sandbox. A command that fails is a result like others. */
export function shellTool(options: SandboxToolOptions = {}): Tool {
  return sandboxTool<ShellInput>(options, {
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
    effect: "write",
    ...COMMAND,
    approval: options.approval ?? false,
    reconcile: commandFinding,
    run: async ({ command, directory, timeout, stdin }, context, { maxOutput }) => {
      const sandbox = await context.sandbox();
      const result = await runCommand(sandbox, command, context, {
        wall: wallOf(sandbox, timeout),
        ...defined({ directory, stdin }),
      });
      return shownResult(result, maxOutput);
    },
  });
}
