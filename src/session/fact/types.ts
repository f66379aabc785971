import type { FactType } from "./table.js";

type Words<Text extends string> = Text extends `${infer Word} ${infer Rest}` ? Word | Words<Rest> : Text;

/** A set of types of facts: `factTypes("tool-call step-call")`. A misspelt type does not compile. */
export function factTypes<Text extends string>(
  ...lines: readonly (Text & (Words<Text> extends FactType ? unknown : never))[]
): ReadonlySet<string> {
  return new Set(lines.flatMap((line) => line.split(" ")));
}
