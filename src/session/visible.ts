import { Withheld } from "./blob.js";
import type { Json } from "./json.js";

/**
 * Characters that change how a text looks without being seen: controls, marks that turn the direction of writing, and those
 * of no width. Line feeds and tabs are seen.
 */
const UNSEEN =
  /(?![\t\n])[\p{Cc}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\u2028\u2029\ufff9-\ufffb]/gu;

/** The text with an escape such as `\u202e` in place of each character that a reader would not see. */
export function visibleText(text: string): string {
  return text.replace(UNSEEN, (sign) => {
    const code = (sign.codePointAt(0) as number).toString(16);
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`;
  });
}

/** The same for every text and every name of a field in a value. Content that was erased or is missing stays what it is. */
export function visible(value: Json): Json {
  if (typeof value === "string") return visibleText(value);
  if (Array.isArray(value)) return value.map(visible);
  if (typeof value !== "object" || value === null || (value as object) instanceof Withheld) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [visibleText(key), visible(one)]));
}
