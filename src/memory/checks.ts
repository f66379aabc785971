import { showValue } from "../util/index.js";
import { anything, type Check, requireCount } from "../workflow/index.js";

/** The option must be a memory space. */
export const requireMemory: Check = (value, _, refuse) => {
  const { recall, open } = (value ?? {}) as { readonly [member: string]: unknown };
  if (typeof recall !== "function" || typeof open !== "function")
    throw refuse("it does not say which memory", 'memory: memory({ name: "notes", scope: "project:rath" })');
};

/** The option must be a number from 0 to 1, such as a score. */
export const requireShare: Check = (value, option, refuse) => {
  if (!(typeof value === "number" && value >= 0 && value <= 1))
    throw refuse(`its \`${option}\` is ${showValue(value)}`, `from 0 to 1: ${option}: 0.3`);
};

/** The option must be true or false. */
export const requireBoolean: Check = (value, option, refuse) => {
  if (typeof value !== "boolean")
    throw refuse(`its \`${option}\` is ${showValue(value)}`, `${option}: true, or ${option}: false`);
};

type Words<Text extends string> = Text extends `${infer Word} ${infer Rest}` ? Word | Words<Rest> : Text;

/** Options that are checked elsewhere: `unchecked("scope within")`. */
export function unchecked<Text extends string>(names: Text): { readonly [Name in Words<Text>]: Check } {
  return Object.fromEntries(names.split(" ").map((name) => [name, anything])) as {
    readonly [Name in Words<Text>]: Check;
  };
}

export function oneOf(texts: readonly string[]): Check {
  return (value, option, refuse) => {
    if (!texts.includes(value as string))
      throw refuse(
        `its \`${option}\` is ${showValue(value)}`,
        `one of ${JSON.stringify(texts).slice(1, -1)}`,
      );
  };
}

export function listOf(texts: readonly string[]): Check {
  return (value, option, refuse) => {
    if (!Array.isArray(value) || !value.every((one) => texts.includes(one)))
      throw refuse(`its \`${option}\` are ${showValue(value)}`, `a list of ${texts.join(", ")}`);
  };
}

/** The option must be a whole number in a range. */
export function countUpTo(most: number, least = 1): Check {
  return (value, option, refuse) => {
    requireCount(value, option, refuse, least);
    if ((value as number) > most)
      throw refuse(`its \`${option}\` is more than ${most}`, `${option}: ${most}`);
  };
}

/** Maximum number of characters of a question. */
export const QUESTION = 8_192;
/** The least room for notes in a prompt. */
const ROOM = 200;

/** The option must be a number of characters that notes have room in. */
export const requireRoom: Check = (value, option, refuse) => requireCount(value, option, refuse, ROOM);
