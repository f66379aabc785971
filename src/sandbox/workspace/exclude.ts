/**
 * Which paths are left out of a tree. A pattern without a slash is a name at any depth (`node_modules`, `*.log`); one
 * with a slash is a path from the root of the workspace (`build/out`, `/dist`, `docs/*.pdf`). `*` and `?` stay within
 * a name, `**` is any number of directories. A slash at the end means directories only. What is left out is left out
 * with all that is in it.
 */
export class Exclude {
  readonly patterns: readonly string[];
  readonly #rules: readonly Rule[];

  constructor(patterns: readonly string[]) {
    this.patterns = patterns;
    this.#rules = patterns.map(ruleOf);
  }

  /** Whether an entry is left out. `way` are the names of the directories it is in. */
  has(way: readonly string[], name: string, isDirectory: boolean): boolean {
    return this.#rules.some(
      (rule) =>
        (isDirectory || !rule.directories) &&
        (rule.anywhere ? fits(rule.parts[0] ?? "", name) : leads(rule.parts, [...way, name])),
    );
  }
}

type Rule = { readonly parts: readonly string[]; readonly anywhere: boolean; readonly directories: boolean };

function ruleOf(pattern: string): Rule {
  const directories = pattern.endsWith("/");
  const parts = pattern.split("/").filter((part) => part !== "");
  return { parts, directories, anywhere: parts.length === 1 && !pattern.startsWith("/") };
}

/** Whether names fit a pattern of names. */
function leads(parts: readonly string[], names: readonly string[]): boolean {
  return matches(parts, names, "**", fits);
}

/** Whether a name fits a pattern. */
function fits(pattern: string, name: string): boolean {
  return matches([...pattern], [...name], "*", (one, other) => one === "?" || one === other);
}

/**
 * Whether a row fits a pattern in which `any` stands for any number of members. The last `any` takes one more each time
 * the rest does not fit, which is enough, so that no name made for the purpose takes long.
 */
function matches<Member>(
  pattern: readonly Member[],
  row: readonly Member[],
  any: Member,
  same: (one: Member, other: Member) => boolean,
): boolean {
  let [at, taken] = [0, 0];
  let back: { readonly at: number; taken: number } | undefined;
  while (taken < row.length) {
    const [part, member] = [pattern[at], row[taken] as Member];
    if (part === any) {
      at += 1;
      back = { at, taken };
    } else if (part !== undefined && same(part, member)) {
      at += 1;
      taken += 1;
    } else if (back !== undefined) {
      back.taken += 1;
      [at, taken] = [back.at, back.taken];
    } else return false;
  }
  while (pattern[at] === any) at += 1;
  return at === pattern.length;
}
