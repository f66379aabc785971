import { digestOf, type Fact, type FactInput, type Json, Withheld } from "../../session/index.js";
import { type Dumped, type Entry, entryOf, type Held, heldOf, hiding, jsonOf } from "./held.js";
import type { Pool, Seen, Spot, Tip, Versions, Write } from "./spot.js";
import { keyOfSpot, SILENCE } from "./spot.js";

export const THREAD = "langgraph-thread";
export const CHECKPOINT = "langgraph-checkpoint";
export const WRITES = "langgraph-writes";

/** The name of the format of imported checkpoints in the record. */
export const IMPORT = "langgraph";

/** The thread that a fact says its session is of; undefined where it says nothing of that, or it was erased. */
export function threadIn(fact: Fact): string | undefined {
  if (fact.type === "note") return fact.kind === THREAD ? textOf(fact.thread) : undefined;
  if (fact.type !== "record-import" || fact.format !== IMPORT) return undefined;
  return textOf((fact.detail as { readonly thread?: unknown } | null | undefined)?.thread);
}

/** A checkpoint that is to be kept: serialised, and not compared with anything yet. */
export type Put = {
  readonly namespace: string;
  readonly id: string;
  readonly parent: string | undefined;
  /** The checkpoint of the whole graph that a subgraph is at work for. */
  readonly root: string | undefined;
  readonly head: Spot["head"];
  readonly metadata: Dumped;
  readonly versions: Versions;
  readonly seen: Seen;
  /** In order; null for a channel that is said to be as it was, whose value is asked for only if nobody knows it. */
  readonly values: ReadonlyMap<string, Dumped | null>;
  readonly dump: (channel: string) => Promise<Dumped>;
};

export type PutWrites = {
  readonly namespace: string;
  readonly id: string;
  readonly root: string | undefined;
  readonly task: string;
  readonly writes: readonly { readonly place: number; readonly channel: string; readonly value: Dumped }[];
};

/** A map as what it changes of another one. */
type Patch = { readonly set?: { readonly [key: string]: Json }; readonly unset?: readonly string[] };
type Fields = { readonly [key: string]: Json | undefined };

/** The channels that are said to be as they were, though the checkpoint before knows nothing of that. */
export function unknownIn(put: Put, tip: Tip): readonly string[] {
  const parent = parentOf(put, tip);
  return [...put.values].flatMap(([channel, dumped]) =>
    dumped === null && !isCarried(put, parent, channel) ? [channel] : [],
  );
}

/** The note of a checkpoint, and what it says that was not known: the new values as JSON. */
export function checkpointNote(
  put: Put,
  tip: Tip,
  dumps: ReadonlyMap<string, Dumped>,
  known: (channel: string, version: Json | undefined) => Spot | undefined,
): { readonly note: (pool: Pool) => FactInput; readonly fresh: readonly Json[] } {
  const parent = parentOf(put, tip);
  const values = new Map<string, Entry>();
  const fresh: Json[] = [];
  const present: string[] = [];
  for (const [channel, given] of put.values) {
    const base = parent?.values.get(channel);
    const version = put.versions[channel];
    const dumped = given ?? dumps.get(channel);
    if (given === null) {
      const other = known(channel, version);
      // Nothing can be as it was where nothing was: LangGraph's rule for what is not a new version.
      if (put.parent === undefined && other === undefined) continue;
      present.push(channel);
      if (dumped === undefined) continue;
      if (other?.values.get(channel)?.same(dumped) && isBehind(tip, other)) {
        values.set(channel, { like: other.id });
        continue;
      }
    } else present.push(channel);
    if (dumped === undefined || base?.same(dumped)) continue;
    const made = entryOf(dumped, base);
    values.set(channel, made.entry);
    const said = base === undefined || base.length <= 2 || made.entry.append !== undefined;
    if (said && made.fresh !== undefined) fresh.push(made.fresh);
  }
  const kept = new Set(present);
  const without = [...(parent?.values.keys() ?? [])].filter((channel) => !kept.has(channel));
  const carried = [...(parent?.values.keys() ?? [])].filter((channel) => kept.has(channel));
  // Fields that look like numbers come first in any object.
  const order = [...new Set([...carried, ...Object.keys(Object.fromEntries(values))])];
  const metadata = entryOf(put.metadata).entry;
  const hidden = (pool: Pool): { [channel: string]: Entry } =>
    Object.fromEntries([...values].map(([channel, entry]) => [channel, hiding(entry, pool)]));
  return {
    fresh,
    note: (pool) => ({
      type: "note",
      kind: CHECKPOINT,
      checkpoint: put.id,
      ...(put.namespace !== "" && { namespace: put.namespace }),
      ...(put.parent !== undefined && { parent: put.parent }),
      // A change can only be read beside its base.
      ...(parent !== undefined && { changes: true }),
      head: put.head,
      metadata: metadata as Json,
      versions: patchOf(parent?.versions, put.versions) as Json,
      seen: seenPatch(parent?.seen, put.seen),
      ...(values.size > 0 && { values: hidden(pool) }),
      ...(without.length > 0 && { without }),
      ...(order.join("\0") !== present.join("\0") && { order: present }),
    }),
  };
}

/** The checkpoint before, if the branch has it right there to be compared with. */
function parentOf(put: Put, tip: Tip): Spot | undefined {
  const before = put.parent === undefined ? undefined : tip.latest.get(put.namespace);
  return before?.id === put.parent && before?.fault === undefined ? before : undefined;
}

function isCarried({ versions }: Put, parent: Spot | undefined, channel: string): boolean {
  return parent?.values.has(channel) === true && parent.versions[channel] === versions[channel];
}

/** The checkpoint that a note says, where a branch stands. */
export function spotOf(
  note: Fields,
  tip: Tip,
  find: (id: string) => Spot | undefined,
): Omit<Spot, "tip" | "from"> {
  const namespace = textOf(note.namespace) ?? "";
  const before = tip.latest.get(namespace);
  const id = textOf(note.checkpoint) ?? "";
  const parentId = textOf(note.parent);
  const parent = note.changes === true ? before : undefined;
  const again = parentId === id ? before : undefined;
  const pending = parentId === undefined ? undefined : tip.pending.get(keyOfSpot(namespace, parentId));
  const made = again?.made ?? pending ?? [];
  let fault =
    note.changes === true && parent?.id !== parentId
      ? `checkpoint ${parentId}, which it changes, is not here`
      : parent?.fault;
  const values = new Map(parent?.values);
  for (const channel of Array.isArray(note.without) ? (note.without as readonly string[]) : [])
    values.delete(channel);
  for (const [channel, entry] of Object.entries(recordOf(note.values) as { [channel: string]: Entry })) {
    const held =
      entry.like === undefined
        ? heldOf(entry, parent?.values.get(channel), tip.pool)
        : find(entry.like)?.values.get(channel);
    if (held === undefined) fault ??= `the value of ${JSON.stringify(channel)} rests on one that is not here`;
    else values.set(channel, held);
  }
  if ([note.values, note.metadata, note.head, note.versions, note.seen].some(isWithheld))
    fault ??= "its content was erased or is not here";
  const metadata = heldOf(recordOf(note.metadata) as Entry, undefined, SILENCE);
  if (metadata === undefined) fault ??= "its metadata is not here";
  const order = Array.isArray(note.order) ? (note.order as readonly string[]) : [...values.keys()];
  const there = order.filter((channel) => values.has(channel));
  const ordered = new Map(there.map((channel) => [channel, values.get(channel) as Held]));
  return {
    namespace,
    id,
    parent: parentId === id ? again?.parent : parentId,
    head: recordOf(note.head) as Spot["head"],
    metadata: metadata as Held,
    values: ordered,
    versions: patched(parent?.versions, recordOf(note.versions) as Patch),
    seen: seenPatched(parent?.seen, recordOf(note.seen)),
    made,
    before,
    ...(fault !== undefined && { fault }),
  };
}

/** The note of what a task wrote, with none that stands there already; undefined when none is left. */
export function writesNote(
  { namespace, id, task, writes }: PutWrites,
  tip: Tip,
): { readonly note: (pool: Pool) => FactInput; readonly fresh: readonly Json[] } | undefined {
  const there = tip.pending.get(keyOfSpot(namespace, id)) ?? [];
  const left = writes.filter(
    ({ place, value }) =>
      there.findLast((write) => write.task === task && write.place === place)?.value.same(value) !== true,
  );
  if (left.length === 0) return undefined;
  const fresh = left.flatMap(({ value }) => {
    const json = value.type === "json" && !value.binary ? jsonOf(value.text) : undefined;
    return json === undefined ? [] : [json.value];
  });
  const note = (pool: Pool): FactInput => ({
    type: "note",
    kind: WRITES,
    checkpoint: id,
    ...(namespace !== "" && { namespace }),
    task,
    writes: left.map(({ place, channel, value }) => [place, channel, hiding(entryOf(value).entry, pool)]),
  });
  return { note, fresh };
}

export function writesOf(note: Fields, tip: Tip): readonly Write[] {
  const task = textOf(note.task) ?? "";
  return (Array.isArray(note.writes) ? (note.writes as readonly Json[]) : []).flatMap((write) => {
    const [place, channel, entry] = Array.isArray(write) ? (write as readonly Json[]) : [];
    const value = heldOf(recordOf(entry) as Entry, undefined, tip.pool);
    return typeof place === "number" && typeof channel === "string" && value !== undefined
      ? [{ task, place, channel, value }]
      : [];
  });
}

/** Whether a checkpoint is on the way to where a branch stands. */
export function isBehind(tip: Tip, spot: Spot): boolean {
  let at = tip.latest.get(spot.namespace);
  while (at !== undefined && at.id !== spot.id) at = at.before;
  return at !== undefined;
}

function patchOf(before: Versions | undefined, after: Versions): Patch {
  const set = Object.fromEntries(
    Object.entries(after).filter(
      ([key, value]) => !Object.hasOwn(before ?? {}, key) || before?.[key] !== value,
    ),
  );
  const unset = Object.keys(before ?? {}).filter((key) => !Object.hasOwn(after, key));
  const patch = { ...(Object.keys(set).length > 0 && { set }), ...(unset.length > 0 && { unset }) };
  if (JSON.stringify(patched(before, patch)) === JSON.stringify(after)) return patch;
  // Their order is not the one that the change would give them: all of them are said anew.
  return { set: after, unset: Object.keys(before ?? {}) };
}

function patched(before: Versions | undefined, { set, unset }: Patch): Versions {
  if (set === undefined && unset === undefined) return before ?? {};
  const after = new Map(Object.entries(before ?? {}));
  for (const key of unset ?? []) after.delete(key);
  for (const [key, value] of Object.entries(set ?? {})) after.set(key, value);
  return Object.fromEntries(after);
}

function seenPatch(before: Seen | undefined, after: Seen): Json {
  const patches = Object.fromEntries(
    Object.entries(after).flatMap(([node, versions]) => {
      const patch = patchOf(before?.[node], versions);
      return Object.keys(patch).length === 0 && before?.[node] !== undefined ? [] : [[node, patch as Json]];
    }),
  );
  const unset = Object.keys(before ?? {}).filter((node) => !Object.hasOwn(after, node));
  const note = {
    ...(Object.keys(patches).length > 0 && { set: patches }),
    ...(unset.length > 0 && { unset }),
  };
  if (JSON.stringify(seenPatched(before, note)) === JSON.stringify(after)) return note;
  const all = Object.entries(after).map(([node, versions]) => [node, { set: versions } as Json] as const);
  return { set: Object.fromEntries(all), unset: Object.keys(before ?? {}) };
}

function seenPatched(before: Seen | undefined, { set, unset }: Fields): Seen {
  if (set === undefined && unset === undefined) return before ?? {};
  const after = new Map(Object.entries(before ?? {}));
  for (const node of Array.isArray(unset) ? (unset as readonly string[]) : []) after.delete(node);
  for (const [node, patch] of Object.entries(recordOf(set)))
    after.set(node, patched(after.get(node), recordOf(patch) as Patch));
  return Object.fromEntries(after);
}

function recordOf(value: Json | undefined): { readonly [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isWithheld(value)
    ? (value as { readonly [key: string]: Json })
    : {};
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function isWithheld(value: unknown): boolean {
  return typeof value === "object" && value !== null && (value as object) instanceof Withheld;
}

/** Under these names threads are kept unless somebody says otherwise. */
export const PREFIX = "langgraph/";

/** Longer ones would leave no room for the names of branches. */
const LONGEST = 120;

/** The name that a thread is kept under. Any two threads have two names, and none is another one's branch. */
export function nameOfThread(thread: string, prefix: string): string {
  const plain = [...thread]
    .map((character) =>
      /^[\p{L}\p{N}\p{P}\p{S} ]$/u.test(character) && !/[@%~]/.test(character) ? character : coded(character),
    )
    .join("");
  if (plain !== "" && plain.length <= LONGEST) return `${prefix}${plain}`;
  return `${prefix}~${digestOf(Buffer.from(JSON.stringify(thread))).slice(0, 32)}`;
}

/** The thread of a name; undefined where the name is a digest and only the record knows. */
export function threadOfName(name: string, prefix: string): string | undefined {
  const plain = name.slice(prefix.length);
  if (plain.startsWith("~")) return undefined;
  return plain.replace(/%([0-9a-f]+);/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

function coded(character: string): string {
  return character.replace(/[\s\S]/g, (unit) => `%${unit.charCodeAt(0).toString(16)};`);
}
