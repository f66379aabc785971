import { type Digest, Withheld } from "../../session/index.js";
import { isObject } from "../../util/index.js";
import { cut } from "../dossier/words.js";

/** Content of the record, or its beginning with the way to the rest. */
export type Shown = {
  readonly text: string;
  /** Characters of the whole text; bytes where it is in a blob that was not read. */
  readonly size: number;
  /** The text is JSON. */
  readonly json?: true;
  /** The blob that holds all of it. */
  readonly blob?: Digest;
  readonly gone?: Withheld["reason"];
};

const MOST = 4_000;

/** A value of a fact as bounded text. A blob that was too large to be read is named. */
export function shown(value: unknown, most: number = MOST): Shown {
  if (value instanceof Withheld) return { text: "", size: value.size, ...wayTo(value) };
  if (isObject(value) && value.type === "withheld")
    return { text: "", size: 0, ...wayTo(value as Pick<Withheld, "reason" | "digest">) };
  const isText = typeof value === "string";
  const text = isText ? value : (JSON.stringify(value) ?? "");
  return { text: cut(text, most).toWellFormed(), size: text.length, ...(!isText && { json: true as const }) };
}

/** Content that is only too large to be read along reads as missing. */
function wayTo({ reason, digest }: Pick<Withheld, "reason" | "digest">): Pick<Shown, "blob" | "gone"> {
  return reason === "missing" ? { blob: digest } : { gone: reason };
}
