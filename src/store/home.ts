import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

type Environment = { readonly [name: string]: string | undefined };

/**
 * The folder of the default store, for programs and for the command alike: RATH_HOME, else the nearest `.rath` upwards within
 * the git repository, else `.rath` beside the nearest package or git root, else in the folder itself.
 */
export function homeOf(environment: Environment, folder: string): string {
  if (environment.RATH_HOME) return resolve(folder, environment.RATH_HOME);
  let root: string | undefined;
  for (let place = resolve(folder); ; place = dirname(place)) {
    if (existsSync(join(place, HOME))) return join(place, HOME);
    const isRepository = existsSync(join(place, ".git"));
    if (isRepository || existsSync(join(place, "package.json"))) root ??= place;
    if (isRepository || dirname(place) === place) return join(root ?? resolve(folder), HOME);
  }
}

/** The URL of the default store: RATH_STORE, else the database in the home. */
export function defaultStore(environment: Environment, folder: string): string {
  return environment.RATH_STORE || `sqlite:${join(homeOf(environment, folder), "rath.db")}`;
}

const HOME = ".rath";
