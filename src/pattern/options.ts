import { defined, isObject } from "../util/index.js";
import { type Check, isModule } from "../workflow/index.js";

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
