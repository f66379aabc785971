import { describeFact, type Fact, lineOf, textOf, Withheld } from "../../session/index.js";
import { isObject } from "./words.js";

/** A fact in a few words on one line, whatever it holds. */
export function saying(fact: Fact, most = 160): string {
  return describeFact(fact, { most, each: most });
}

/** Some words of something, on one line. */
export function brief(value: unknown, most = 160): string {
  return lineOf(textOf(value), most);
}

/** What went wrong, in words. */
export function failing(error: unknown): string {
  return isObject(error) && !(error instanceof Withheld)
    ? `${brief(error.name)}: ${brief(error.message)}`
    : brief(error);
}

/** A number as people read it. */
export function rounded(number: number): string {
  return String(Number.isInteger(number) ? number : Number(number.toPrecision(3)));
}
