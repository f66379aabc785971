import { nameOf, unfinishedRuns } from "../../runtime/index.js";
import { type Digest, digestsOf, type FactId, parentsOf } from "../../session/index.js";
import { isKeptByRuntime, type Store, treesIn } from "../../store/index.js";
import type { FileSearch } from "./search.js";

/** The sessions that lose some content when it is erased. */
export type Held = {
  /** Every session that has it, by name. */
  readonly sessions: readonly string[];
  /** When it was recorded last; undefined where no name leads to it. */
  readonly newest: string | undefined;
};

/** Runs that build on it. */
export type Touched = {
  /** Those that have not ended, by name: they may not go on without it. */
  readonly open: readonly string[];
  /** How many have ended: they may not be replayed without it. */
  readonly ended: number;
};

/** The content of a fact and of its past. Most facts hold nothing, and share what the one before them has. */
type Load = { readonly digests: readonly Digest[]; readonly before: readonly Load[] };

/** The holders of these blobs in the whole store: equal bytes are one blob, and forks share facts. */
export async function holdersOf(store: Store, wanted: ReadonlySet<Digest>, files: FileSearch) {
  const names = await store.names();
  const loads = new Map<FactId, Load>();
  const newest = new Map<Digest, string>();
  const touched = new Set<string>();
  for await (const lines of store.lines([...new Set(names.map(({ id }) => id))]))
    for (const { id, line } of lines) {
      const digests = digestsOf(line).filter((digest) => wanted.has(digest));
      for (const tree of treesIn(line))
        for (const { digest } of await files.below(tree)) if (wanted.has(digest)) digests.push(digest);
      const before = [...new Set(parentsOf(line).flatMap((parent) => loads.get(parent) ?? []))];
      const [only] = before;
      const load = digests.length === 0 && before.length < 2 ? only : { digests, before };
      if (load === undefined) continue;
      loads.set(id, load);
      const [, at = "", run] = STAMPS.exec(line) ?? [];
      if (run !== undefined) touched.add(run);
      for (const digest of digests) newest.set(digest, later(newest.get(digest), at));
    }
  const sessions = new Map<Digest, string[]>();
  // A name that people gave says more than one that a run keeps for itself.
  const sorted = [false, true].flatMap((kept) => names.filter(({ name }) => isKeptByRuntime(name) === kept));
  for (const { name, id } of sorted)
    for (const digest of inside(loads.get(id))) {
      const known = sessions.get(digest) ?? [];
      sessions.set(digest, known);
      if (known.length === 0 || !isKeptByRuntime(name)) known.push(name);
    }
  const held = new Map<Digest, Held>();
  for (const digest of wanted)
    held.set(digest, { sessions: sessions.get(digest) ?? [], newest: newest.get(digest) });
  const open: string[] = [];
  for await (const { fact } of unfinishedRuns(store))
    if (touched.has(fact.nonce)) open.push(nameOf({ nonce: fact.nonce, fact }));
  return { held, runs: { open, ended: touched.size - open.length } };
}

const STAMPS = /"fact":\{"type":"[^"\\]*","at":"([^"\\]*)"(?:,"run":"([^"\\]*)")?/;

/** The later of two times. One that cannot be read is taken for the latest: nothing may go too early because of it. */
export function later(one: string | undefined, other: string): string {
  if (one === undefined || Number.isNaN(Date.parse(other))) return other;
  return Date.parse(other) <= Date.parse(one) || Number.isNaN(Date.parse(one)) ? one : other;
}

function inside(load: Load | undefined): ReadonlySet<Digest> {
  const met = new Set(load === undefined ? [] : [load]);
  const found = new Set<Digest>();
  for (const { digests, before } of met) {
    for (const digest of digests) found.add(digest);
    for (const one of before) met.add(one);
  }
  return found;
}
