import { isTrusted } from "../runtime/policy/index.js";
import type { Fact, FactId, FactOf, Json, Principal } from "../session/index.js";
import { factTypes } from "../session/index.js";
import { defined } from "../util/index.js";
import { type Scope, scopeIn } from "./scope.js";
import type { Source } from "./source.js";

/** A fact of a space, and how far from its beginning it stands: a fact stands further than all that it came from. */
export type SpaceFact = { readonly id: FactId; readonly depth: number; readonly fact: Fact };

/** Live memories are recalled. Held ones wait for a validation or an approval. The others are kept, and never recalled. */
export type Status = "live" | "held" | "revoked" | "expired" | "merged";

/** A memory as of one id of its space. Its id is that of the fact that wrote it. */
export type Memory = {
  readonly id: FactId;
  readonly space: string;
  /** The text of its last revision; `version` is the fact of that revision. */
  readonly text: string;
  readonly version: FactId;
  readonly scope: Scope;
  readonly source: Source;
  readonly because: readonly FactId[];
  readonly by: Principal;
  readonly at: string;
  readonly revised?: string;
  readonly status: Status;
  readonly subject?: string;
  /** Where its evidence comes from; trusted if all of it was said by the user, the program or trusted tools. */
  readonly origins: readonly string[];
  readonly trust: "trusted" | "untrusted";
  readonly importance?: number;
  readonly expires?: string;
  readonly needs?: string;
  /** The newest version that waits for somebody's word; the others are told meanwhile. */
  readonly waiting?: FactId;
  /** Both sides of a contradiction stay, and each says so. */
  readonly contradicts: readonly FactId[];
  readonly merges: readonly FactId[];
  readonly mergedInto?: FactId;
  readonly links: readonly { readonly to: FactId; readonly relation: string }[];
  readonly meta?: Json;
  /** Why it is no longer live. */
  readonly why?: string;
};

/** Facts about memories, by which they are folded. */
export const MEMORY_FACTS: ReadonlySet<string> = factTypes(
  "memory-write memory-revise memory-revoke memory-promote memory-expire memory-link",
);

/** Sorts facts: ancestors first; of two unrelated facts, the same one first everywhere. */
export function inOrder(one: Omit<SpaceFact, "fact">, other: Omit<SpaceFact, "fact">): number {
  return one.depth - other.depth || (one.id < other.id ? -1 : one.id > other.id ? 1 : 0);
}

/** The facts that were undone. A rollback that was itself undone undoes nothing. */
export function undoneBy(rollbacks: readonly SpaceFact[]): ReadonlySet<FactId> {
  const undone = new Set<FactId>();
  for (const { id, fact } of [...rollbacks].sort(inOrder).reverse())
    if (fact.type === "memory-rollback" && !undone.has(id) && Array.isArray(fact.undoes))
      for (const one of fact.undoes) undone.add(one);
  return undone;
}

/** Of a version: whether it may be told. One that needs somebody's word is told when it was promoted. */
type Version = SpaceFact & { readonly fact: FactOf<"memory-write"> | FactOf<"memory-revise"> };

/** One memory from its facts that were not undone; undefined if none. `settled` follows replacements. */
export function foldMemory(id: FactId, facts: readonly SpaceFact[]): Memory | undefined {
  const sorted = [...facts].sort(inOrder);
  const written = sorted.find((one) => one.id === id);
  if (written?.fact.type !== "memory-write") return undefined;
  const write = written.fact;
  const promoted = new Set<FactId>();
  const refused = new Set<FactId>();
  let scope = scopeIn(write.scope);
  let over: { readonly status: Status; readonly why: string } | undefined;
  const contradicts = new Set<FactId>(write.contradicts ?? []);
  let mergedInto: FactId | undefined;
  const links: { to: FactId; relation: string }[] = [];
  const versions: Version[] = [];
  for (const one of sorted) {
    const { fact } = one;
    switch (fact.type) {
      case "memory-write":
        if (one === written) versions.push(one as Version);
        else if (fact.contradicts?.includes(id)) contradicts.add(one.id);
        if (one !== written && fact.merges?.includes(id)) mergedInto = one.id;
        break;
      case "memory-revise":
        versions.push(one as Version);
        break;
      case "memory-promote":
        // To be told, or to be told in a wider circle.
        if (fact.to === undefined) promoted.add(fact.version ?? id);
        else scope = scopeIn(fact.to);
        break;
      case "memory-revoke":
        if (fact.version !== undefined && fact.version !== id) refused.add(fact.version);
        else over = { status: "revoked", why: textOf(fact.why) };
        break;
      case "memory-expire":
        if (over?.status !== "revoked") over = { status: "expired", why: textOf(fact.why) };
        break;
      case "memory-link": {
        const to = fact.of === id ? fact.to : fact.of;
        if (fact.relation === "contradicts") contradicts.add(to);
        links.push({ to, relation: fact.relation });
        break;
      }
    }
  }
  const standing = versions.filter((one) => !refused.has(one.id));
  const admitted = standing.filter((one) => one.fact.needs === undefined || promoted.has(one.id));
  const waiting = over === undefined ? standing.findLast((one) => !admitted.includes(one)) : undefined;
  // One that nobody has agreed to yet is as it was first written.
  const current = (admitted.at(-1) ?? versions[0]) as Version;
  const { fact } = current;
  const status = over?.status ?? (admitted.length === 0 ? "held" : "live");
  const origins = fact.origins ?? write.origins ?? [];
  const because = [...new Set([...write.because, ...versions.flatMap((one) => one.fact.because)])];
  // A field that a revision does not have keeps its value.
  const told = admitted.length === 0 ? versions.slice(0, 1) : admitted;
  return {
    id,
    space: write.space,
    text: textOf(fact.text),
    version: current.id,
    scope,
    source: (lastOf(told, "source") ?? write.source) as Source,
    because,
    by: fact.by,
    at: write.at,
    ...(current.id !== id && { revised: fact.at }),
    status,
    ...(typeof write.subject === "string" && { subject: write.subject }),
    origins,
    trust: trustOf(origins),
    ...defined({ importance: lastOf(told, "importance"), expires: lastOf(told, "expires") }),
    ...(waiting?.fact.needs !== undefined && { needs: waiting.fact.needs, waiting: waiting.id }),
    contradicts: [...contradicts],
    merges: write.merges ?? [],
    ...defined({ mergedInto }),
    links,
    ...defined({ meta: lastOf(told, "meta"), why: over?.why }),
  };
}

function lastOf<Field extends "importance" | "expires" | "meta" | "source">(
  versions: readonly Version[],
  field: Field,
): Version["fact"][Field] | undefined {
  return versions.findLast(({ fact }) => fact[field] !== undefined)?.fact[field];
}

/** A memory as it stands beside the one that took its place: only while that one is live is it not told itself. */
export function settled(memory: Memory, into: Memory | undefined): Memory {
  return memory.status === "live" && memory.mergedInto !== undefined && into?.status === "live"
    ? { ...memory, status: "merged", why: `it was merged into ${memory.mergedInto.slice(0, 12)}` }
    : memory;
}

/** A text is trusted if it has origins, and each of them is trusted. */
export function trustOf(origins: readonly string[]): Memory["trust"] {
  return origins.length > 0 && origins.every(isTrusted) ? "trusted" : "untrusted";
}

/** The text of a memory; empty when its content was erased. */
function textOf(content: unknown): string {
  return typeof content === "string" ? content : "";
}

/** The memories that a fact is about, and so those that are to be folded again when it comes or is undone. */
export function memoriesOf(id: FactId, fact: Fact): readonly FactId[] {
  switch (fact.type) {
    case "memory-write":
      return [id, ...(fact.contradicts ?? []), ...(fact.merges ?? [])];
    case "memory-revise":
    case "memory-revoke":
    case "memory-promote":
    case "memory-expire":
      return [fact.of];
    case "memory-link":
      return [fact.of, fact.to];
    default:
      return [];
  }
}
