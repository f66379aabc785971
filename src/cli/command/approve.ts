import { answering, jsonOption } from "../answering.js";
import type { Input } from "../entry.js";
import type { Shell } from "../shell.js";

/** `rath approve SESSION`: agrees to exactly what was shown, or to other arguments. */
export async function run(shell: Shell, input: Input): Promise<number> {
  const edit = jsonOption(input, "edit");
  return answering(shell, input, async ({ rath, name, ...decision }) => ({
    id: await rath.approve(name, { ...decision, ...(edit !== undefined && { edit }) }),
    said: edit === undefined ? "approved" : "approved, with other arguments,",
  }));
}
