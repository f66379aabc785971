import { answering } from "../answering.js";
import type { Input } from "../entry.js";
import type { Shell } from "../shell.js";

/** `rath revoke SESSION`: revokes an approval that no run has used yet. */
export async function run(shell: Shell, input: Input): Promise<number> {
  return answering(shell, input, async ({ rath, name, digest: _, ...decision }) => ({
    id: await rath.revoke(name, decision),
    said: "revoked the approval of",
  }));
}
