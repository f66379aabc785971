import { fitsWildcards } from "../../util/index.js";

/**
 * The paths left out of a tree. Without a slash, a pattern is a name at any depth (`node_modules`, `*.log`);
 * with one, a path from the root (`build/out`, `/dist`). `*` and `?` stay within a name, `**` spans
 * directories, and a slash at the end means directories only. An excluded directory is left out whole.
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
  return fitsWildcards(parts, names, (part) => part === "**", fits);
}

function fits(pattern: string, name: string): boolean {
  return fitsWildcards(
    [...pattern],
    [...name],
    (part) => part === "*",
    (part, character) => part === "?" || part === character,
  );
}
