import {
  AT,
  DUE,
  FOR,
  HELD,
  LATER,
  PAUSED,
  STUCK,
  type Submission,
  submissionAt,
  timeOfEntry,
  WAIT,
} from "../runtime/submit/index.js";
import type { Name, Store } from "../store/index.js";
import { cardAt, WORKERS, type WorkerCard } from "./member.js";

/** Where a submitted session stands in the queue. */
export type Place = "running" | "due" | "later" | "held" | "waiting" | "paused" | "stuck";

export type Row = Pick<Submission, "name" | "module" | "version" | "queue" | "priority" | "tenant"> & {
  readonly place: Place;
  readonly submitted: string;
  /** The worker that has it, or that it was moved to. */
  readonly worker?: string;
  /** When it becomes due. */
  readonly due?: string;
};

export type Board = {
  readonly at: string;
  readonly workers: readonly (WorkerCard & { readonly since: string; readonly running: number })[];
  /** All entries, by place. A session that waits for an answer or a time has one for each. */
  readonly counts: { readonly [place in Place]: number };
  /** At most so many of each place as were asked for. */
  readonly sessions: readonly Row[];
};

const PARTS: readonly (readonly [Place, string])[] = [
  ["running", AT],
  ["due", DUE],
  ["due", FOR],
  ["stuck", STUCK],
  ["paused", PAUSED],
  ["held", HELD],
  ["later", LATER],
  ["waiting", WAIT],
];
const PAGE = 1_000;

/** The sessions at each worker, and those that wait, as the index of the queue has it. */
export async function board(store: Store, most = 50): Promise<Board> {
  const counts = { running: 0, due: 0, stuck: 0, paused: 0, held: 0, later: 0, waiting: 0 };
  const sessions: Row[] = [];
  const running = new Map<string, number>();
  for (const [place, under] of PARTS)
    for await (const entry of entriesOf(store, under)) {
      const [worker = ""] = under === AT || under === FOR ? entry.name.slice(under.length).split("/") : [];
      if (place === "running") running.set(worker, (running.get(worker) ?? 0) + 1);
      counts[place] += 1;
      if (counts[place] > most) continue;
      const submission = await submissionAt(store, entry.id);
      if (submission === undefined) continue;
      const { name, module, version, queue, priority, tenant, at } = submission;
      sessions.push({
        name,
        place,
        module,
        version,
        queue,
        priority,
        tenant,
        submitted: at,
        ...(worker !== "" && { worker }),
        ...(place === "later" && { due: new Date(timeOfEntry(entry.name)).toISOString() }),
      });
    }
  const workers: Board["workers"][number][] = [];
  for (const { id } of await store.names({ under: WORKERS })) {
    const fact = await cardAt(store, id);
    if (fact === undefined) continue;
    const { id: worker, host, pid, engine, concurrency, modules, queues, offers, at } = fact;
    workers.push({
      ...{ id: worker, host, pid, engine, concurrency, modules, offers, since: at },
      ...(queues && { queues }),
      running: running.get(worker) ?? 0,
    });
  }
  return { at: new Date(await store.time()).toISOString(), workers, counts, sessions };
}

/** The versions of modules that unfinished sessions were submitted with, with how many there are and who has them. */
export async function versions(store: Store): Promise<
  readonly {
    readonly module: string;
    readonly version: string;
    readonly sessions: number;
    readonly workers: readonly string[];
    /** Some of the sessions. */
    readonly names: readonly string[];
  }[]
> {
  const found = new Map<string, { module: string; version: string; names: Set<string> }>();
  for (const [, under] of PARTS)
    for await (const { id } of entriesOf(store, under)) {
      const submission = await submissionAt(store, id);
      if (submission === undefined) continue;
      const { module, version, name } = submission;
      const one = found.get(`${module}@${version}`) ?? { module, version, names: new Set<string>() };
      found.set(`${module}@${version}`, one);
      one.names.add(name);
    }
  const { workers } = await board(store, 0);
  return [...found.values()].map(({ module, version, names }) => ({
    module,
    version,
    sessions: names.size,
    workers: workers.filter(({ modules }) => modules[module] === version).map(({ id }) => id),
    names: [...names].slice(0, 10),
  }));
}

/** The names that begin so, a page at a time. */
export async function* entriesOf(store: Store, under: string): AsyncGenerator<Name> {
  for (let after = under; ; ) {
    const page = await store.names({ under, after, limit: PAGE });
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    after = last.name;
  }
}
