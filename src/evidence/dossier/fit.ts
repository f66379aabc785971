import { isObject } from "../../util/index.js";
import { cut, type Told } from "./words.js";

/** Texts are not cut to less than this: so much is told of each. */
const LEAST = 200;

/** The same value with its longest texts cut until all of them together are at most so long. */
export function fitted<Value>(value: Value, room: number): Value {
  const lengths: number[] = [];
  walk(value, (told) => {
    lengths.push(told.text.length);
    return told;
  });
  const most = longest(lengths, room);
  if (most === Number.POSITIVE_INFINITY) return value;
  return walk(value, (told) => ({ ...told, text: cut(told.text, most) })) as Value;
}

/** The length at which texts must be cut for their sum to fit. */
function longest(lengths: readonly number[], room: number): number {
  const sorted = [...lengths].sort((one, other) => one - other);
  let left = room;
  for (const [place, length] of sorted.entries()) {
    const share = left / (sorted.length - place);
    if (length > share) return Math.max(LEAST, Math.floor(share));
    left -= length;
  }
  return Number.POSITIVE_INFINITY;
}

type Text = Extract<Told, { readonly text: string }>;

function isText(value: object): value is Text {
  const { text, characters } = value as Partial<Text>;
  return typeof text === "string" && typeof characters === "number";
}

function walk(value: unknown, change: (told: Text) => Text): unknown {
  if (Array.isArray(value)) return value.map((one) => walk(one, change));
  if (!isObject(value)) return value;
  if (isText(value)) return change(value);
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, walk(one, change)]));
}
