/** The name that was most likely meant, if any is near. */
export function nearestOf(name: string, known: readonly string[]): string | undefined {
  const wanted = plainly(name.slice(0, LONGEST));
  let best: string | undefined;
  let least = Math.max(1, Math.round(wanted.length * NEAR)) + 1;
  for (const candidate of known) {
    const steps = distance(wanted, plainly(candidate.slice(0, LONGEST)));
    if (steps < least) [best, least] = [candidate, steps];
  }
  return best;
}

/** Of its letters, so many may be others. */
const NEAR = 0.4;
/** No tool has a longer name, and no option. */
const LONGEST = 64;

/** `readFile`, `read-file` and `functions.read_file` mean one thing. */
function plainly(name: string): string {
  return name
    .replace(/^.*[.:/]/s, "")
    .replaceAll(/[^A-Za-z0-9]/g, "")
    .toLowerCase();
}

/** How many letters must be added, left out or changed. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, place) => place);
  for (let i = 0; i < one.length; i++) {
    const next = [i + 1];
    for (let j = 0; j < other.length; j++) {
      const change = (row[j] as number) + (one[i] === other[j] ? 0 : 1);
      next.push(Math.min(change, (row[j + 1] as number) + 1, (next[j] as number) + 1));
    }
    row = next;
  }
  return row[other.length] as number;
}
