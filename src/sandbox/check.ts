import type { Json } from "../session/index.js";
import { isObject, nearestOf } from "../util/index.js";

type Refuse = (setting: string, reason: string, hint: string, data?: { [name: string]: Json }) => Error;
export type Check = (setting: string, value: unknown) => unknown;

/** Checks of settings that come from callers which the compiler did not check. `refuse` makes the error. */
export function checksFor(refuse: Refuse) {
  return {
    text(setting: string, value: unknown, hint: string): string {
      if (typeof value !== "string") throw refuse(setting, `it is ${kindOf(value)}, not a text`, hint);
      if (value === "") throw refuse(setting, "it is empty", hint);
      if (value.includes("\0")) throw refuse(setting, "it holds a NUL character", hint);
      return value;
    },

    number(setting: string, value: unknown, from: number, to: number = Number.MAX_SAFE_INTEGER): number {
      if (typeof value === "number" && Number.isSafeInteger(value) && value >= from && value <= to)
        return value;
      const reason = `it is ${typeof value === "number" ? value : kindOf(value)}`;
      throw refuse(setting, reason, `give a whole number from ${from} to ${to}`);
    },

    oneOf<Choice extends string>(setting: string, value: unknown, choices: readonly Choice[]): Choice {
      const choice = choices.find((one) => one === value);
      if (choice !== undefined) return choice;
      const near = typeof value === "string" ? nearestOf(value, choices) : undefined;
      throw refuse(
        setting,
        typeof value === "string" ? `there is no ${shown(value)}` : `it is ${kindOf(value)}`,
        near === undefined
          ? `choose one of ${choices.map(shown).join(", ")}`
          : `did you mean ${shown(near)}?`,
      );
    },

    listOf(check: Check): Check {
      return (setting, value) => {
        if (!Array.isArray(value))
          throw refuse(setting, `it is ${kindOf(value)}, not a list`, `give a list: ${setting}: […]`);
        return Object.freeze(value.map((one, place) => check(`${setting}[${place}]`, one)));
      };
    },

    recordOf(setting: string, value: unknown, hint: string): { readonly [name: string]: unknown } {
      if (!isObject(value)) throw refuse(setting, `it is ${kindOf(value)}, not an object`, hint);
      return value;
    },

    /** Refuses a field that does not exist, and names the one that was probably meant. */
    requireKnown(prefix: string, given: object, known: readonly string[]): void {
      const name = Object.keys(given).find((one) => !known.includes(one));
      if (name === undefined) return;
      const near = nearestOf(name, known);
      const all = known.map((one) => prefix + one).join(", ");
      const hint = near === undefined ? `the settings are ${all}` : `did you mean ${shown(prefix + near)}?`;
      throw refuse(prefix + name, "there is no such setting", hint, { known: [...known] });
    },
  };
}

/** The kind of a value in words. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  return Array.isArray(value) ? "a list" : typeof value === "object" ? "an object" : `a ${typeof value}`;
}

export const shown = (value: unknown): string => JSON.stringify(value);
