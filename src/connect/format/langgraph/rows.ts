import type { FactId, Json, Session } from "../../../session/index.js";
import { compareText, parseJson } from "../../../util/index.js";
import type { Dumped } from "../../langgraph/held.js";
import { Ledger } from "../../langgraph/ledger.js";
import { IMPORT, nameOfThread, PREFIX, type Put } from "../../langgraph/note.js";
import { Scribe } from "../../langgraph/scribe.js";
import type { Imported, Source } from "../exchange.js";
import { addTo, fieldsIn, fieldsOf, parsed, textIn } from "../fields.js";
import { keepRest, startImport, UNKNOWN_TIME } from "../intake.js";

/** A checkpoint as a saver of LangGraph keeps it. */
export type CheckpointRow = {
  readonly thread: string;
  readonly namespace: string;
  readonly id: string;
  readonly parent: string | undefined;
  readonly metadata: Dumped;
  /** Its fields but for the values. */
  readonly head: { readonly [field: string]: Json };
  readonly values: ReadonlyMap<string, Dumped>;
};

export type WriteRow = {
  readonly thread: string;
  readonly namespace: string;
  readonly checkpoint: string;
  readonly task: string;
  readonly place: number;
  readonly channel: string;
  readonly value: Dumped;
};

/** A row that is not understood: kept as it is. */
export type OddRow = { readonly thread: string; readonly what: string; readonly row: Json };

export type Rows = {
  readonly checkpoints: readonly CheckpointRow[];
  readonly writes: readonly WriteRow[];
  readonly odd: readonly OddRow[];
};

const GATHERED = "the branches of the thread are gathered so that one session has them all";

/** A session for each thread, made as our own saver would have made it. */
export async function sessionsOf(source: Source, rows: Rows): Promise<readonly Imported[]> {
  // Each row is looked at once: a database may have as many threads as it has rows.
  const checkpoints = grouped(rows.checkpoints, ({ thread }) => thread);
  const writes = grouped(rows.writes, ({ thread }) => thread);
  const odd = grouped(rows.odd, ({ thread }) => thread);
  const threads = new Set([...checkpoints.keys(), ...writes.keys(), ...odd.keys()]);
  const imported: Imported[] = [];
  for (const thread of [...threads].sort()) {
    const own = {
      checkpoints: checkpoints.get(thread) ?? [],
      writes: writes.get(thread) ?? [],
      odd: odd.get(thread) ?? [],
    };
    imported.push(await threadOf(source, own, thread));
  }
  return imported;
}

/** The session of one thread, of its own rows. */
async function threadOf(source: Source, rows: Rows, thread: string): Promise<Imported> {
  const checkpoints = inOrder(rows.checkpoints);
  const notes: string[] = [];
  const first = timeOf(checkpoints[0]);
  const scribe = new Scribe(new Ledger(), async (id) => known.get(id) as Session);
  const start = startImport(source, IMPORT, {
    name: thread,
    at: first,
    by: "runtime:langgraph",
    detail: { thread },
  });
  const known = new Map<string, Session>();
  const remember = (session: Session): void => {
    let step: Session | undefined = session;
    for (; step !== undefined && !known.has(step.id); step = step.soleParent) known.set(step.id, step);
  };
  scribe.begin(start);
  remember(start);
  const byCheckpoint = grouped(rows.writes, ({ namespace, checkpoint }) =>
    JSON.stringify([namespace, checkpoint]),
  );
  for (const row of checkpoints) {
    const at = timeOf(row);
    const written = await scribe.put(putOf(row), { at });
    if (written !== undefined) remember(written.session);
    const key = JSON.stringify([row.namespace, row.id]);
    for (const [task, writes] of grouped(byCheckpoint.get(key) ?? [], (write) => write.task)) {
      const put = { namespace: row.namespace, id: row.id, root: rootOf(row), task, writes };
      const kept = await scribe.putWrites(put, { at });
      if (kept !== undefined) remember(kept.session);
    }
    byCheckpoint.delete(key);
  }
  const ends = scribe.ledger.ends.map(({ at }) => known.get(at) as Session);
  const current = known.get(scribe.ledger.current?.at ?? start.id) as Session;
  const others = ends.filter((session) => session.id !== current.id);
  const stamp = { by: "runtime:langgraph", at: current.fact.at } as const;
  let session =
    others.length === 0 ? current : current.merge(others, { adopt: "none", why: GATHERED, ...stamp });
  const lost = [...byCheckpoint.values()].flat();
  if (lost.length > 0) {
    notes.push(`${lost.length} writes belong to no checkpoint`);
    session = keepRest(session, "writes without a checkpoint", lost);
  }
  const { odd } = rows;
  for (const { what, row } of odd) session = keepRest(session, what, row);
  if (odd.length > 0)
    notes.push(
      `${odd.length} rows are kept as they are: ${[...new Set(odd.map(({ what }) => what))].join(", ")}`,
    );
  session = waiting(session, start, rows.writes, scribe.ledger.current?.latest.get("")?.id);
  const opaque = checkpoints.filter(({ values }) => [...values.values()].some(({ binary }) => binary)).length;
  if (opaque > 0) notes.push(`${opaque} checkpoints have values that only their serializer can read`);
  return { name: nameOfThread(thread, PREFIX), session, notes };
}

/** Oldest first, with abandoned branches after the line of the newest checkpoint, so this does not fork. */
function inOrder(rows: readonly CheckpointRow[]): readonly CheckpointRow[] {
  const sorted = [...rows].sort((one, other) => compareText(one.id, other.id));
  const roots = sorted.filter(({ namespace }) => namespace === "");
  const byId = new Map(roots.map((row) => [row.id, row]));
  const line = new Set<string>();
  for (let row = roots.at(-1); row !== undefined && !line.has(row.id); row = byId.get(row.parent ?? ""))
    line.add(row.id);
  const isLeft = (row: CheckpointRow): boolean => {
    const root = row.namespace === "" ? row.id : rootOf(row);
    return root !== undefined && !line.has(root);
  };
  return [...sorted.filter((row) => !isLeft(row)), ...sorted.filter(isLeft)];
}

/** A thread whose newest checkpoint was interrupted waits for an answer to each interrupt. */
function waiting(
  session: Session,
  start: Session,
  writes: readonly WriteRow[],
  newest: string | undefined,
): Session {
  const stamp = { at: session.fact.at, by: "runtime:langgraph" } as const;
  let next = session;
  const awaited: FactId[] = [];
  for (const { namespace, checkpoint, channel, value } of writes) {
    if (namespace !== "" || checkpoint !== newest || channel !== "__interrupt__") continue;
    const what = value.binary ? { base64: value.text } : parsed(value.text);
    next = next.append({ type: "signal-await", name: "interrupt", what, ...stamp });
    awaited.push(next.id);
  }
  if (awaited.length === 0) return session;
  return next.append({ type: "run-suspend", of: start.id, waiting: awaited, ...stamp });
}

function putOf(row: CheckpointRow): Put {
  const { v, ts, channel_versions, versions_seen, ...rest } = row.head;
  const { id: _, channel_values: __, ...extra } = rest;
  return {
    namespace: row.namespace,
    id: row.id,
    parent: row.parent,
    root: rootOf(row),
    head: { v: v ?? null, ts: ts ?? null, ...(Object.keys(extra).length > 0 && { extra: { json: extra } }) },
    metadata: row.metadata,
    versions: fieldsOf(channel_versions) as Put["versions"],
    seen: fieldsOf(versions_seen) as Put["seen"],
    values: row.values,
    dump: async (channel) => row.values.get(channel) as Dumped,
  };
}

function rootOf({ namespace, metadata }: CheckpointRow): string | undefined {
  if (namespace === "") return undefined;
  return textIn(fieldsIn(fieldsOf(parseJson(metadata.text)), "parents"), "");
}

function timeOf(row: CheckpointRow | undefined): string {
  const ts = row?.head.ts;
  return typeof ts === "string" && !Number.isNaN(Date.parse(ts)) ? ts : UNKNOWN_TIME;
}

function grouped<Item>(items: readonly Item[], keyOf: (item: Item) => string): Map<string, Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) addTo(groups, keyOf(item), item);
  return groups;
}
