import type { Input } from "../entry.js";
import { UsageError } from "../error.js";
import type { Shell } from "../shell.js";

const SHELLS = ["bash", "zsh", "fish", "powershell"];

/** `rath completion SHELL`: what a shell must read to complete commands, options and the names of sessions. */
export async function run(_shell: Shell, input: Input): Promise<void> {
  const [name = ""] = input.args;
  if (!SHELLS.includes(name))
    throw new UsageError(
      `There is no completion for ${JSON.stringify(name)}.`,
      `one of ${SHELLS.join(", ")}: rath completion bash`,
    );
  const { script } = await import("@bomb.sh/tab");
  script(name, "rath", "rath");
}
