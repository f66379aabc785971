import { RefusedError } from "../runtime/index.js";
import {
  baseOfRun,
  CANCEL,
  dueEntry,
  entryKey,
  MOVE,
  PAUSED,
  QUEUE,
  type Submission,
  submissionAt,
} from "../runtime/submit/index.js";
import { typeOf } from "../session/index.js";
import type { Store } from "../store/index.js";
import { cardAt, WORKERS } from "./member.js";

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
  await store.save(session, {
    name: dueEntry(submission),
    also: { [PAUSED + key]: null, [`${QUEUE}stuck/${key}`]: null },
  });
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
      also: { [dueEntry(submission)]: session, [PAUSED + key]: null },
    });
    cancelled.push(one);
  }
  return cancelled;
}

/** Asks a worker to give back what it runs, and to leave. */
export async function drain(store: Store, worker: string): Promise<void> {
  const id = await workerId(store, worker, `drain ${worker}`);
  await store.save(await store.load(id), { name: `${QUEUE}drain/${worker}` });
}

/** Has a session go on at this worker: where it runs, it rests at its next effect, and whoever takes it next hands it over. */
export async function move(store: Store, name: string, worker: string): Promise<void> {
  const use = `move ${name}`;
  const submission = await unfinished(store, name, "move");
  const id = await workerId(store, worker, use);
  const card = await cardAt(store, id);
  if (card?.modules[submission.module] !== submission.version)
    throw new RefusedError(
      use,
      `${worker} does not have ${submission.module} as it was submitted`,
      "see who has it: rath deploy",
    );
  await store.save(await store.load(id), { name: MOVE + entryKey(submission) });
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
      "it was not submitted",
      "submit it: rath submit FILE --name NAME",
    );
  if (await isOver(store, name))
    throw new RefusedError(`${use} ${name}`, "its run is over", "see how it ended: rath show NAME");
  return submission;
}

async function find(store: Store, name: string): Promise<Submission | undefined> {
  const head = await store.head(name);
  if (head === undefined) return undefined;
  const waiting = await submissionAt(store, head);
  if (waiting !== undefined) return waiting;
  const base = await baseOfRun(store, name);
  return base === undefined ? undefined : submissionAt(store, base);
}

async function isOver(store: Store, name: string): Promise<boolean> {
  const head = await store.head(name);
  const line = head === undefined ? undefined : await store.line(head);
  return line === undefined || typeOf(line) === "run-end";
}
