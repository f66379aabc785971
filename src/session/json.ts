import { ContentError } from "./error.js";

/** A value that a record can hold. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** A type whose fields hold only JSON. An interface, or an object with readonly lists, does not fit `Json` itself. */
export type JsonOf<Value> = Value extends Json
  ? Value
  : Value extends (...given: never[]) => unknown
    ? never
    : Value extends object
      ? { readonly [Key in keyof Value]: JsonOf<Value[Key]> }
      : never;

/** The same value, as the JSON that it is by its type. */
export function asJson<Value>(value: Value & JsonOf<Value>): Json {
  return value as Json;
}

/** A saved value as the type that it was saved from, frozen. */
export function frozenAs<Value>(saved: Json): Value {
  return frozen(saved) as Value;
}

/** A value as its JSON text gives it back: without fields that are undefined, and with a mark where content is withheld. */
export function jsonCopy(value: unknown): Json {
  return JSON.parse(JSON.stringify(value) ?? "null") as Json;
}

/** Deeper values are refused: other languages' JSON readers (Python stops at 1,000) must be able to follow. */
export const MAX_DEPTH = 500;
/** Characters in all strings of one fact. Escaped and base64-coded it must still fit into one JavaScript string. */
export const MAX_CHARACTERS = 60_000_000;
/** Values in one fact: a small object graph that shares its parts can unfold into a tree without end. */
const MAX_VALUES = 5_000_000;

/**
 * The object `stamp` with the fields of `source`: frozen, and exactly as the record will give them back, or a
 * `ContentError` naming the place. Each field is read once and the caller's objects are not kept, so changing
 * them later changes nothing here. A field of `stamp` stays as it is where `source` says undefined.
 */
export function keepFields(stamp: { [key: string]: Json }, source: object): { [key: string]: Json } {
  let type: unknown;
  try {
    const before = { ...stamp };
    const copy = fieldsOf(source, stamp);
    type = copy.type;
    keepEach(copy, source, 1, { characters: MAX_CHARACTERS, values: MAX_VALUES }, before);
    return copy;
  } catch (error) {
    throw Refusal.of(error).at(typeof type === "string" && type !== "" ? type : "fact");
  }
}

/** A copy of the fields, or `stamp` with them. V8 assigns many times as fast as it spreads two objects into one. */
function fieldsOf(source: object, stamp?: object): { [key: string]: Json } {
  try {
    if (stamp === undefined) return { ...(source as Fields) };
    // An assignment to "__proto__" would set the prototype.
    if (Object.hasOwn(source, "__proto__")) return { ...stamp, ...(source as Fields) };
    return Object.assign(stamp, source as Fields);
  } catch (error) {
    for (const key of Object.keys(source)) {
      try {
        void (source as Fields)[key];
      } catch (thrown) {
        throw Refusal.within(thrown, step(key));
      }
    }
    throw error;
  }
}

/**
 * Replaces each field of a copy by its kept form, and undefined by the field of `otherwise`. Every fact comes through here, so
 * texts and booleans, which most fields are, cost no call.
 */
function keepEach(
  copy: { [key: string]: Json },
  source: object,
  depth: number,
  room: Room,
  otherwise?: Fields,
): void {
  const keys = Object.keys(copy);
  takeValues(keys.length + 1, room);
  if (Object.getOwnPropertySymbols(source).length > 0)
    throw new Refusal("a property named by a symbol is lost in JSON", "use a string key");
  for (const key of keys) {
    // A name that is too long is not told.
    room.characters -= key.length;
    if (room.characters < 0) throw tooLong();
    try {
      const value: unknown = copy[key];
      if (typeof value === "string") room.characters -= value.length;
      else if (value === undefined && otherwise !== undefined && Object.hasOwn(otherwise, key))
        copy[key] = otherwise[key] as Json;
      else if (typeof value !== "boolean" && value !== null) {
        const kept = keepValue(value, depth, room);
        // A copy has "__proto__" as a field of its own, so an assignment sets no prototype.
        if (!Object.is(kept, value)) copy[key] = kept;
      }
      if (room.characters < 0) throw tooLong();
    } catch (error) {
      throw Refusal.within(error, step(key));
    }
  }
}

type Fields = { readonly [key: string]: Json };
type Room = { characters: number; values: number };

function keepValue(value: unknown, depth: number, room: Room): Json {
  switch (typeof value) {
    case "string":
      room.characters -= value.length;
      if (room.characters < 0) throw tooLong();
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
  const copy = fieldsOf(value);
  keepEach(copy, value, depth + 1, room);
  return Object.freeze(copy);
}

function tooLong(): Refusal {
  return new Refusal(
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
