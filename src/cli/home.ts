import { homedir } from "node:os";
import { join, resolve } from "node:path";

/** The folder of what belongs to the person and not to a project: keys, and the newest checkpoints that were seen. */
export function configOf(environment: { readonly [name: string]: string | undefined }): string {
  if (environment.RATH_CONFIG) return resolve(environment.RATH_CONFIG);
  return join(environment.XDG_CONFIG_HOME || join(homedir(), ".config"), "rath");
}
