import { cancel } from "../../cluster/index.js";
import type { Input } from "../entry.js";
import type { Shell } from "../shell.js";
import { plain } from "../text.js";

/** `rath cancel NAME`: a submitted session ends as cancelled, wherever it is. */
export async function run(shell: Shell, input: Input): Promise<void> {
  const [name = ""] = input.args;
  const cancelled = await cancel(await shell.store(), name, input.options.all === true);
  shell.tell({ cancelled });
  shell.say(`Cancelled: ${cancelled.map(plain).join(", ") || "nothing"}.`);
  shell.hint("rath top");
}
