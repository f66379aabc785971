import { createHash } from "node:crypto";
import type { Because, FactId, Json, Principal, Session } from "../../session/index.js";
import { defined } from "../../util/index.js";
import { MemoryRefusedError } from "../error.js";
import { becauseOf } from "../grounds.js";
import type { Space } from "../space.js";
import type { Memory } from "../state.js";
import type { Group } from "./group.js";

/** Who merges, and on whose behalf. */
export type Merger = {
  readonly by: Principal;
  /** The session that had a hand in the words: what it has heard by then is where they come from too. */
  readonly from?: Session;
  /** What else shows it, such as the reply of the model that wrote the words. */
  readonly because?: readonly FactId[];
  /** The session that did it without a hand in the words. */
  readonly of?: FactId;
};

/** Facts that one merge names at most: those of its memories first, then what they rest on. */
const EVIDENCE = 400;
/** Links that are taken over from the memories of one merge. */
const LINKS = 200;

/** The name of a merge: the same memories as they are now are merged once. */
export function keyOf(space: string, group: readonly Pick<Memory, "version">[]): string {
  const versions = group.map(({ version }) => version).sort();
  return `consolidate ${space} ${createHash("sha256").update(versions.join()).digest("hex")}`;
}

/** Writes one memory in the place of several, with all that they rest on. Undefined when the merge was taken back. */
export async function merge(
  space: Space,
  group: Group,
  text: string,
  merger: Merger,
): Promise<Memory | undefined> {
  const [kept] = group;
  const { by, from, of } = merger;
  const importances = group.flatMap(({ importance }) => importance ?? []);
  const ends = group.map(({ expires }) => expires);
  const end = ends.every((one) => one !== undefined) ? (ends as string[]).toSorted().at(-1) : undefined;
  const draft = {
    text,
    because: evidenceOf(group, merger.because ?? []),
    by,
    scope: kept.scope,
    merges: group.map(({ id }) => id),
    ...defined({ subject: kept.subject }),
    ...(importances.length > 0 && { importance: Math.max(...importances) }),
    ...defined({ expires: end }),
    ...(of !== undefined && { meta: { of } as Json }),
  };
  const deed = { key: keyOf(space.name, group), ...defined({ from }) };
  const shared = group.every(({ source }) => source === kept.source) ? kept.source : "reflection";
  const written = await space.write({ ...draft, source: shared }, deed).catch((error: unknown) => {
    // What the words were learnt from is further back than what can be named here.
    if (error instanceof MemoryRefusedError && error.code === "memory-source")
      return space.write({ ...draft, source: "reflection" }, deed);
    throw error;
  });
  const merged = await space.get(written.memory);
  if (merged !== undefined) await takeOverLinks(space, merged, by);
  return merged;
}

/** Every memory that is merged, as it was written and as it is, and then what they rest on. */
function evidenceOf(group: Group, more: readonly FactId[]): Because {
  const own = group.flatMap(({ id, version }) => [id, version]);
  const all = [...new Set([...own, ...more, ...group.flatMap(({ because }) => because)])];
  return becauseOf(all.slice(0, Math.max(EVIDENCE, own.length)));
}

/** Gives a merged memory the links of those that it took the place of; those that it has already stay as they are. */
export async function takeOverLinks(space: Space, merged: Memory, by: Principal): Promise<number> {
  const parts = new Set<FactId>([merged.id, ...merged.merges]);
  const known = new Set(merged.links.map(({ to, relation }) => `${to} ${relation}`));
  for (const id of merged.contradicts) known.add(`${id} contradicts`);
  let made = 0;
  for (const id of merged.merges) {
    const part = await space.get(id);
    if (part === undefined) continue;
    const links = [...part.links, ...part.contradicts.map((to) => ({ to, relation: "contradicts" }))].filter(
      ({ to }) => !parts.has(to),
    );
    for (const { to, relation } of links) {
      const name = `${to} ${relation}`;
      if (known.has(name) || made >= LINKS || (await space.get(to)) === undefined) continue;
      known.add(name);
      made += 1;
      await space.link(
        merged.id,
        { to, relation, by, why: `as ${id.slice(0, 12)} was` },
        { key: `consolidate ${space.name} ${merged.id} ${name}` },
      );
    }
  }
  return made;
}
