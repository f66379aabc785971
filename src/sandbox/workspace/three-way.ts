/** What each side of a merge has of something. */
export type Three<Thing> = { readonly base: Thing; readonly ours: Thing; readonly theirs: Thing };

/** The side that is right, when the sides agree or only one of them changed anything. */
export function winner<Thing>(
  { base, ours, theirs }: Three<Thing>,
  same: (one: Thing, other: Thing) => boolean,
): "ours" | "theirs" | undefined {
  if (same(ours, theirs) || same(base, theirs)) return "ours";
  return same(base, ours) ? "theirs" : undefined;
}

/** Lists without an order: what either side added is in, what either side took away is out. */
export function mergeSets(lists: Three<readonly string[] | undefined>): readonly string[] | undefined {
  const settled = winner(lists, (one, other) => JSON.stringify(one) === JSON.stringify(other));
  if (settled !== undefined) return lists[settled];
  const [base, ours, theirs] = [new Set(lists.base), new Set(lists.ours), new Set(lists.theirs)];
  const kept = [...new Set([...ours, ...theirs])].filter(
    (one) => !base.has(one) || (ours.has(one) && theirs.has(one)),
  );
  return kept.length > 0 ? kept.sort() : undefined;
}
