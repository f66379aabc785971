import { isObject, showValue, unknownOption } from "../util/index.js";

/** Refuses what is not an object of these options. */
export function requireOptionNames(
  options: unknown,
  known: readonly string[],
  refuse: (reason: string, hint: string) => Error,
  example: string,
): void {
  if (!isObject(options)) throw refuse(`its options are ${showValue(options)}, not an object`, example);
  const unknown = unknownOption(options, known);
  if (unknown !== undefined) throw refuse(`it has no option ${showValue(unknown.name)}`, unknown.hint);
}
