import { open, readFile, stat } from "node:fs/promises";
import { basename } from "node:path";
import {
  formatOf,
  type Imported,
  importFormat,
  importFormats,
  type Source,
} from "../../connect/format/index.js";
import { digestOf, type FactId, RecordError } from "../../session/index.js";
import { isKeptByRuntime, readLines, type Store } from "../../store/index.js";
import { type Input, textOption } from "../entry.js";
import { UsageError, unreadable } from "../error.js";
import type { Shell } from "../shell.js";
import { argument, count, plain, table } from "../text.js";
import { requireNewName } from "./list.js";

type Taken = {
  readonly name: string;
  readonly id: FactId;
  readonly known: boolean;
  readonly notes: readonly string[];
  readonly warnings: readonly string[];
};

/** `rath import FILE`: a record, a bundle, a folder of 0.1, or the trace of another system becomes sessions of this store. */
export async function run(shell: Shell, input: Input): Promise<number> {
  if (input.options.list === true) return list(shell);
  if (input.args.length === 0)
    throw new UsageError("Which file?", "rath import FILE; rath import --list has the formats");
  const index = textOption(input, "index");
  if (index !== undefined) return (await import("./index-trace.js")).indexTrace(shell, input, index);
  const told: ({ readonly file: string } & Awaited<ReturnType<typeof take>>)[] = [];
  for (const file of input.args) told.push({ file, ...(await take(shell, file, input)) });
  shell.tell(told);
  for (const { file, format, sessions } of told) {
    shell.say(`${plain(file)}: ${format}, ${count(sessions.length, "session")}`);
    const notes = new Map<string, number>();
    for (const warning of new Set(sessions.flatMap(({ warnings }) => warnings)))
      shell.say(shell.yellow(`  warning: ${plain(warning)}`));
    for (const { name, id, known, notes: own } of sessions.slice(0, MOST)) {
      shell.say(
        `  ${shell.id(id)} ${shell.bold(plain(name))}${known ? shell.dim(" (was here already)") : ""}`,
      );
      for (const note of own) notes.set(note, (notes.get(note) ?? 0) + 1);
    }
    if (sessions.length > MOST)
      shell.say(shell.dim(`  … ${sessions.length - MOST} more: ${shell.typed("rath list")}`));
    for (const [note, times] of notes)
      shell.say(shell.yellow(`  kept in a note${times > 1 ? ` (${times} times)` : ""}: ${plain(note)}`));
  }
  const first = told[0]?.sessions[0];
  if (first !== undefined)
    shell.hint(`rath show ${argument(first.name)}`, `rath dossier ${argument(first.name)}`);
  return told.some(({ unproved = 0 }) => unproved > 0) ? 3 : 0;
}

const MOST = 20;

function unprovedWarning(unproved: number): string {
  return `${count(unproved, "piece")} of content ${unproved === 1 ? "is" : "are"} said to be erased, but no fact in this store proves it. The content counts as missing: rath verify`;
}

async function list(shell: Shell): Promise<number> {
  const rows = [
    { name: "lines", title: "the record itself (docs/format.md)" },
    { name: "bundle", title: "the JSON bundle of a dossier" },
    { name: "folder", title: "a folder that openrath 0.1 wrote as a store (file:)" },
    ...(await importFormats()),
  ].map(({ name, title }) => ({ name, title }));
  shell.tell(rows);
  shell.say(table(rows.map(({ name, title }) => [shell.bold(name), title])));
  return 0;
}

async function take(shell: Shell, file: string, input: Input) {
  const store = await shell.store();
  const name = textOption(input, "name");
  requireNewName(name);
  if (/^postgres(ql)?:\/\//.test(file)) {
    const { importLangGraphPostgres } = await import("../../connect/format/langgraph/index.js");
    return {
      format: "langgraph",
      sessions: await keep(shell, store, await importLangGraphPostgres(file), name),
    };
  }
  const format = textOption(input, "format") ?? (await ownFormatOf(file));
  if (format === "folder") return { format, sessions: await takeFolder(store, file) };
  if (format === "lines" || format === "bundle") {
    const head = textOption(input, "head");
    if (format === "lines") await requireSignatures(shell, file);
    const lines =
      format === "lines"
        ? readLines(file)
        : (await import("../../evidence/bundle/index.js")).bundleLines(file);
    const { heads, written, unproved } = await store.import(lines, {
      ...(head !== undefined && { head }),
      progress: shell.reading("facts"),
    });
    shell.clear();
    const stem = name ?? basename(file).replace(/\.[a-z]+$/i, "");
    const sessions: Taken[] = [];
    for (const [place, id] of heads.entries())
      sessions.push({
        ...(await named(store, id, heads.length === 1 ? stem : `${stem}/${place + 1}`)),
        known: written === 0,
        notes: [],
        warnings: unproved === 0 ? [] : [unprovedWarning(unproved)],
      });
    return { format, sessions, unproved };
  }
  const bytes = await readFile(file).catch((cause: NodeJS.ErrnoException) => {
    throw unreadable(file, cause);
  });
  const source: Source = { name: basename(file), bytes, digest: digestOf(bytes) };
  const reader = format === undefined ? await formatOf(source) : await importFormat(format);
  return { format: reader.name, sessions: await keep(shell, store, await reader.read(source), name) };
}

/** Names of a folder are its own, so they stay as they are; damage is reported, and the rest is imported. */
async function takeFolder(store: Store, folder: string): Promise<readonly Taken[]> {
  const before = new Set((await store.names()).map(({ name, id }) => `${name} ${id}`));
  const { importFolder } = await import("../../store/recover/index.js");
  const { names, findings } = await importFolder(folder, store);
  const warnings = findings.map(({ place, problem }) => `${place}: ${problem}`);
  const sessions: Taken[] = [];
  for (const name of names) {
    const id = await store.resolve(name);
    sessions.push({ name, id, known: before.has(`${name} ${id}`), notes: [], warnings });
  }
  return sessions;
}

/** The lines are held against their ids as they are taken in; signed heads are checked against their signatures before that. */
async function requireSignatures(shell: Shell, file: string): Promise<void> {
  const { KeyRing } = await import("../../evidence/proof/index.js");
  const { keysOf, verifyFile } = await import("../../evidence/verify/index.js");
  const { findings } = await verifyFile(file, {
    keys: keysOf(new KeyRing(shell.config).list()),
    progress: shell.reading("lines"),
  });
  shell.clear();
  const bad = findings.find(({ type }) => type === "head-sign");
  if (bad !== undefined)
    throw new RecordError(
      `${bad.place}: ${bad.problem}`,
      { file, place: bad.place, problem: bad.problem },
      `see all of it: rath verify ${argument(file)}`,
    );
}

/** Our own formats are told by how they begin, without reading the whole of what may be very long. */
async function ownFormatOf(file: string): Promise<"lines" | "bundle" | "folder" | undefined> {
  let handle: Awaited<ReturnType<typeof open>>;
  try {
    if ((await stat(file)).isDirectory()) return "folder";
    handle = await open(file);
  } catch (cause) {
    throw unreadable(file, cause);
  }
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(64), 0, 64, 0);
    const start = buffer.toString("latin1", 0, bytesRead);
    if (/^\{"(rath|blob|erased)":/.test(start)) return "lines";
    return start.startsWith('{"bundle":') ? "bundle" : undefined;
  } finally {
    await handle.close();
  }
}

async function keep(shell: Shell, store: Store, imported: readonly Imported[], name: string | undefined) {
  const sessions: Taken[] = [];
  for (const one of imported) {
    const known = await store.has(one.session.id);
    const wanted = name === undefined ? one.name : imported.length === 1 ? name : `${name}/${one.name}`;
    await store.save(one.session);
    const { notes, warnings = [] } = one;
    sessions.push({ ...(await named(store, one.session.id, wanted)), known, notes, warnings });
    if (sessions.length % 10 === 0) shell.progress(`${sessions.length} of ${imported.length} sessions …`);
  }
  shell.clear();
  return sessions;
}

/** Gives a session a name that is free, or the one that it has. */
async function named(store: Store, id: FactId, wanted: string) {
  // Names of others may look like those that the runtime keeps for itself, and are not theirs to choose.
  const stem = isKeptByRuntime(wanted) ? `imported/${wanted}` : wanted;
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? stem : `${stem}+${number}`;
    const head = await store.head(name);
    if (head === id) return { name, id };
    if (head !== undefined) continue;
    await store.point(name, id, { expect: null });
    return { name, id };
  }
}
