import type { FactId } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { optionNames } from "../../util/index.js";
import { requireOptions } from "../../workflow/index.js";
import { type LinkRow, linkFactOf, type Origin, storeNameOf } from "./links.js";
import { ExistingError } from "./source.js";

/** A record of a trace with the fact that links it. */
export type TracedRecord = Origin & Omit<LinkRow, "was" | "gone"> & { readonly fact: FactId };

/** The records that one came from, and those that came from it. */
export type Lineage = {
  readonly record: TracedRecord;
  readonly before: readonly TracedRecord[];
  readonly after: readonly TracedRecord[];
};

export type LineageQuestion = { readonly name: string; readonly record: string; readonly source?: string };

const QUESTION = optionNames<LineageQuestion>()("name record source");
const EXAMPLE = 'lineageOf(store, { name: "repository", record: "0f3c…" })';

/** The causes and the effects of a linked record: the way to it and the ways from it, oldest first. */
export async function lineageOf(store: Store, question: LineageQuestion): Promise<Lineage> {
  const use = "follow a linked record";
  const refuse = (reason: string, hint: string): Error => new ExistingError("option", use, reason, hint);
  requireOptions(question, refuse, EXAMPLE, QUESTION);
  const { name, record: key, source } = question;
  const at = storeNameOf(name, use);
  if ((await store.head(at)) === undefined)
    throw new ExistingError("missing", use, `nothing is linked as ${JSON.stringify(name)}`, "index it first");
  let record: TracedRecord | undefined;
  const reached = new Set<FactId>();
  const after: TracedRecord[] = [];
  for await (const { id, parents, fact } of store.history(at)) {
    if (parents.some((parent) => reached.has(parent))) reached.add(id);
    const traced = tracedIn(id, fact);
    if (traced === undefined || (source !== undefined && traced.source !== source)) continue;
    if (record === undefined && traced.key === key) {
      record = traced;
      reached.add(id);
    } else if (reached.has(id)) after.push(traced);
  }
  if (record === undefined)
    throw new ExistingError(
      "missing",
      use,
      `no record ${JSON.stringify(key)} is linked as ${JSON.stringify(name)}`,
      "name it by its key: linksOf(store, { session }) has those of a session",
    );
  const before: TracedRecord[] = [];
  for await (const { id, fact } of store.history(record.fact)) {
    const traced = tracedIn(id, fact);
    if (traced !== undefined && id !== record.fact) before.push(traced);
  }
  return { record, before, after };
}

/** The record that a fact links where it stands. Later words about it stand elsewhere. */
function tracedIn(id: FactId, fact: Parameters<typeof linkFactOf>[1]): TracedRecord | undefined {
  const found = linkFactOf(id, fact);
  if (found === undefined || !("links" in found)) return undefined;
  const [row, ...others] = found.links;
  if (row === undefined || others.length > 0 || row.was !== undefined || row.gone === true) return undefined;
  return { ...found.origin, ...row, fact: id };
}
