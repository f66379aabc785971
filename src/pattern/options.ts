import { defined, isObject, showValue } from "../util/index.js";
import { anything, type Check, isModule } from "../workflow/index.js";

/** The options with a default for each that is left out. Anything but an object is returned as it is, to be refused. */
export function withDefaults<Options extends object, Defaults extends Partial<Options>>(
  options: Options,
  defaults: Defaults,
): Options & Required<Pick<Options, keyof Options & keyof Defaults>> {
  return (isObject(options) ? { ...defaults, ...defined(options) } : options) as ReturnType<
    typeof withDefaults<Options, Defaults>
  >;
}

/** The option is a module, or fits the check. A module is checked with the other parts. */
export function moduleOr(check: Check): Check {
  return (value, option, refuse) => {
    if (!isModule(value)) check(value, option, refuse);
  };
}

/** Options that are checked elsewhere: as parts, or by the agent that they are passed to. */
export function elsewhere<Names extends string>(
  ...names: readonly Names[]
): { readonly [name in Names]: Check } {
  return Object.fromEntries(names.map((name) => [name, anything])) as { [name in Names]: Check };
}

/** The option is one of these words. */
export function oneOf(...words: readonly string[]): Check {
  return (value, option, refuse) => {
    if (!words.includes(value as string))
      throw refuse(
        `its \`${option}\` is ${showValue(value)}`,
        `${option}: ${words.map((word) => JSON.stringify(word)).join(", or ")}`,
      );
  };
}
