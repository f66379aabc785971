import type { Shell } from "./shell.js";

/** A command as help, completion and the command line know it; what it does is loaded when it is called. */
export type Entry = {
  readonly name: string;
  readonly summary: string;
  readonly arguments?: readonly Argument[];
  readonly options?: readonly Option[];
  /** Command lines that work, each with a word on what it does: "rath fork demo-1 --at 7  # …". */
  readonly examples: readonly string[];
  /** Makes a store where there is none. Other commands find nothing there, and leave nothing behind. */
  readonly creates?: boolean;
  /** Is not listed: a part of another command that needs a process of its own. */
  readonly hidden?: boolean;
  load(): Promise<{ run(shell: Shell, input: Input): Promise<number> }>;
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

/** What was typed after the name of a command. Keys of options are as commander spells them: "--html-only" is htmlOnly. */
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
