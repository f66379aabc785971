import { existsSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { recordedRun } from "../runtime/index.js";
import { type Digest, type FactId, parentsOf, readFact, type Session } from "../session/index.js";
import type { Store } from "../store/index.js";
import type { Shell } from "./shell.js";
import { argument } from "./text.js";

/** The note of a program in the record. The digest is that of the file alone. */
export type ProgramNote = {
  readonly file: string;
  readonly export: string;
  readonly digest: Digest;
  /** Another program, for branches of a run of this one. */
  readonly again?: string;
};

/** The note of the program that a session was made by: of its run, else the newest in its past. */
export async function programNote(store: Store, id: FactId): Promise<ProgramNote | undefined> {
  const recorded = await recordedRun(store, id);
  if (recorded === undefined) return noteBefore(store, id);
  const own = await store.head(ownName(recorded.nonce));
  // A run names its beginning: what came before is near, however long the run is.
  return noteBefore(store, own ?? recorded.start);
}

/** Along first parents; as far back as anybody would wait for. */
async function noteBefore(store: Store, id: FactId): Promise<ProgramNote | undefined> {
  let at: FactId | undefined = id;
  for (let steps = 0; at !== undefined && steps < FARTHEST; steps++) {
    const line: string | undefined = await store.line(at);
    if (line === undefined) return undefined;
    // Few lines are notes: the others need not be read.
    const note = line.includes('"type":"note"') ? noteIn(line) : undefined;
    if (note !== undefined) return note;
    at = parentsOf(line)[0];
  }
  return undefined;
}

const FARTHEST = 100_000;

function noteIn(line: string): ProgramNote | undefined {
  const fact = readFact(line, undefined) as { readonly [field: string]: unknown };
  const { kind, file, export: name, digest, again } = fact;
  const isNote = typeof file === "string" && typeof name === "string" && typeof digest === "string";
  if (kind !== "program" || !isNote) return undefined;
  return { file, export: name, digest, ...(typeof again === "string" && { again }) };
}

/**
 * Notes the program of a run that goes another way than the one that it comes from: it begins where that began, so that
 * the note cannot stand before it and is kept beside it.
 */
export async function noteBeside(store: Store, { fact }: Session, note: ProgramNote): Promise<void> {
  if ((fact.type !== "run-end" && fact.type !== "run-suspend") || fact.run === undefined) return;
  const start = await store.load(fact.of);
  await store.save(start.append({ type: "note", kind: "program", ...note, by: "runtime" }), {
    name: ownName(fact.run),
    force: true,
  });
}

function ownName(nonce: string): string {
  return `.program/${nonce}`;
}

/**
 * How to go on with a branch that was made at a point of a run: the program says so in its record, where it has something
 * better to say than to run the program again.
 */
export async function nextOf(store: Store, point: Session, name: string): Promise<readonly string[]> {
  const note = await programNote(store, point.id);
  const again = note?.again === undefined ? undefined : word(note.again);
  const program = again ?? (note === undefined ? "FILE" : referenceOf(note));
  return [`rath run ${program} --on ${argument(name)}`];
}

/**
 * The command that resumes a run. The record of a program started by itself, with node, names its file at most: it is
 * started again, or has to be named. A server may be running: it takes an answer in with the next request.
 */
export async function resumeCommand(shell: Shell, name: string): Promise<string> {
  const store = await shell.store();
  const head = await store.head(name);
  const resume = `rath resume ${argument(name)}`;
  if (head !== undefined && (await programNote(store, head)) !== undefined) return resume;
  const file = await startedFile(shell, head);
  const still = /^(ui|agui|a2a)\//.test(name) ? "; a server that still runs goes on at its next request" : "";
  if (file === undefined) return `${resume} --with FILE   # or start its program again${still}`;
  const runsTypes = "typescript" in process.features && Boolean(process.features.typescript);
  const runner = /\.[cm]?tsx?$/.test(file) && !runsTypes ? "npx tsx" : "node";
  return `${runner} ${argument(file)}   # starts its program again${still}`;
}

/**
 * A command about a run that is over, with the program that it needs: to start that again would begin something new. `words`
 * is the command without it, `rath replay order-1`.
 */
export async function commandWith(shell: Shell, id: FactId, words: string): Promise<string> {
  if ((await programNote(await shell.store(), id)) !== undefined) return words;
  const file = await startedFile(shell, id);
  return `${words} --with ${file === undefined ? "FILE" : argument(file)}`;
}

/** The file that the program of a run was started with, as it can be typed here, if it is still there. */
async function startedFile(shell: Shell, id: FactId | undefined): Promise<string | undefined> {
  const file = id && (await recordedRun(await shell.store(), id))?.fact.program;
  if (!file) return undefined;
  const project = dirname(shell.home);
  const path = resolve(project, file);
  // A record may come from anybody.
  if (relative(project, path).startsWith("..") || !existsSync(path)) return undefined;
  return relative(process.cwd(), path);
}

/** A program that a record names, as it can be typed. */
export function referenceOf(note: ProgramNote): string {
  return word(note.export === "default" ? note.file : `${note.file}#${note.export}`);
}

/** Words of others may be anything; in a command line they are one word of one line. */
function word(text: string): string {
  return argument(text);
}
