import { lstatSync } from "node:fs";
import { Pace } from "./pace.js";
import type { Seen, StatCache } from "./stat-cache.js";
import { looksSame, shared } from "./surveyor.js";

/** From this many entries on the look is shared among threads: below, one has done it before the others have begun. */
const SHARED_FROM = 4_000;

/** A directory that was seen, and where it is. */
export type Place = { readonly seen: Seen; readonly path: string; readonly above: Place | undefined };

export type Surveyed = {
  /** What does not look as it was seen, or is not certain. */
  readonly changed: ReadonlySet<Seen>;
  /** The same and everything above it. What is not here is as it was, with all that is below. */
  readonly touched: ReadonlySet<Seen>;
};

/**
 * Which of the directories that were seen do not look the same now. Nothing is opened, and paths are used as they are:
 * anyone who plays tricks with links meanwhile can make a directory look changed, which only means that it is read, through
 * directories held open.
 */
export async function survey(cache: StatCache, root: string, signal?: AbortSignal): Promise<Surveyed> {
  const places = placesOf(cache, root);
  const uncertain = places.filter(({ seen }) => !seen.certain);
  const certain = places.filter(({ seen }) => seen.certain);
  const found =
    (isLarge(cache) ? await shared(cache, root, certain, "look") : undefined) ??
    (await alone(certain, signal));
  const changed = new Set<Seen>();
  const touched = new Set<Seen>();
  for (const place of [...uncertain, ...found]) {
    changed.add(place.seen);
    for (let at: Place | undefined = place; at !== undefined && !touched.has(at.seen); at = at.above)
      touched.add(at.seen);
  }
  return { changed, touched };
}

/** Tells the threads that share the next look what there is to look at, while nobody waits for it. */
export async function prepare(cache: StatCache, root: string): Promise<void> {
  if (!isLarge(cache)) return;
  const places = placesOf(cache, root);
  await shared(
    cache,
    root,
    places.filter(({ seen }) => seen.certain),
    "keep",
  );
}

function isLarge({ root }: StatCache): boolean {
  return root !== undefined && root.files >= SHARED_FROM;
}

async function alone(places: readonly Place[], signal: AbortSignal | undefined): Promise<readonly Place[]> {
  const pace = new Pace(signal);
  const found: Place[] = [];
  for (const place of places) {
    if (pace.long) await pace.rest();
    const { seen, path } = place;
    if (!looksSame(lstatSync, path, seen.device, seen.stamps, seen.names)) found.push(place);
  }
  return found;
}

function placesOf({ root }: StatCache, path: string): readonly Place[] {
  const places: Place[] = root === undefined ? [] : [{ seen: root, path, above: undefined }];
  // The list grows while it is gone through.
  for (const place of places) {
    for (const [name, { seen }] of place.seen.directories)
      places.push({ seen, path: `${place.path}/${name}`, above: place });
  }
  return places;
}
