import { createHash } from "node:crypto";
import { type FactId, type FactOf, type Principal, readFact } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { defined } from "../../util/index.js";

/** A session that waits for a worker, or that a worker has: what was asked for, as its fact has it. */
export type Submission = {
  readonly id: FactId;
  /** The name of its session and run. */
  readonly name: string;
  readonly module: string;
  /** The digest of the module: only a worker that has this very program takes it. */
  readonly version: string;
  readonly queue: string;
  readonly priority: number;
  readonly notBefore?: string;
  /** The validation that must have passed before it begins. */
  readonly gate?: string;
  readonly needs: Needs;
  /** On whose behalf it runs. Queues are fair between them. */
  readonly tenant: Principal;
  readonly by?: Principal;
  readonly at: string;
};

/** The properties that a worker must have. */
export type Needs = {
  /** Kinds of sandboxes. */
  readonly sandboxes?: readonly string[];
  readonly labels?: readonly string[];
  /** Mebibytes, of those that the worker offers, while it runs. */
  readonly memory?: number;
};

const KIND = "run-submit";

/** The fact of a submission. It is the runtime's: a fact of a person has its fields in blobs, which a queue cannot read. */
export function submissionFact({ by, ...submission }: Omit<Submission, "id" | "at">) {
  return { type: "note", kind: KIND, ...submission, ...defined({ submitter: by }), by: "runtime" } as const;
}

/** The submission that a session ends with; undefined where its newest fact is something else. */
export async function submissionAt(store: Store, id: FactId): Promise<Submission | undefined> {
  const line = await store.line(id);
  const fact =
    line === undefined
      ? undefined
      : (readFact(line, undefined) as FactOf<"note"> & Submission & { readonly submitter?: Principal });
  if (fact?.type !== "note" || fact.kind !== KIND) return undefined;
  const { name, module, version, queue, priority, notBefore, gate, needs, tenant, submitter, at } = fact;
  return {
    id,
    name,
    module,
    version,
    queue,
    priority,
    needs,
    tenant,
    at,
    ...(notBefore !== undefined && { notBefore }),
    ...(gate !== undefined && { gate }),
    ...(submitter !== undefined && { by: submitter }),
  };
}

/**
 * The index of submitted sessions: names that lead to the fact of a submission. Every session that is not over has an entry in
 * one of its parts, and each move from one part to another is one commit. It can be made anew from the record.
 */
export const QUEUE = ".queue/";
export const DUE = `${QUEUE}due/`;
export const LATER = `${QUEUE}later/`;
export const AT = `${QUEUE}at/`;
export const WAIT = `${QUEUE}wait/`;
export const STUCK = `${QUEUE}stuck/`;
export const PAUSED = `${QUEUE}paused/`;
export const CANCEL = `${QUEUE}cancel/`;
/** Leads to the worker that is to go on with a session, and the sessions that are due at one worker. */
export const MOVE = `${QUEUE}move/`;
export const FOR = `${QUEUE}for/`;
/** The sessions behind a gate, and the gates that were opened. */
export const HELD = `${QUEUE}held/`;
const GATE = `${QUEUE}gate/`;

/** The mark of an entry: the beginning of the id of the submission. */
export function entryKey({ id }: Pick<Submission, "id">): string {
  return id.slice(0, 24);
}

/**
 * An entry that any worker with this program and these properties may take: by class (what a worker must have), then by whose it
 * is, then by priority, the oldest first.
 */
export function dueEntry(submission: Submission): string {
  const { priority, tenant, at, notBefore } = submission;
  const since = timePart(Math.max(Date.parse(at), notBefore === undefined ? 0 : Date.parse(notBefore)));
  const rank = String(MOST_PRIORITY - priority).padStart(4, "0");
  return `${DUE}${classOf(submission)}/${short(tenant, 8)}/${rank}${since}/${entryKey(submission)}`;
}

/** A number of the properties that a worker must have. */
export function classOf({ module, version, queue, needs }: Submission): string {
  const { sandboxes = [], labels = [], memory = 0 } = needs;
  return short(
    JSON.stringify([module, version, queue, [...sandboxes].sort(), [...labels].sort(), memory]),
    16,
  );
}

/** An entry that becomes due at a time. */
export function laterEntry(at: number, submission: Pick<Submission, "id">): string {
  return `${LATER}${timePart(at)}/${entryKey(submission)}`;
}

/** The name of a gate: it leads to the fact that opened it. */
export function gateName(gate: string): string {
  return GATE + short(gate, 16);
}

/** The beginning of the entries behind a gate. */
export function heldUnder(gate: string): string {
  return `${HELD}${short(gate, 16)}/`;
}

/** An entry that waits for its gate. */
export function heldEntry({ id, gate = "" }: Pick<Submission, "id" | "gate">): string {
  return heldUnder(gate) + entryKey({ id });
}

/** Where a session waits that no gate holds. */
export function freeEntry(submission: Submission, now: number): string {
  const { notBefore } = submission;
  const earliest = notBefore === undefined ? 0 : Date.parse(notBefore);
  return earliest > now ? laterEntry(earliest, submission) : dueEntry(submission);
}

/** The time of such an entry. */
export function timeOfEntry(entry: string): number {
  return Number(entry.slice(LATER.length, LATER.length + TIME_DIGITS));
}

/** Priorities go from minus this to this. */
export const MOST_PRIORITY = 999;
const TIME_DIGITS = 15;

function timePart(time: number): string {
  return String(Math.max(0, Math.ceil(time))).padStart(TIME_DIGITS, "0");
}

function short(text: string, digits: number): string {
  return createHash("sha256").update(text).digest("hex").slice(0, digits);
}
