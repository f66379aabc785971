import { namesOf, Trees, whoChanged } from "../../sandbox/index.js";
import type { Fact, FactId, Json, Session } from "../../session/index.js";
import { BeyondHorizonError, RathError, Withheld } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { firstLine, nearestOf, optionNames } from "../../util/index.js";
import { type Answer, Telling } from "./answer.js";
import { type Blame, blame } from "./blame.js";
import { tellCall } from "./call.js";
import { AuditError, requireOptions } from "./error.js";
import { reachable } from "./way.js";
import { many, row, short } from "./words.js";

export type WhichCallOptions = {
  /** A line of the file as it is in the end, counted from 1. */
  readonly line?: number;
  /** How many changes are told, newest first. Default 20. */
  readonly limit?: number;
};

const KNOWN = optionNames<WhichCallOptions>()("line limit");

/** Which call changed a file, or a line of it, with the decision and the approval that it was done on. */
export async function whichCall(
  store: Store,
  ref: string,
  path: string,
  options: WhichCallOptions = {},
): Promise<Answer> {
  requireOptions(options, KNOWN, "ask which call changed a file");
  const { line, limit = 20 } = options;
  const session = await store.load(ref);
  // A path that leads out of the workspace is refused before anything is looked for.
  namesOf(path);
  const trees = new Trees(store);
  const telling = await Telling.open(
    store,
    line === undefined
      ? `Which call changed ${path} in ${ref}?`
      : `Which call wrote line ${line} of ${path} in ${ref}?`,
  );
  return line === undefined
    ? tellFile(telling, session, trees, path, limit)
    : tellLine(telling, session, trees, path, line);
}

async function tellFile(telling: Telling, session: Session, trees: Trees, path: string, limit: number) {
  const changes = await attempt(telling, () => whoChanged(session, path, { trees, limit: limit + 1 }));
  const whole = tellLists(telling, session);
  if (changes?.length === 0) {
    if (whole) refuseUnknown(session, path);
    telling.claim`${[session.id]} No fact that says which files it changed changed ${path}.`;
  }
  for (const { id, change } of changes?.slice(0, limit) ?? []) {
    await tellChange(telling, session, id, `${path} was`, CHANGED[change]);
  }
  if ((changes?.length ?? 0) > limit)
    telling.gap`There are older changes of ${path} than the ${limit} told here.`;
  const blamed =
    session.files.tree === null ? undefined : await attempt(telling, () => blame(session, trees, path));
  return telling.done({ path, lines: linesJson(blamed) });
}

async function tellLine(telling: Telling, session: Session, trees: Trees, path: string, line: number) {
  const blamed = await attempt(telling, () => blame(session, trees, path));
  if (blamed === undefined) {
    if (tellLists(telling, session)) refuseUnknown(session, path);
    telling.claim`${[session.id]} There is no ${path} among the files of ${short(session.id)}.`;
    return telling.done();
  }
  const found = blamed.lines[line - 1];
  if (found === undefined || !Number.isSafeInteger(line))
    throw new AuditError(
      "file-unknown",
      `${path} has no line ${line}: it has ${many(blamed.lines.length, "line")}.`,
      blamed.lines.length === 0 ? "leave the line out" : `name one from 1 to ${blamed.lines.length}`,
      { path, lines: blamed.lines.length },
    );
  const words = telling.quoted(found.text.replace(/\r?\n$/, ""));
  if (found.fact === undefined) {
    telling.claim`${[session.id]} Line ${line} of ${path} reads ${words} in ${short(session.id)}.`;
    for (const { at, why } of blamed.lost)
      telling.gap`Its author cannot be followed behind ${short(at)}: ${why}.`;
  } else {
    const was = `Line ${line} of ${path}, ${words}, was`;
    await tellChange(telling, session, found.fact, was, "written", session.id);
  }
  return telling.done({ path, line: { ...found } as Json });
}

/** Says who changed something, and by which call. Imported files were made by no call: the call that opened the sandbox came first. */
async function tellChange(
  telling: Telling,
  session: Session,
  id: FactId,
  was: string,
  verb: string,
  ...more: readonly FactId[]
): Promise<void> {
  const { fact } = (await telling.reader.fact(id)) as { readonly fact: Fact };
  const place = `${fact.at} (${fact.type} ${short(id)})`;
  if (fact.type !== "workspace-import") {
    telling.claim`${[id, ...more]} ${was} ${verb} by ${fact.by} at ${place}.`;
    return tellCall(telling, fact, id);
  }
  let first = false;
  for (const node of reachable(session))
    if (node.id === id) first = (node.parents[0]?.files.tree ?? null) === null;
  const how = first ? "there from the beginning" : `${verb} by an import`;
  telling.claim`${[id]} ${was} ${how}: taken in from ${telling.plain(fact.source)} at ${place}.`;
}

const CHANGED = { add: "added", modify: "changed", delete: "deleted" } as const;

/** Runs a question about files: content that is gone, or a past that is not loaded, is a gap, not an error. */
async function attempt<Value>(telling: Telling, act: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof RathError) || error instanceof AuditError) throw error;
    const why = firstLine(error.message);
    if (error instanceof BeyondHorizonError) telling.gap`Older changes were not looked at: ${why}`;
    else telling.gap`The files cannot all be read: ${why}`;
    return undefined;
  }
}

/** Says where lists of changed paths are gone: what they named cannot be told. Whether all of them are here. */
function tellLists(telling: Telling, session: Session): boolean {
  const gone: FactId[] = [];
  for (const { id, fact } of reachable(session))
    if ("paths" in fact && (fact.paths as unknown) instanceof Withheld) gone.push(id);
  const named = gone.slice(0, 5).map(short);
  const more = gone.length > named.length ? [`${gone.length - named.length} more`] : [];
  if (gone.length > 0)
    telling.gap`The files cannot all be read: which of them ${row([...named, ...more])} changed is not here.`;
  return gone.length === 0;
}

/** A slip of the pen must not look like a file that nobody changed. */
function refuseUnknown(session: Session, path: string): void {
  const known = new Set<string>();
  for (const { fact } of reachable(session)) {
    if (known.size >= 10_000) break;
    if ("paths" in fact && Array.isArray(fact.paths))
      for (const one of fact.paths as readonly { readonly path: string }[]) known.add(one.path);
  }
  const all = [...known];
  const meant = all.find((one) => one.endsWith(`/${path}`)) ?? nearPath(path, all);
  throw new AuditError(
    "file-unknown",
    `Nothing in the past of ${short(session.id)} changed ${JSON.stringify(path.slice(0, 200))}.`,
    meant !== undefined
      ? `did you mean ${meant}?`
      : all.length === 0
        ? "no file was changed in this session"
        : `files that were changed: ${all.slice(0, 8).join(", ")}${all.length > 8 ? ", …" : ""}`,
    { path: path.slice(0, 200) },
  );
}

/** The path whose last name is nearest. */
function nearPath(path: string, all: readonly string[]): string | undefined {
  // A dot begins no other name here: what stands before it counts as well.
  const last = (one: string): string => (one.split("/").at(-1) ?? one).replaceAll(".", "_");
  const stem = (one: string): string => (one.split("/").at(-1) ?? one).replace(/\.[^.]*$/, "");
  const same = all.find((one) => stem(one) === stem(path));
  const near = same === undefined ? nearestOf(last(path), all.map(last)) : last(same);
  return near === undefined ? undefined : all.find((one) => last(one) === near);
}

function linesJson(blamed: Blame | undefined): Json {
  return (blamed?.lines ?? []).slice(0, 10_000).map(({ number, fact, text }) => ({
    number,
    text: text.slice(0, 400).toWellFormed(),
    ...(fact !== undefined && { fact }),
  }));
}
