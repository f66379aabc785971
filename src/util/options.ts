import { nearestOf } from "./nearest.js";

type Words<Text extends string> = Text extends `${infer Word} ${infer Rest}` ? Word | Words<Rest> : Text;

type Complete<Options, Names extends string> = [keyof Options] extends [Words<Names>]
  ? [Words<Names>] extends [keyof Options]
    ? unknown
    : { readonly "this is not an option": Exclude<Words<Names>, keyof Options> }
  : { readonly "this option is missing": Exclude<keyof Options, Words<Names>> };

/**
 * The names of all options of a type, for checks at run time: `optionNames<AgentOptions>()("name model", "tools stop")`.
 * Compiles only when every option is named, so a new option cannot be forgotten here.
 */
export function optionNames<Options>() {
  return <Names extends string>(...lines: readonly (Names & Complete<Options, Names>)[]): readonly string[] =>
    lines.flatMap((line) => line.split(" "));
}

/**
 * The first option that is not a known one, with a hint that names the nearest known option or all of them. A misspelt
 * option would otherwise be ignored in silence.
 */
export function unknownOption(
  options: object,
  known: readonly string[],
): { readonly name: string; readonly hint: string } | undefined {
  const name = Object.keys(options).find((option) => !known.includes(option));
  if (name === undefined) return undefined;
  const nearest = nearestOf(name, known);
  const hint = nearest === undefined ? `the options are ${known.join(", ")}` : `did you mean "${nearest}"?`;
  return { name, hint };
}
