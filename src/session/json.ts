import { ContentError } from "./error.js";

/** A value that a record can hold. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** Deeper values are refused: other languages' JSON readers (Python stops at 1,000) must be able to follow. */
export const MAX_DEPTH = 500;
/** Characters in all strings of one fact. Escaped and base64-coded it must still fit into one JavaScript string. */
export const MAX_CHARACTERS = 60_000_000;
/** Values in one fact: a small object graph that shares its parts can unfold into a tree without end. */
const MAX_VALUES = 5_000_000;

/**
 * Copies the fields of `source` into `target`: frozen, and exactly as the record will give them back, or a
 * `ContentError` naming the place. Each field is read once and the caller's objects are not kept, so changing
 * them later changes nothing here. A field of `target` stays as it is where `source` says undefined.
 */
export function keepFields(target: { [key: string]: Json }, source: object): void {
  const room = { characters: MAX_CHARACTERS, values: MAX_VALUES };
  try {
    for (const key of keysOf(source, room)) {
      takeCharacters(key.length, room);
      try {
        const value = (source as { readonly [key: string]: unknown })[key];
        if (value !== undefined || !Object.hasOwn(target, key)) put(target, key, keepValue(value, 1, room));
      } catch (error) {
        throw Refusal.within(error, step(key));
      }
    }
  } catch (error) {
    throw Refusal.of(error).at(typeof target.type === "string" && target.type !== "" ? target.type : "fact");
  }
}

type Room = { characters: number; values: number };

function keepValue(value: unknown, depth: number, room: Room): Json {
  switch (typeof value) {
    case "string":
      takeCharacters(value.length, room);
      return value;
    case "number":
      if (!Number.isFinite(value)) throw new Refusal(`${value} is not a JSON number`, "use null or a string");
      // JSON text has no negative zero that survives JSON.stringify, so what is kept is what will be read back.
      return value === 0 ? 0 : value;
    case "boolean":
      return value;
    case "object":
      if (value === null) return null;
      if (depth >= MAX_DEPTH)
        throw new Refusal(
          `it is nested deeper than ${MAX_DEPTH} levels, or contains itself`,
          "flatten it, or record it as a string of JSON",
        );
      return Array.isArray(value) ? keepArray(value, depth, room) : keepObject(value, depth, room);
    case "undefined":
      throw new Refusal("undefined has no place in JSON", "leave the field out, or use null");
    case "bigint":
      throw new Refusal("a BigInt has no place in JSON", "record it as a string: String(value)");
    default:
      throw new Refusal(`a ${typeof value} has no place in JSON`, "record plain data only");
  }
}

function keepArray(value: readonly unknown[], depth: number, room: Room): Json {
  const length = value.length;
  takeValues(length, room);
  const copy: Json[] = new Array(length);
  for (let index = 0; index < length; index++) {
    try {
      copy[index] = keepValue(value[index], depth + 1, room);
    } catch (error) {
      throw Refusal.within(error, `[${index}]`);
    }
  }
  // A match result or a tagged array carries named properties that JSON would drop without a word.
  if (Object.keys(value).length !== length || Object.getOwnPropertySymbols(value).length > 0)
    throw new Refusal("an array with named properties or holes loses them in JSON", "use an object");
  return Object.freeze(copy);
}

function keepObject(value: object, depth: number, room: Room): Json {
  const prototype = Object.getPrototypeOf(value);
  // A plain object of another realm has another Object.prototype, known by what only that one owns.
  if (prototype !== Object.prototype && prototype !== null && !Object.hasOwn(prototype, "isPrototypeOf")) {
    throw new Refusal(
      `a ${prototype.constructor?.name || "class instance"} is not plain data`,
      hintFor(value),
    );
  }
  const copy: { [key: string]: Json } = {};
  for (const key of keysOf(value, room)) {
    takeCharacters(key.length, room);
    try {
      put(copy, key, keepValue((value as { [key: string]: unknown })[key], depth + 1, room));
    } catch (error) {
      throw Refusal.within(error, step(key));
    }
  }
  return Object.freeze(copy);
}

function keysOf(value: object, room: Room): readonly string[] {
  const keys = Object.keys(value);
  takeValues(keys.length + 1, room);
  if (Object.getOwnPropertySymbols(value).length > 0)
    throw new Refusal("a property named by a symbol is lost in JSON", "use a string key");
  return keys;
}

function takeCharacters(count: number, room: Room): void {
  room.characters -= count;
  if (room.characters < 0)
    throw new Refusal(
      "it holds more than 60 million characters",
      "keep the bytes in a workspace or a blob and record its digest",
    );
}

function takeValues(count: number, room: Room): void {
  room.values -= count;
  if (room.values < 0)
    throw new Refusal("it unfolds into too many values", "record a digest instead of the whole");
}

/** JSON text in which the order of keys makes no difference: equal values, equal text. */
export function canonical(value: Json): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([one], [other]) => (one < other ? -1 : 1)))
      : inner,
  );
}

/** Freezes a value all the way down, without recursion: what is read from a line or a blob may be deep. */
export function frozen<Value>(value: Value): Value {
  const open: unknown[] = [value];
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    if (typeof part !== "object" || part === null || Object.isFrozen(part)) continue;
    Object.freeze(part);
    for (const inner of Object.values(part)) if (typeof inner === "object") open.push(inner);
  }
  return value;
}

function put(target: { [key: string]: Json }, key: string, value: Json): void {
  if (key === "__proto__") Object.defineProperty(target, key, { value, enumerable: true });
  else target[key] = value;
}

function step(key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}

function hintFor(value: object): string {
  if (value instanceof Date) return "record it as text: date.toISOString()";
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer)
    return "store the bytes with store.putBlob(bytes) and record the digest";
  if (value instanceof Error) return "record { name, message }";
  if (value instanceof Map || value instanceof Set) return "spread it into an array: [...value]";
  return "copy the fields you need into a plain object";
}

/** Why a value was refused, with the path to it growing as the stack unwinds: free until something is wrong. */
class Refusal extends Error {
  readonly reason: string;
  readonly hint: string;
  readonly origin: unknown;
  readonly #path: string[] = [];

  constructor(reason: string, hint: string, origin?: unknown) {
    super(reason);
    this.reason = reason;
    this.hint = hint;
    this.origin = origin;
  }

  static of(error: unknown): Refusal {
    return error instanceof Refusal ? error : new Refusal("reading it failed", "pass plain data", error);
  }

  static within(error: unknown, step: string): Refusal {
    const refusal = Refusal.of(error);
    // The innermost steps say enough; 500 of them would bury the message.
    refusal.#path.push(step);
    return refusal;
  }

  at(name: string): ContentError {
    const steps = this.#path.reverse();
    const path = steps.length > 20 ? [...steps.slice(0, 10), "…", ...steps.slice(-5)] : steps;
    return new ContentError(name + path.join(""), this.reason, this.hint, this.origin);
  }
}
