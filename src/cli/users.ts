import { join } from "node:path";
import type { Shell } from "./shell.js";

/** The file that the list of users lies beside. A store that is not a file has it in the folder of the embedded one. */
export function storeFile(shell: Shell): string {
  return shell.path ?? join(shell.home, "rath.db");
}
