import type { Json } from "../../../session/index.js";
import type { Fields } from "../fields.js";
import { amountIn, isFields, isSame, isTime, listOf, own, textIn } from "../fields.js";
import type { Foreign, ReadLine } from "../foreign.js";

export type Line = ReadLine<Fields>;

/** A message of a session, and the line that has it. */
export type Row = Line & { readonly kind: Kind; readonly payload: Fields };

export type Kind = (typeof KINDS)[number];
const KINDS = ["system", "user", "assistant", "tool_result"] as const;

/** A session of the Python package, as far as the lines of a file have it. */
export type Entry = {
  readonly id: string;
  /** Its header, or the row of a lineage export. */
  readonly head: Line | undefined;
  readonly at: string | undefined;
  readonly kind: string;
  readonly operator: string | undefined;
  readonly sandbox: string | undefined;
  readonly parents: string[];
  readonly rows: Row[];
  /** How many messages a lineage export says that it has. */
  readonly count: number | undefined;
  trailer: Line | undefined;
  readonly reward: number | undefined;
  /** More lines about it. */
  readonly also: Line[];
};

const RECORDS = new Set(["header", "chunk", "trailer", "session_node", "session_edge"]);

/** The kind of a line: a lineage export has no `record_type`. */
function recordOf(value: Fields): string {
  const named = own(value, "record_type");
  if (named !== undefined) return String(named);
  return typeof own(value, "lineage_kind") === "string" ? "lineage" : "";
}

/** Refuses a line that is not what it says it is, so that it is kept as it came and the others are read. */
export function checked(value: Json, where: string, foreign: Foreign): Fields {
  const fields = foreign.object(value, where);
  const record = recordOf(fields);
  const text = (key: string): void => {
    if (!textIn(fields, key)) foreign.refuse(where, `its ${key} is missing`);
  };
  if (record.startsWith("episode_") || record === "step")
    foreign.refuse(where, "it is a trajectory of the training tools", {
      hint: "write it as ATIF with the Python package, and import that: --format atif",
    });
  if (record !== "lineage" && !RECORDS.has(record))
    foreign.refuse(where, `there is no record of the type ${JSON.stringify(record)}`);
  if (record === "header" || record === "lineage") text("id");
  if (record === "session_node") text("session_id");
  if (record === "session_edge") for (const key of ["parent", "child"]) text(key);
  if (record === "chunk") {
    if (!KINDS.some((kind) => kind === fields.kind))
      foreign.refuse(where, "nobody speaks in a chunk of its kind");
    if (!isFields(own(fields, "payload"))) foreign.refuse(where, "its payload is not an object");
  }
  return fields;
}

/** The sessions that the lines of a file tell of, in the order of the file. */
export function entriesOf(lines: readonly Line[], foreign: Foreign): readonly Entry[] {
  const entries = new Map<string, Entry>();
  let open: Entry | undefined;
  const entryOf = (id: string, line: Line | undefined): Entry => {
    const known = entries.get(id);
    if (known !== undefined && line !== undefined) {
      known.also.push(line);
      addParents(known, parentsIn(line.value));
    }
    if (known !== undefined) return known;
    const entry = newEntry(id, line);
    entries.set(id, entry);
    return entry;
  };
  for (const line of lines) {
    const { value } = line;
    const record = recordOf(value);
    if (record === "header") {
      open = headed(entries, line, foreign) ?? entryOf(textIn(value, "id") as string, line);
    } else if (record === "chunk" || record === "trailer") {
      if (open === undefined) {
        foreign.warnings.add(`line ${line.line} belongs to a session whose header is missing.`);
        open = entryOf("", undefined);
      }
      if (record === "trailer") take(open, line);
      else open.rows.push({ ...line, kind: value.kind as Kind, payload: value.payload as Fields });
    } else if (record === "session_edge") {
      const child = entryOf(textIn(value, "child") as string, undefined);
      child.also.push(line);
      addParents(child, [textIn(value, "parent") as string]);
    } else entryOf(textIn(value, record === "lineage" ? "id" : "session_id") as string, line);
  }
  const all = [...entries.values()];
  for (const entry of all) if (entry.rows.length > 0 || entry.trailer !== undefined) warn(entry, foreign);
  return all;
}

/** A header of a session that has one already: it was taken up again, which the Python package cannot read. */
function headed(entries: Map<string, Entry>, line: Line, foreign: Foreign): Entry | undefined {
  const known = entries.get(textIn(line.value, "id") as string);
  if (known === undefined) return undefined;
  if (known.rows.length === 0 && known.trailer === undefined) {
    // The lineage came first, and the session itself comes now.
    const entry = newEntry(known.id, line);
    addParents(entry, known.parents);
    entry.also.push(...(known.head === undefined ? [] : [known.head]), ...known.also);
    entries.set(known.id, entry);
    return entry;
  }
  foreign.warnings.add(`line ${line.line} is a second header of the session ${known.id}.`);
  known.also.push(line);
  return known;
}

function newEntry(id: string, head: Line | undefined): Entry {
  const value = head?.value ?? {};
  const reward = own(value, "reward");
  return {
    id,
    head,
    at: isTime(own(value, "created_at")) ? textIn(value, "created_at") : undefined,
    kind: textIn(value, "lineage_kind") ?? "unknown",
    operator: textIn(value, "lineage_operator"),
    sandbox: textIn(value, "sandbox_backend"),
    parents: [...new Set(parentsIn(value))],
    rows: [],
    count: amountIn(value, "chunk_count"),
    trailer: undefined,
    reward: typeof reward === "number" ? reward : undefined,
    also: [],
  };
}

function take(entry: Entry, line: Line): void {
  if (entry.trailer !== undefined) entry.also.push(entry.trailer);
  entry.trailer = line;
}

function parentsIn(value: Fields): readonly string[] {
  return listOf(own(value, "parent_session_ids")).filter((one) => typeof one === "string");
}

function addParents(entry: Entry, parents: readonly string[]): void {
  for (const parent of parents) if (!entry.parents.includes(parent)) entry.parents.push(parent);
}

function warn({ id, rows, trailer, head }: Entry, foreign: Foreign): void {
  const { warnings } = foreign;
  const name = id === "" ? "the session without a header" : `the session ${id}`;
  if (trailer === undefined)
    warnings.add(
      `${name} has no trailer: its process ended, or still runs; a finished tool result may be missing.`,
    );
  const said = trailer === undefined ? undefined : amountIn(trailer.value, "final_chunk_count");
  if (said !== undefined && said !== rows.length)
    warnings.add(`${name} has ${rows.length} of the ${said} messages that its trailer counts.`);
  else if (rows.some(({ value }, place) => typeof value.index === "number" && value.index !== place))
    warnings.add(`${name} has messages out of order, or some are missing: their numbers do not follow.`);
  const version = head === undefined ? undefined : own(head.value, "schema_version");
  if (version !== undefined && version !== 1)
    warnings.add(`${name} is of the schema version ${JSON.stringify(version)}; known is 1.`);
}

/** How many messages both begin with. */
export function sharedRows(one: readonly Row[], other: readonly Row[]): number {
  let count = 0;
  while (count < one.length && count < other.length && isSameRow(one[count] as Row, other[count] as Row))
    count++;
  return count;
}

function isSameRow(one: Row, other: Row): boolean {
  return one.kind === other.kind && isSame(one.payload, other.payload);
}

/** The sessions so that parents come before their children. */
export function inOrder(entries: readonly Entry[], foreign: Foreign): readonly Entry[] {
  const children = new Map<string, Entry[]>();
  const left = new Map<Entry, number>();
  const known = new Set(entries.map(({ id }) => id));
  for (const entry of entries) {
    const parents = entry.parents.filter((id) => known.has(id));
    left.set(entry, parents.length);
    for (const id of parents) children.set(id, [...(children.get(id) ?? []), entry]);
  }
  const order = entries.filter((entry) => left.get(entry) === 0);
  for (const entry of order)
    for (const child of children.get(entry.id) ?? []) {
      const open = (left.get(child) as number) - 1;
      left.set(child, open);
      if (open === 0) order.push(child);
    }
  const stuck = entries.find((entry) => left.get(entry) !== 0);
  if (stuck !== undefined) {
    const line = stuck.head?.line ?? stuck.also[0]?.line ?? 1;
    foreign.refuse(`line ${line}`, `the parents of the session ${stuck.id} go round in a circle`);
  }
  return order;
}
