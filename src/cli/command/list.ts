import { isAboutTheRecord, type Status, statusIn } from "../../runtime/index.js";
import { type Fact, type FactId, type FactOf, parentsOf, readFact } from "../../session/index.js";
import { isKeptByRuntime, type Name, nameFlaw, type Store } from "../../store/index.js";
import { compareText, defined } from "../../util/index.js";
import { isAnswered } from "../awaited.js";
import { blobsOf } from "../blobs.js";
import { countOption, type Input, textOption } from "../entry.js";
import { UsageError } from "../error.js";
import { countSince, filterOf, isSince } from "../filter.js";
import { resumeCommand } from "../program-note.js";
import type { Shell } from "../shell.js";
import { ago, argument, count, describe, plain, table } from "../text.js";

/** `rath list`: every name, how its session came out, and what happened last. */
export async function run(shell: Shell, input: Input): Promise<void> {
  const store = await shell.store();
  const under = textOption(input, "under");
  const wanted = textOption(input, "status");
  const names = (await store.names(under === undefined ? {} : { under })).filter(
    ({ name }) => input.options.all === true || under !== undefined || !isKeptByRuntime(name),
  );
  // A run that was cut off leaves its name where it stood: that looks like any open session.
  const rath = await shell.rath();
  const unfinished = new Set(
    (await rath.unfinished()).filter(({ waiting }) => !waiting).map(({ name }) => name),
  );
  const { since } = filterOf(input);
  const limit = countOption(input, "limit");
  type Row = Pick<Name, "name" | "id" | "owner"> & {
    status: Status;
    at: string;
    last: string;
    unfinished?: true;
    /** Everything that it waits for is answered: it goes on when it is resumed. */
    answered?: true;
    /** The limit that ended its run. */
    stopped?: Stop;
    /** Facts since the time that was asked for; one that several sessions have is counted with the newest. */
    added?: number;
  };
  const found: Row[] = [];
  for (const { name, id, owner } of names) {
    const { fact, status, stop } = await newestOf(store, id);
    const isCut = unfinished.has(name);
    // As the list shows it: one that was cut off is open, and one that is answered still waits.
    const isMeant =
      wanted === "unended"
        ? isCut
        : wanted === "answered"
          ? status === "waiting" && isAnswered(await rath.pending(name))
          : wanted === "stopped"
            ? stop !== undefined
            : wanted === undefined || wanted === status;
    if (!isMeant) continue;
    if (since !== undefined && !(await isSince(store, id, since))) continue;
    const last = describe(stop ?? fact, 60);
    const stopped = stop && stopOf(stop);
    const row: Row = { name, id, status, at: fact.at, last, ...defined({ owner, stopped }) };
    found.push(isCut ? { ...row, unfinished: true } : row);
  }
  found.sort((one, other) => compareText(other.at, one.at) || compareText(one.name, other.name));
  const rows: Row[] = [];
  const counted = new Set<FactId>();
  for (const row of found.slice(0, limit)) {
    const added = since === undefined ? undefined : await countSince(shell, store, row.id, since, counted);
    const isReady = row.status === "waiting" && isAnswered(await rath.pending(row.name));
    rows.push({ ...row, ...defined({ added }), ...(isReady && { answered: true }) });
  }
  shell.clear();
  shell.tell(rows);
  if (rows.length === 0) {
    const elsewhere = shell.isNamed
      ? ""
      : "\nA program has its own beside its package.json; --store sqlite:FILE names it.";
    shell.say(
      !shell.hasStore && textOption(input, "under") === undefined
        ? `There is no store at ${plain(shell.url)}.${elsewhere}`
        : names.length === 0 && under === undefined
          ? "There is no session here yet."
          : "There is no such session.",
    );
    shell.hint(names.length === 0 ? "rath demo" : "rath list");
    return;
  }
  const now = Date.now();
  const cells = rows.map(({ name, id, status, at, last, unfinished, answered, stopped, added }) => [
    unfinished
      ? shell.yellow("unended")
      : answered
        ? shell.green("answered")
        : stopped !== undefined
          ? shell.yellow("stopped")
          : shell.status(status),
    shell.id(id),
    shell.bold(plain(name)),
    shell.dim(ago(at, now)),
    ...(added === undefined ? [] : [shell.green(`+${count(added, "fact")}`)]),
    last,
  ]);
  if (!shell.json) await shell.write(`${table(cells, shell.room(input))}\n`);
  if (rows.length < found.length)
    shell.say(shell.dim(`… and ${count(found.length - rows.length, "older session")}`));
  const waiting = rows.filter(({ status, answered }) => status === "waiting" && !answered).length;
  const ready = rows.find(({ answered }) => answered)?.name;
  const first = rows.find(({ name }) => !name.startsWith("memory/")) ?? rows[0];
  const [cut] = unfinished;
  shell.hint(
    ...(cut === undefined
      ? []
      : [withNote(await resumeCommand(shell, cut), "it has not ended: under way, or cut off")]),
    ...(ready === undefined ? [] : [withNote(await resumeCommand(shell, ready), "its answer is there")]),
    ...(waiting > 0 ? [`rath pending   # ${count(waiting, "session")} waiting for somebody`] : []),
    `rath log ${argument(first?.name ?? "")}`,
  );
}

/** A command with a note behind it, beside the note that it may have. */
function withNote(command: string, note: string): string {
  return command.includes("   # ") ? `${command} (${note})` : `${command}   # ${note}`;
}

/** Refuses a name that no new session can have. */
export function requireNewName(name: string | undefined): void {
  const flaw = name === undefined ? undefined : nameFlaw(name);
  if (flaw !== undefined) throw new UsageError(`Cannot call a session ${name}: ${flaw.reason}.`, flaw.hint);
}

/** A limit that was reached. */
export type Stop = Pick<FactOf<"budget-stop">, "limit" | "allowed" | "spent">;

export function stopOf({ limit, allowed, spent }: Stop): Stop {
  return { limit, allowed, spent };
}

/** The newest fact of a session that is about its work, how the run came out that it ends, and the limit that ended the run. */
export async function newestOf(
  store: Store,
  id: FactId,
): Promise<{ readonly fact: Fact; readonly status: Status; readonly stop?: FactOf<"budget-stop"> }> {
  const { fact, before } = await workBefore(store, id, isAboutTheRecord);
  const status = statusIn(fact);
  if (status !== "finished" || before === undefined) return { fact, status };
  const { fact: last } = await workBefore(store, before, ({ type }) => type === "module-exit");
  return { fact, status, ...(last.type === "budget-stop" && { stop: last }) };
}

/** The newest fact at or before a session that is not to be passed over, and the session before it. */
async function workBefore(store: Store, id: FactId, isPassed: (fact: Fact) => boolean) {
  for (let place = id; ; ) {
    const line = (await store.line(place)) as string;
    const fact = readFact(line, await blobsOf(store, line));
    const before = parentsOf(line)[0];
    if (!isPassed(fact) || before === undefined) return { fact, before };
    place = before;
  }
}
