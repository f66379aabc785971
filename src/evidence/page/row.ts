import {
  type BlobSource,
  describeFact,
  digestOf,
  type Fact,
  type FactFamily,
  type FactId,
  factTypes,
  familyOf,
  isQuiet,
  lineOf,
  parentsOf,
  readFact,
  refsOf,
  textOf,
  toneOf,
} from "../../session/index.js";
import type { Erasure, Recorded, Store } from "../../store/index.js";
import { defined, isObject } from "../../util/index.js";

/** A fact as a list or a graph shows it. */
export type FactRow = {
  readonly id: FactId;
  /** Its place in the order of recording, where a list has one. */
  readonly index?: number;
  readonly type: string;
  /** The family of its type. */
  readonly kind: FactFamily | "other";
  readonly tone: "good" | "bad" | "warn" | "quiet" | "what-if" | "plain";
  /** The event in words: the rest of a sentence that begins with `by`. */
  readonly label: string;
  /** The words that somebody said, or the outcome of the row. */
  readonly text?: string;
  /** Milliseconds since 1970; null where the record says no time. */
  readonly at: number | null;
  readonly by: string;
  readonly branch?: string;
  /** The module that it happened in. */
  readonly module?: string;
  /** The request that it is about. */
  readonly call?: FactId;
  readonly flags: readonly Flag[];
};

export type Flag = "waiting" | "failed" | "in-doubt" | "taken" | "erased";

const WAITS: ReadonlySet<string> = factTypes("approval-ask signal-await run-suspend");
const FAILS = /-failure$|^effect-fail$/;
const LABEL = 120;
const TEXT = 240;

/** A fact as a row, with what its reader knows besides. */
export function factRow({ id, fact }: Pick<Recorded, "id" | "fact">, known: Partial<FactRow> = {}): FactRow {
  const { type, at, by } = fact;
  const { of, content, text, from } = fact as { readonly [field: string]: unknown };
  const time = Date.parse(at);
  const said = content ?? (type === "session-start" ? text : undefined);
  return {
    id,
    type,
    kind: familyOf(fact) ?? "other",
    tone: tone(fact),
    label: describeFact(fact, { most: LABEL, each: LABEL }),
    ...(said !== undefined && { text: lineOf(textOf(said), TEXT) }),
    at: Number.isNaN(time) || time === 0 ? null : time,
    by,
    ...(typeof of === "string" && { call: of }),
    flags: flagsOf(fact, typeof from === "string" && type !== "session-detach"),
    ...defined(known),
  };
}

function tone(fact: Fact): FactRow["tone"] {
  const own = toneOf(fact);
  if (own !== "plain") return own;
  return WAITS.has(fact.type) ? "warn" : isQuiet(fact) ? "quiet" : "plain";
}

function flagsOf(fact: Fact, isTaken: boolean): readonly Flag[] {
  const { type } = fact;
  const values = Object.values(fact).flatMap((value) =>
    Array.isArray(value) ? value.slice(0, 20) : [value],
  );
  return [
    ...(WAITS.has(type) ? (["waiting"] as const) : []),
    ...(type === "effect-doubt" ? (["in-doubt"] as const) : []),
    ...(FAILS.test(type) || (type !== "effect-doubt" && toneOf(fact) === "bad") ? (["failed"] as const) : []),
    ...(isTaken && /-(?:result|reply|failure)$/.test(type) ? (["taken"] as const) : []),
    ...(values.some((value) => isObject(value) && value.reason === "erased") ? (["erased"] as const) : []),
  ];
}

/** Erasures as one text. Their number says less: content may come back, and other content go. */
export function erasuresKey(erasures: readonly Erasure[]): string {
  const digests = erasures.map(({ digest }) => digest).sort();
  return digests.length === 0 ? "" : digestOf(digests.join());
}

/** Content of more bytes is not brought in for a row: its description says how much it is. */
const LARGE = 65_536;

/** Reads facts by their ids, with their content as far as it is not large. */
export class RowReader {
  readonly store: Store;
  readonly #most: number;
  #erasures: Promise<ReadonlySet<string> | undefined> | undefined;

  constructor(store: Store, most: number = LARGE) {
    this.store = store;
    this.#most = most;
  }

  async fact(id: FactId): Promise<Recorded | undefined> {
    const line = await this.store.line(id);
    if (line === undefined) return undefined;
    const blobs = new Map<string, Uint8Array | "erased">();
    for (const { digest, size } of Object.values(refsOf(line))) {
      const bytes = size > this.#most ? undefined : await this.store.blob(digest).catch(() => undefined);
      if (bytes !== undefined) blobs.set(digest, bytes);
      else if (await this.#isErased(digest)) blobs.set(digest, "erased");
    }
    const source: BlobSource = { read: (digest) => blobs.get(digest) };
    return { id, parents: parentsOf(line), line, fact: readFact(line, source) };
  }

  /** Content that is missing and was not erased when this was last read may have been erased since. */
  async #isErased(digest: string): Promise<boolean> {
    if ((await this.#erasures)?.has(digest)) return true;
    const erasures = this.store.erasures().then((all) => new Set(all.map((one) => one.digest)));
    this.#erasures = erasures.catch(() => undefined);
    return (await erasures).has(digest);
  }
}
