import { existsSync, mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { Store } from "./store.js";

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

/** The URL of a store as it may be shown: without a password. */
export function shownUrl(url: string): string {
  if (!/^postgres(ql)?:/.test(url)) return url;
  try {
    const shown = new URL(url);
    shown.password = "";
    if (shown.searchParams.has("password")) shown.searchParams.delete("password");
    return shown.href;
  } catch {
    return "postgres://…";
  }
}

/**
 * Where files lie that are derived from a store, as a path to put an ending to: beside a database file, and for a store on a
 * server in the cache of this user. None for a store in memory.
 */
export function besideStore({ url, identity }: Pick<Store, "url" | "identity">): string | undefined {
  const [, path] = /^sqlite:(.+)$/s.exec(url) ?? [];
  if (path !== undefined || identity === undefined) return path;
  try {
    const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "openrath", identity);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return join(folder, "store");
  } catch {
    // Nothing is derived ahead, then; it is made whenever it is asked for.
    return undefined;
  }
}
