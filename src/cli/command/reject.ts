import { answering } from "../answering.js";
import type { Input } from "../entry.js";
import type { Shell } from "../shell.js";

/** `rath reject SESSION`: says no; the run takes that in when it is resumed. */
export async function run(shell: Shell, input: Input): Promise<number> {
  return answering(shell, input, async ({ rath, name, digest: _, ...decision }) => ({
    id: await rath.reject(name, decision),
    said: "rejected",
  }));
}
