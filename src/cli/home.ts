import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";

type Environment = { readonly [name: string]: string | undefined };

/**
 * The folder of the embedded store: RATH_HOME, else the nearest `.rath` upwards, or the place for it beside the nearest package
 * or git root, else in the home folder.
 */
export function homeOf(environment: Environment, folder: string): string {
  if (environment.RATH_HOME) return resolve(folder, environment.RATH_HOME);
  for (let place = resolve(folder); ; place = dirname(place)) {
    if ([".rath", "package.json", ".git"].some((name) => existsSync(join(place, name))))
      return join(place, ".rath");
    if (dirname(place) === place) return join(homedir(), ".rath");
  }
}

/** The folder of what belongs to the person and not to a project: keys, and the newest checkpoints that were seen. */
export function configOf(environment: Environment): string {
  if (environment.RATH_CONFIG) return resolve(environment.RATH_CONFIG);
  return join(environment.XDG_CONFIG_HOME || join(homedir(), ".config"), "rath");
}
