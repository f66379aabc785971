import {
  type Digest,
  type Fact,
  type FactId,
  lineOf,
  readFact,
  refsOf,
  textOf,
} from "../../session/index.js";
import type { Store } from "../../store/index.js";

/** The fact of a line with the content of its blobs, or of these fields alone; what is not there is `Withheld`. */
export async function factOf(store: Store, line: string, fields?: readonly string[]): Promise<Fact> {
  const blobs = new Map<Digest, Uint8Array>();
  for (const [field, { digest }] of Object.entries(refsOf(line))) {
    if (fields !== undefined && !fields.includes(field)) continue;
    const bytes = await store.blob(digest).catch(() => undefined);
    if (bytes !== undefined) blobs.set(digest, bytes);
  }
  return readFact(line, { read: (digest) => blobs.get(digest) });
}

/** The ids in a field of a fact. Content that is withheld has none. */
export function idsIn(value: unknown): readonly FactId[] {
  return Array.isArray(value) ? value.filter(isId) : [];
}

export function isId(value: unknown): value is FactId {
  return typeof value === "string" && /^[0-9a-f]{64}$/.test(value);
}

/** The session that wrote a fact about a memory: all that it had read by then is behind the fact. */
export function writerOf(fact: Fact): FactId | undefined {
  if (fact.type === "memory-write") return fact.of;
  return (fact as { readonly from?: FactId }).from;
}

/** Some words of something, on one line, with an escape for each character that a reader would not see. */
export function brief(value: unknown, most = 120): string {
  return lineOf(textOf(value), most);
}
