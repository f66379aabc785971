/** The name that sessions of a file are proposed under: the file's, without what a name cannot have. */
export function nameOf(file: string, ...more: readonly (string | number)[]): string {
  const base = file.replace(/\.(jsonl?|traj|eval)$/i, "");
  const name = [base, ...more.map(String)]
    .map((part) =>
      part
        .toWellFormed()
        .replace(/[\p{Cc}\p{Cs}]/gu, "")
        .slice(0, 80),
    )
    .filter((part) => part !== "")
    .join("/");
  return name === "" || /^[0-9a-f]{64}$/.test(name) ? "imported" : name;
}
