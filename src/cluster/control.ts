import { factAt, RefusedError } from "../runtime/index.js";
import {
  CANCEL,
  dueEntry,
  entryKey,
  freeEntry,
  gateName,
  heldEntry,
  heldUnder,
  MOVE,
  PAUSED,
  passGate,
  runOf,
  STUCK,
  type Submission,
  submissionAt,
} from "../runtime/submit/index.js";
import type { FactId, Principal, Session, View } from "../session/index.js";
import type { Store } from "../store/index.js";
import { offersTo } from "./due.js";
import { cardAt, drainName, WORKERS } from "./member.js";

/** Keeps a session from going on: it rests at its next effect, wherever it runs. */
export async function pause(store: Store, name: string): Promise<void> {
  const submission = await unfinished(store, name, "pause");
  const session = await store.load(submission.id);
  await store.save(session, { name: PAUSED + entryKey(submission), also: { [dueEntry(submission)]: null } });
}

/** Lets a session that was paused, or that no worker could go on with, go on. */
export async function unpause(store: Store, name: string): Promise<void> {
  const submission = await unfinished(store, name, "continue");
  const key = entryKey(submission);
  const session = await store.load(submission.id);
  const held = heldEntry(submission);
  const isBegun = (await store.head(name)) !== submission.id;
  const free = isBegun ? dueEntry(submission) : freeEntry(submission, await store.time());
  await store.save(session, {
    // A session behind a gate stays there.
    name: (await store.head(held)) === undefined ? free : held,
    also: { [PAUSED + key]: null, [STUCK + key]: null },
  });
  await passGate(store, submission);
}

/**
 * Cancels a submitted session wherever it is: what runs stops, and a worker ends what waits. With `all`, those too whose names
 * begin with its name and a slash. Resolves with the names.
 */
export async function cancel(store: Store, name: string, all = false): Promise<readonly string[]> {
  const below = all ? (await store.names({ under: `${name}/` })).map((one) => one.name) : [];
  const cancelled: string[] = [];
  for (const one of [name, ...below]) {
    const submission = one === name ? await unfinished(store, name, "cancel") : await find(store, one);
    if (submission === undefined || (await isOver(store, one))) continue;
    const key = entryKey(submission);
    const session = await store.load(submission.id);
    await store.save(session, {
      name: CANCEL + key,
      also: {
        [dueEntry(submission)]: session,
        [PAUSED + key]: null,
        [STUCK + key]: null,
        [heldEntry(submission)]: null,
      },
    });
    cancelled.push(one);
  }
  return cancelled;
}

/** Asks a worker to give back what it runs, and to leave. */
export async function drain(store: Store, worker: string): Promise<void> {
  const id = await workerId(store, worker, `drain ${worker}`);
  await store.save(await store.load(id), { name: drainName(worker) });
}

/** Continues a session on this worker: it rests at its next effect where it runs, and the worker that takes it next hands it over. */
export async function move(store: Store, name: string, worker: string): Promise<void> {
  const use = `move ${name}`;
  const submission = await unfinished(store, name, "move");
  const id = await workerId(store, worker, use);
  const card = await cardAt(store, id);
  if (card?.modules[submission.module] !== submission.version)
    throw new RefusedError(
      use,
      `${worker} does not have the version of ${submission.module} that the session was submitted with`,
      "list the workers that have it: rath deploy",
    );
  const { queues, offers } = card;
  if (!offersTo({ queues: queues && new Set(queues), offers }, submission))
    throw new RefusedError(
      use,
      `${worker} does not serve the queue of this session, or lacks a property that the session needs`,
      "list the queues and offers of the workers: rath top --json",
    );
  await store.save(await store.load(id), { name: MOVE + entryKey(submission) });
}

/** The newest report of a validation. */
const newestOf = (name: string): View<{ readonly id: FactId; readonly passed: boolean } | null> => ({
  start: null,
  step: (newest, fact, { id }) =>
    fact.type === "validation-report" && fact.name === name ? { id, passed: fact.passed } : newest,
});
const AT_ONCE = 100;

/**
 * Lets the sessions begin that were submitted behind a gate, and those that will be, because a session shows that the validation of
 * this name has passed. Its report is named in the fact that opens the gate. Resolves with the number of those that waited.
 *
 * @param on a session or its name
 */
export async function release(
  store: Store,
  gate: string,
  on: string | Session,
  by?: Principal,
): Promise<number> {
  const session = typeof on === "string" ? await store.load(on) : on;
  const report = session.view(newestOf(gate));
  if (report?.passed !== true)
    throw new RefusedError(
      `release ${gate}`,
      report === null
        ? "the session has no report of a validation of this name"
        : "its newest report of this validation failed",
      "name a session in which it passed; list the validations of one: rath log NAME --type validation-report",
    );
  const fact = { type: "note", kind: "gate-open", gate, validation: report.id } as const;
  const opened = session.append({ ...fact, by: by ?? "runtime" });
  const place = { name: gateName(gate), force: true };
  await store.save(opened, place);
  const now = await store.time();
  for (let released = 0; ; ) {
    const held = await store.names({ under: heldUnder(gate), limit: AT_ONCE });
    if (held.length === 0) return released;
    const also: { [name: string]: Session | null } = {};
    for (const { name, id } of held) {
      also[name] = null;
      const submission = await submissionAt(store, id);
      if (submission !== undefined) also[freeEntry(submission, now)] = await store.load(id);
    }
    await store.save(opened, { ...place, also });
    released += held.length;
  }
}

async function workerId(store: Store, worker: string, use: string): Promise<string> {
  const id = await store.head(WORKERS + worker);
  if (id === undefined)
    throw new RefusedError(use, "there is no worker with this name", "list the workers: rath top");
  return id;
}

async function unfinished(store: Store, name: string, use: string): Promise<Submission> {
  const submission = await find(store, name);
  if (submission === undefined)
    throw new RefusedError(
      `${use} ${name}`,
      "no session was submitted under this name",
      "submit it: rath submit FILE --name NAME",
    );
  if (await isOver(store, name))
    throw new RefusedError(`${use} ${name}`, "its run has ended", "see the outcome: rath show NAME");
  return submission;
}

/** The submission of the session of this name, if it was submitted. */
export async function find(store: Store, name: string): Promise<Submission | undefined> {
  const head = await store.head(name);
  if (head === undefined) return undefined;
  const waiting = await submissionAt(store, head);
  if (waiting !== undefined) return waiting;
  const base = (await runOf(store, name))?.base;
  return base === undefined ? undefined : submissionAt(store, base);
}

export async function isOver(store: Store, name: string): Promise<boolean> {
  const head = await store.head(name);
  const newest = head === undefined ? undefined : await factAt(store, head);
  if (head === undefined || newest === undefined || newest.type === "run-end") return true;
  // A fact of nobody's run: it is still to be begun, or somebody went on after its end.
  if (newest.run !== undefined || (await submissionAt(store, head)) !== undefined) return false;
  return (await runOf(store, name))?.over === true;
}
