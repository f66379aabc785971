import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

type Environment = { readonly [name: string]: string | undefined };

/**
 * The folder of the default store, for programs and for the command alike: RATH_HOME, else the nearest `.rath` upwards as far as
 * the git repository or, outside of one, the package; else `.rath` beside the nearest package or git root, else in the folder.
 */
export function homeOf(environment: Environment, folder: string): string {
  if (environment.RATH_HOME) return resolve(folder, environment.RATH_HOME);
  const places = upwards(resolve(folder));
  const holds = (name: string) => (place: string) => existsSync(join(place, name));
  const repository = places.findIndex(holds(".git"));
  const project = places.findIndex(holds("package.json"));
  const last = repository !== -1 ? repository : project !== -1 ? project : 0;
  const within = places.slice(0, last + 1);
  const root = within.find((place) => holds("package.json")(place) || holds(".git")(place));
  return join(within.find(holds(HOME)) ?? root ?? resolve(folder), HOME);
}

/** A folder and those around it, the innermost first. */
function upwards(folder: string): readonly string[] {
  const places = [folder];
  for (let place = folder; dirname(place) !== place; place = dirname(place)) places.push(dirname(place));
  return places;
}

/** The URL of the default store: RATH_STORE, else the database in the home. */
export function defaultStore(environment: Environment, folder: string): string {
  return environment.RATH_STORE || `sqlite:${join(homeOf(environment, folder), "rath.db")}`;
}

const HOME = ".rath";
