import type { Digest, Json, Principal, Usage } from "../../session/index.js";
import { RathError, thrownMessage } from "../../session/index.js";
import { defined, firstLine } from "../../util/index.js";
import { requireFunction, requireOptions } from "../../workflow/index.js";

/** A record of another store: how it is found there, what its bytes are, and what it belongs to. */
export type ExistingRecord = {
  readonly key: string;
  /** SHA-256 of the record as it is there. */
  readonly digest: Digest;
  /** The name of its session in the other store. */
  readonly session: string;
  readonly at?: string;
  readonly role?: string;
  /** Never linked, unless it is asked for. */
  readonly text?: string;
  /** Keys of the records that it came from, if its source knows. Default: the one before it of its session. */
  readonly parents?: readonly string[];
  /** The action of the record. A record that only stands for itself has none. */
  readonly does?: Doing;
};

/** The action of a record. It becomes facts of that kind, whose content stays where it is. */
export type Doing = { readonly by?: Principal; readonly error?: string } & (
  | { readonly kind: "message" }
  | { readonly kind: "model"; readonly name: string; readonly usage?: Usage; readonly cost?: number }
  | { readonly kind: "tool" | "step"; readonly name: string; readonly about?: Json }
);

/** A record that cannot be read, and where it stands. */
export type Skipped = { readonly where: string; readonly why: string };

/** An entry of a store: a record, a record that cannot be read, or, at the end, the digest of all of it. */
export type ExistingEntry =
  | { readonly record: ExistingRecord }
  | { readonly skipped: Skipped }
  | { readonly digest: Digest };

/** A store that exists already, to be read from its beginning as often as it is asked for. */
export interface ExistingSource {
  /** The kind of store, such as "jsonl". */
  readonly format: string;
  /** Where it is. Never a secret. */
  readonly source: string;
  /** Whether its records are what was done, one after the other: then each is linked after those that it came from. */
  readonly isTrace?: boolean;
  entries(): AsyncIterable<ExistingEntry>;
}

/** The entries of a source, until somebody stops it: also while it is waited for and does not come. */
export async function* entriesUntil(
  from: ExistingSource,
  signal: AbortSignal | undefined,
  stopped: () => Error,
): AsyncGenerator<ExistingEntry> {
  let fail: (error: Error) => void = () => {};
  const stop = (): void => fail(stopped());
  signal?.addEventListener("abort", stop, { once: true });
  const entries = from.entries()[Symbol.asyncIterator]();
  let done = false;
  try {
    while (true) {
      if (signal?.aborted === true) throw stopped();
      // Not a race with one promise for all of them: that would hold every entry until the end.
      const next = await new Promise<IteratorResult<ExistingEntry>>((resolve, reject) => {
        fail = reject;
        entries.next().then(resolve, reject);
      });
      done = next.done === true;
      if (done) return;
      yield next.value;
    }
  } finally {
    signal?.removeEventListener("abort", stop);
    // One that hangs will never hear of it, so nobody waits for that.
    if (!done) void entries.return?.().then(undefined, () => {});
  }
}

/** A field of a record by its name, also further in ("message.role"), or whatever gives it. */
export type Field<Row> = string | ((row: Row) => unknown);

/** Where in a record to find what it is linked by. */
export type Fields<Row> = {
  /** The name of the session in the other store: records without one cannot be linked. */
  readonly session: Field<Row>;
  /** The key of the record in its store. Default: its place. */
  readonly key?: Field<Row>;
  readonly at?: Field<Row>;
  readonly role?: Field<Row>;
  readonly text?: Field<Row>;
  /** The tool, or the model, that was called: then the record is a call, and the source a trace. */
  readonly tool?: Field<Row>;
  readonly model?: Field<Row>;
  /** One word for an action that is neither a call nor a message. */
  readonly step?: Field<Row>;
  /** Why the call failed, where it did. */
  readonly error?: Field<Row>;
  /** The key of the record that it came from. */
  readonly parent?: Field<Row>;
};

export const FIELDS = [
  "session",
  "key",
  "at",
  "role",
  "text",
  "tool",
  "model",
  "step",
  "error",
  "parent",
] as const satisfies (keyof Fields<unknown>)[];

/** Whether records with these fields are what was done. */
export function isTrace({ tool, model, step, parent }: Fields<never>): boolean {
  return [tool, model, step, parent].some((field) => field !== undefined);
}

const LONGEST = 500;

export function requireFields<Row>(
  fields: Fields<Row>,
  use: string,
  known: readonly string[] = FIELDS,
): void {
  const refuse = (reason: string, hint: string): Error => new ExistingError("option", use, reason, hint);
  requireOptions(fields, refuse, '{ session: "session_id" }', known);
  if (fields.session === undefined)
    throw refuse("it does not say what its sessions are called by", 'session: "session_id"');
  for (const name of FIELDS) {
    const field = fields[name];
    if (field === undefined || (typeof field === "string" && field !== "")) continue;
    requireFunction(field, name, refuse, `${name}: "${name}", or ${name}: (record) => record.${name}`);
  }
}

/** The record of a row, or the reason why it cannot be one. */
export function recordOf<Row>(
  row: Row,
  digest: Digest,
  place: string,
  fields: Fields<Row>,
): ExistingRecord | string {
  try {
    const session = nameIn(fields.session, row);
    if (session === undefined) return `it has no session${namedBy(fields.session)}`;
    const key = fields.key === undefined ? place : nameIn(fields.key, row);
    if (key === undefined) return `it has no key${namedBy(fields.key)}`;
    const at = timeOf(valueIn(fields.at, row));
    const role = nameIn(fields.role, row);
    const text = textOf(valueIn(fields.text, row));
    const parent = nameIn(fields.parent, row);
    return {
      key,
      digest,
      session,
      ...defined({ at, role, text, does: isTrace(fields) ? doingOf(row, fields, role) : undefined }),
      ...(parent !== undefined && { parents: [parent] }),
    };
  } catch (error) {
    return `its fields cannot be read: ${reasonOf(error)}`;
  }
}

function doingOf<Row>(row: Row, fields: Fields<Row>, role: string | undefined): Doing {
  const failure = valueIn(fields.error, row);
  const isFailed = failure !== undefined && failure !== null && failure !== false && failure !== "";
  const error = isFailed ? { error: (textOf(failure) ?? "it failed").slice(0, LONGEST) } : {};
  const tool = nameIn(fields.tool, row);
  if (tool !== undefined) return { kind: "tool", name: tool, ...error };
  const model = nameIn(fields.model, row);
  if (model !== undefined) return { kind: "model", name: model, ...error };
  const step = nameIn(fields.step, row);
  if (step === undefined && role !== undefined) return { kind: "message" };
  return { kind: "step", name: step ?? "record", ...error };
}

function namedBy(field: unknown): string {
  return typeof field === "string" ? ` in "${field.slice(0, 60)}"` : "";
}

function valueIn<Row>(field: Field<Row> | undefined, row: Row): unknown {
  if (field === undefined) return undefined;
  if (typeof field === "function") return field(row);
  if (owns(row, field)) return row[field];
  let value: unknown = row;
  for (const name of field.split(".")) value = owns(value, name) ? value[name] : undefined;
  return value;
}

function owns(value: unknown, name: string): value is { readonly [name: string]: unknown } {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name);
}

/** A name: a short text or a number. */
function nameIn<Row>(field: Field<Row> | undefined, row: Row): string | undefined {
  const value = valueIn(field, row);
  const text = typeof value === "number" || typeof value === "bigint" ? String(value) : value;
  return typeof text === "string" && text !== "" && text.length <= LONGEST && text.isWellFormed()
    ? text
    : undefined;
}

/** Seconds and milliseconds of today differ by so much that neither can be taken for the other. */
const MILLISECONDS = 1e11;

/** A time in any of the usual forms; undefined when it cannot be understood. */
export function timeOf(value: unknown): string | undefined {
  const number = typeof value === "bigint" ? Number(value) : value;
  const time =
    number instanceof Date
      ? number
      : typeof number === "number"
        ? new Date(Math.abs(number) < MILLISECONDS ? number * 1_000 : number)
        : new Date(typeof number === "string" ? number.slice(0, 100) : Number.NaN);
  return Number.isNaN(time.getTime()) ? undefined : time.toISOString();
}

/** Words, also where they come in parts, as chat logs have them. */
function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value.toWellFormed();
  if (!Array.isArray(value)) return undefined;
  const parts = value.flatMap((one) => (owns(one, "text") && typeof one.text === "string" ? [one.text] : []));
  return parts.length === 0 ? undefined : parts.join("\n").toWellFormed();
}

/** The fault of an existing store: missing, unreadable, lacking columns, interrupted, or stopped. */
export type ExistingFault = "option" | "missing" | "unreadable" | "columns" | "broken" | "stopped";

/** Records of another store cannot be linked, or looked at again. Earlier links stay as they are. */
export class ExistingError extends RathError {
  readonly fault: ExistingFault;

  constructor(
    fault: ExistingFault,
    use: string,
    reason: string,
    hint: string,
    more: { readonly data?: { readonly [key: string]: Json }; readonly cause?: unknown } = {},
  ) {
    const said = reason.slice(0, 500).toWellFormed();
    super("memory-existing", `Cannot ${use}: ${said}.`, {
      hint,
      data: { fault, reason: said, ...more.data },
      ...defined({ cause: more.cause }),
    });
    this.fault = fault;
  }
}

/** The message of an error, on one line. */
export function reasonOf(error: unknown): string {
  return firstLine(thrownMessage(error)).slice(0, 300).toWellFormed();
}

export function requireSourceGiven(
  from: ExistingSource,
  refuse: (reason: string, hint: string) => Error,
  example: string,
): void {
  if (typeof from?.entries !== "function") throw refuse("`from` must be a source of records", example);
}
