import type { Session } from "../session/index.js";
import type { Store } from "../store/index.js";
import { type ProgramNote, programNote } from "./program-note.js";
import { plain, quoted } from "./text.js";

/**
 * How to go on with a branch that was made at a point of a run: the program says so in its record, where it has something
 * better to say than to run the program again.
 */
export async function nextOf(store: Store, point: Session, name: string): Promise<readonly string[]> {
  const note = await programNote(store, point.id);
  const again = note?.again === undefined ? undefined : word(note.again);
  const program = again ?? (note === undefined ? "FILE" : referenceOf(note));
  return [`rath run ${program} --on ${quoted(plain(name))}`];
}

/** A program that a record names, as it can be typed. */
export function referenceOf(note: ProgramNote): string {
  return word(note.export === "default" ? note.file : `${note.file}#${note.export}`);
}

/** What others have written may be anything; in a command line it is one word of one line. */
function word(text: string): string {
  return quoted(plain(text).replaceAll(/[\t\n]/g, "\ufffd"));
}
