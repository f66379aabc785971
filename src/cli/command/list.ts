import { isAboutTheRecord, type Status, statusIn } from "../../runtime/index.js";
import { type FactId, parentsOf, readFact } from "../../session/index.js";
import type { Name, Store } from "../../store/index.js";
import { compareText, defined } from "../../util/index.js";
import { blobsOf } from "../blobs.js";
import { countOption, type Input, textOption } from "../entry.js";
import { UsageError } from "../error.js";
import { countSince, filterOf, isSince } from "../filter.js";
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
  const unfinished = new Set(
    (await (await shell.rath()).unfinished()).filter(({ waiting }) => !waiting).map(({ name }) => name),
  );
  const { since } = filterOf(input);
  const limit = countOption(input, "limit");
  type Row = Pick<Name, "name" | "id" | "owner"> & {
    status: Status;
    at: string;
    last: string;
    unfinished?: true;
    /** Facts since the time that was asked for; one that several sessions have is counted with the newest. */
    added?: number;
  };
  const found: Row[] = [];
  for (const { name, id, owner } of names) {
    const { fact, status } = await newestOf(store, id);
    if (wanted !== undefined && wanted !== status) continue;
    if (since !== undefined && !(await isSince(store, id, since))) continue;
    const row: Row = { name, id, status, at: fact.at, last: describe(fact, 60), ...defined({ owner }) };
    found.push(unfinished.has(name) ? { ...row, unfinished: true } : row);
  }
  found.sort((one, other) => compareText(other.at, one.at) || compareText(one.name, other.name));
  const rows: Row[] = [];
  const counted = new Set<FactId>();
  for (const row of found.slice(0, limit))
    rows.push(
      since === undefined ? row : { ...row, added: await countSince(shell, store, row.id, since, counted) },
    );
  shell.clear();
  shell.tell(rows);
  if (rows.length === 0) {
    shell.say(
      names.length === 0 && under === undefined
        ? "There is no session here yet."
        : "There is no such session.",
    );
    shell.hint(names.length === 0 ? "rath demo" : "rath list");
    return;
  }
  const now = Date.now();
  const cells = rows.map(({ name, id, status, at, last, unfinished, added }) => [
    unfinished ? shell.yellow("unended") : shell.status(status),
    shell.id(id),
    shell.bold(plain(name)),
    shell.dim(ago(at, now)),
    ...(added === undefined ? [] : [shell.green(`+${count(added, "fact")}`)]),
    last,
  ]);
  if (!shell.json) await shell.write(`${table(cells, shell.room(input))}\n`);
  if (rows.length < found.length)
    shell.say(shell.dim(`… and ${count(found.length - rows.length, "older session")}`));
  const waiting = rows.filter(({ status }) => status === "waiting").length;
  const first = rows.find(({ name }) => !name.startsWith("memory/")) ?? rows[0];
  const [cut] = unfinished;
  shell.hint(
    ...(cut === undefined
      ? []
      : [`rath resume ${argument(cut)}   # it has not ended: under way, or cut off`]),
    ...(waiting > 0 ? [`rath pending   # ${count(waiting, "session")} waiting for somebody`] : []),
    `rath log ${argument(first?.name ?? "")}`,
  );
}

/** Names that a run has for its own use while it is under way. */
export function isKeptByRuntime(name: string): boolean {
  return /^((run|answer)s?|standing)\//.test(name) || name.startsWith(".");
}

export function keptByRuntime(name: string): UsageError {
  return new UsageError(
    `Cannot call a session ${name}.`,
    "names that begin with run/, answer/, standing/ or a dot are the runtime's own",
  );
}

/** The newest fact of a session that is about its work, and how the run came out that it ends. */
export async function newestOf(store: Store, id: FactId) {
  for (let place = id; ; ) {
    const line = (await store.line(place)) as string;
    const fact = readFact(line, await blobsOf(store, line));
    const before = parentsOf(line)[0];
    if (!isAboutTheRecord(fact) || before === undefined) return { fact, status: statusIn(fact) };
    place = before;
  }
}
