/** Lines of a text without the empty ones around it, and without the indentation that all of them share. */
export function dedented(lines: readonly string[]): readonly string[] {
  const first = lines.findIndex((line) => line.trim() !== "");
  const last = lines.findLastIndex((line) => line.trim() !== "");
  const inner = first < 0 ? [] : lines.slice(first, last + 1);
  let depth = Number.POSITIVE_INFINITY;
  for (const line of inner) if (line.trim() !== "") depth = Math.min(depth, indentOf(line));
  return inner.map((line) => line.slice(Math.min(depth, line.length)).trimEnd());
}

export function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}
