import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { digestOf, type Principal } from "../../session/index.js";
import { type Checkpoint, readCheckpoint } from "./checkpoint.js";
import { reasonOf } from "./error.js";
import { replaceFile, textOf } from "./file.js";
import type { SigningKey } from "./key.js";
import type { LogFlaw } from "./log.js";
import { type Note, notesIn, readNote, signNote } from "./note.js";

/** Word that facts of a log may be collected, because their name was forgotten or moved back. */
export type Release = {
  readonly note: Note;
  readonly origin: string;
  readonly at: string;
  readonly by: string;
  readonly why: string;
  /** Places in the log, from the first to the one before the last. */
  readonly places: readonly (readonly [from: number, to: number])[];
  readonly offset: number;
};

const PURPOSE = "openrath release";

export function signRelease(
  release: Pick<Release, "origin" | "at" | "why" | "places"> & { readonly by: Principal },
  key: SigningKey,
): string {
  const { origin, at, by, why, places } = release;
  return signNote(`${PURPOSE}\n${ascii({ origin, at, by, why, places })}\n`, key);
}

/** The releases of a log. An unreadable release is reported as a flaw and counts for nothing. */
export function readReleases(file: Buffer, origin: string | undefined, flaws: LogFlaw[]): readonly Release[] {
  const releases: Release[] = [];
  for (const { from, text } of notesIn(file)) {
    const release = text === undefined ? undefined : readRelease(text, from);
    if (release === undefined || release.origin !== origin) {
      const problem =
        release === undefined ? "this is not a whole release" : "this release is of another log";
      flaws.push({ file: "releases", offset: from, problem });
    } else releases.push(release);
  }
  return releases;
}

function readRelease(text: string, offset: number): Release | undefined {
  try {
    const note = readNote(text);
    const [purpose, body = ""] = note.text.split("\n");
    const { origin, at, by, why, places } = JSON.parse(body) as Release;
    const isFit =
      purpose === PURPOSE &&
      [origin, at, by, why].every((one) => typeof one === "string") &&
      Array.isArray(places) &&
      places.every((one) => Array.isArray(one) && one.length === 2 && one.every(Number.isSafeInteger)) &&
      note.text === `${PURPOSE}\n${ascii({ origin, at, by, why, places })}\n`;
    return isFit ? { note, origin, at, by, why, places, offset } : undefined;
  } catch {
    return undefined;
  }
}

/** Runs of neighbouring places as ranges. */
export function rangesOf(places: readonly number[]): readonly (readonly [number, number])[] {
  const ranges: [number, number][] = [];
  for (const place of places) {
    const last = ranges.at(-1);
    if (last?.[1] === place) last[1] = place + 1;
    else ranges.push([place, place + 1]);
  }
  return ranges;
}

/** JSON that says other characters than those of ASCII by their numbers: a note holds no control characters. */
function ascii(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** A checkpoint that was seen before, and which home and which store it was of. */
export type Remembered = { readonly home: string; readonly store?: string; readonly file: string } & (
  | { readonly checkpoint: Checkpoint }
  | { readonly problem: string }
);

/** The newest checkpoint of each log, kept in the person's folder: an older copy of a store is noticed. */
export class CheckpointMemory {
  readonly #folder: string;

  constructor(config: string) {
    this.#folder = join(config, "checkpoints");
  }

  /** Keeps a checkpoint, unless one of the same log is kept already that is as new or newer. */
  keep(home: string, checkpoint: Checkpoint, store?: string): void {
    const file = join(this.#folder, `${digestOf(checkpoint.origin).slice(0, 16)}.json`);
    const before = this.#read(file);
    if (before !== undefined && "checkpoint" in before && before.checkpoint.size >= checkpoint.size) return;
    replaceFile(file, `${JSON.stringify({ home, store, note: checkpoint.text })}\n`);
  }

  list(): readonly Remembered[] {
    if (!existsSync(this.#folder)) return [];
    const files = readdirSync(this.#folder).filter((name) => name.endsWith(".json"));
    return files.sort().flatMap((name) => this.#read(join(this.#folder, name)) ?? []);
  }

  /** The checkpoints of a store, by home, log, or identity, so an older copy elsewhere is recognised. */
  of(home: string, origin: string | undefined, store?: string): readonly Remembered[] {
    // One that cannot be read may be of any home.
    return this.list().filter(
      (one) =>
        "problem" in one ||
        one.home === home ||
        one.checkpoint.origin === origin ||
        (store !== undefined && one.store === store),
    );
  }

  #read(file: string): Remembered | undefined {
    const text = textOf(file);
    if (text === undefined) return undefined;
    try {
      const { home, store, note } = JSON.parse(text) as { home: unknown; store?: unknown; note: unknown };
      if (typeof home !== "string") throw new Error("it names no home");
      const checkpoint = readCheckpoint(note);
      return { home, file, checkpoint, ...(typeof store === "string" && { store }) };
    } catch (error) {
      return { home: "", file, problem: `what was remembered cannot be read: ${reasonOf(error)}` };
    }
  }
}
