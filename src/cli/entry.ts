import { isPrincipal, type Principal } from "../session/index.js";
import { UsageError } from "./error.js";
import type { Shell } from "./shell.js";

/** A command as help, completion and the command line know it; its code is loaded when it is called. */
export type Entry = {
  readonly name: string;
  readonly summary: string;
  readonly arguments?: readonly Argument[];
  readonly options?: readonly Option[];
  /** Command lines that work, each with a word on what it does: "rath fork demo-1 --at 7  # …". */
  readonly examples: readonly string[];
  /** Creates a store if it is missing. Other commands find it empty then, and leave nothing behind. */
  readonly creates?: boolean;
  /** Is not listed: a part of another command that needs a process of its own. */
  readonly hidden?: boolean;
  /** A command answers with its exit code where that may be another than 0. */
  load(): Promise<{ run(shell: Shell, input: Input): Promise<number> | Promise<void> }>;
};

export type Argument = {
  /** In capitals, as help shows it: SESSION, FILE. */
  readonly name: string;
  readonly text: string;
  readonly optional?: boolean;
  readonly many?: boolean;
};

export type Option = {
  /** As commander takes them: "-o, --output <file>", "--yes". */
  readonly flags: string;
  readonly text: string;
  readonly choices?: readonly string[];
  /** May be given several times. */
  readonly many?: boolean;
};

/** Commands by group and name, as they are written down: arguments and options by their spelling, with their text. */
export type Commands = {
  readonly [group: string]: {
    readonly [name: string]: Omit<Entry, "name" | "arguments" | "options"> & {
      /** "FILE", "[SESSION]", "[SESSION...]". */
      readonly arguments?: { readonly [label: string]: string };
      readonly options?: { readonly [flags: string]: string | Omit<Option, "flags"> };
    };
  };
};

/** The arguments and options that several commands have. */
export const SESSION = "a name, an id or its beginning, NAME~3 (three facts back), NAME@branch";
export const BY = {
  "--by <who>": "the person who acts, such as user:ada; default: the user of this machine",
};
export const WHY = { "--why <text>": "the reason, kept in the record" };

export function entry(
  name: string,
  { arguments: labels = {}, options = {}, ...rest }: Commands[string][string],
): Entry {
  return {
    ...rest,
    name,
    arguments: Object.entries(labels).map(([label, text]) => ({
      name: label.replaceAll(/[[\].]/g, ""),
      text,
      optional: label.startsWith("["),
      many: label.includes("..."),
    })),
    options: Object.entries(options).map(([flags, one]) => ({
      flags,
      ...(typeof one === "string" ? { text: one } : one),
    })),
  };
}

/** The words after the name of a command. Keys of options are as commander spells them: "--html-only" is htmlOnly. */
export type Input = {
  readonly args: readonly string[];
  readonly options: { readonly [name: string]: string | boolean | readonly string[] | undefined };
};

/** The text of an option, where it was given one. */
export function textOption({ options }: Input, name: string): string | undefined {
  const value = options[name];
  return typeof value === "string" ? value : undefined;
}

/** All texts of an option that may be given several times. */
export function textsOption({ options }: Input, name: string): readonly string[] {
  const value = options[name];
  return typeof value === "string" ? [value] : Array.isArray(value) ? (value as readonly string[]) : [];
}

/** A whole number that an option gives, where it is given. */
export function countOption(input: Input, name: string, least = 1): number | undefined {
  const text = textOption(input, name);
  if (text === undefined) return undefined;
  if (/^\d{1,9}$/.test(text) && Number(text) >= least) return Number(text);
  throw new UsageError(
    `--${name} must be a whole number, at least ${least}; got ${JSON.stringify(text.slice(0, 40))}.`,
    `for example: --${name} ${Math.max(least, 50)}`,
  );
}

/** The principal that `--by` names, or the user of this machine. */
export function byOption(shell: Shell, input: Input): Principal {
  const by = textOption(input, "by");
  if (by === undefined) return shell.person;
  if (isPrincipal(by)) return by;
  throw new UsageError(
    `--by must name a principal; got ${JSON.stringify(by.slice(0, 60))}.`,
    "give a kind and a name: --by user:ada",
  );
}
