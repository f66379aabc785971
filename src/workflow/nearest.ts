/** The name that takes the fewest changes of letters. */
export function nearestOf(name: string, known: readonly string[]): string | undefined {
  return ranked(name, known)?.name;
}

/** What to write instead of an option that there is not: the one that is near, or all there are. */
export function optionFor(name: string, known: readonly string[]): string {
  const nearest = ranked(name.toLowerCase(), known);
  return nearest !== undefined && nearest.distance <= Math.ceil(name.length * 0.4)
    ? `did you mean "${nearest.name}"?`
    : `the options are ${known.join(", ")}`;
}

function ranked(
  name: string,
  known: readonly string[],
): { readonly name: string; readonly distance: number } | undefined {
  let nearest: { name: string; distance: number } | undefined;
  for (const one of known) {
    const distance = distanceOf(name, one);
    if (nearest === undefined || distance < nearest.distance) nearest = { name: one, distance };
  }
  return nearest;
}

function distanceOf(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, place) => place);
  for (let at = 1; at <= one.length; at++) {
    const next = [at];
    for (let to = 1; to <= other.length; to++) {
      const replaced = (row[to - 1] as number) + (one[at - 1] === other[to - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[to] as number) + 1, (next[to - 1] as number) + 1));
    }
    row = next;
  }
  return row[other.length] as number;
}
