import { type Json, MAX_CHARACTERS, MAX_DEPTH, thrownMessage } from "../../session/index.js";

/**
 * A copy of the value as the record will hold it, or a `NotJson` that names the place. An undefined field is
 * left out, as by JSON.stringify; a value that it would change is refused. A lone surrogate becomes U+FFFD.
 */
export function jsonOf(value: unknown, depth = MAX_DEPTH): Json {
  return copyOf(value, depth, false);
}

/** The same for the output of an action, which cannot be repeated: `toJSON` is honoured (Date, URL). */
export function jsonOfOutput(value: unknown): Json {
  return copyOf(value, MAX_DEPTH, true);
}

/** A value that JSON cannot hold. */
export class NotJson extends Error {
  readonly reason: string;
  readonly hint: string;
  /** The path to the value. */
  steps: readonly (string | number)[] = [];

  constructor(reason: string, hint: string, cause?: unknown) {
    super(reason, cause === undefined ? undefined : { cause });
    this.reason = reason;
    this.hint = hint;
  }
}

/** The way to a value inside another: `items[0].name`, "" for the value itself. */
export function pathOf(steps: readonly PropertyKey[]): string {
  // The outermost and the innermost steps say enough; 500 of them would bury the message.
  const shown = steps.length > 20 ? [...steps.slice(0, 10), "…", ...steps.slice(-5)] : steps;
  return shown
    .map((step, place) => {
      if (typeof step === "number" || /^\d+$/.test(String(step))) return `[${String(step)}]`;
      if (!/^[A-Za-z_$…][\w$]*$/.test(String(step))) return `[${JSON.stringify(String(step))}]`;
      return place === 0 ? String(step) : `.${String(step)}`;
    })
    .join("");
}

/** Values in one output: a small object graph that shares its parts can unfold into a tree without end. */
const MAX_VALUES = 5_000_000;

type Room = {
  characters: number;
  values: number;
  readonly depth: number;
  readonly tells: boolean;
  /** The path to the value that is copied now. */
  readonly steps: (string | number)[];
};

function copyOf(value: unknown, depth: number, tells: boolean): Json {
  const room: Room = { characters: MAX_CHARACTERS, values: MAX_VALUES, depth, tells, steps: [] };
  try {
    return copied(told(value, "", room), room);
  } catch (error) {
    // Getters and proxies are other people's code.
    const refusal =
      error instanceof NotJson ? error : new NotJson("reading it failed", "return plain data", error);
    refusal.steps = room.steps;
    throw refusal;
  }
}

/** The value, or what its `toJSON` makes of it. Not of bytes: as a list of numbers they are of no use to anybody. */
function told(value: unknown, key: string | number, room: Room): unknown {
  if (!room.tells || typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  const { toJSON } = value as { readonly toJSON?: unknown };
  if (typeof toJSON !== "function") return value;
  try {
    return toJSON.call(value, String(key));
  } catch (error) {
    throw new NotJson(`its toJSON failed: ${thrownMessage(error)}`, "return plain data", error);
  }
}

function copied(value: unknown, room: Room): Json {
  switch (typeof value) {
    case "string":
      return text(value, room);
    case "boolean":
      return value;
    case "number":
      if (!Number.isFinite(value)) throw new NotJson(`${value} is not a JSON number`, "use null or a string");
      return value === 0 ? 0 : value;
    case "undefined":
      return null;
    case "object":
      break;
    case "bigint":
      throw new NotJson("a BigInt has no place in JSON", "return it as text: String(value)");
    default:
      throw new NotJson(`a ${typeof value} has no place in JSON`, "return plain data");
  }
  if (value === null) return null;
  if (room.steps.length + 1 >= room.depth)
    throw new NotJson(
      `it is nested deeper than ${room.depth} levels, or contains itself`,
      "flatten it, or return it as text",
    );
  return Array.isArray(value) ? copiedArray(value, room) : copiedObject(value, room);
}

function copiedArray(value: readonly unknown[], room: Room): Json {
  take(value.length, room);
  const copy: Json[] = [];
  for (let index = 0; index < value.length; index++) {
    room.steps.push(index);
    copy.push(copied(told(value[index], index, room), room));
    room.steps.pop();
  }
  return copy;
}

function copiedObject(value: object, room: Room): Json {
  const prototype = Object.getPrototypeOf(value);
  // A plain object of another realm has another Object.prototype, known by what only that one owns.
  if (prototype !== null && prototype !== Object.prototype && !Object.hasOwn(prototype, "isPrototypeOf"))
    throw new NotJson(
      `a ${prototype.constructor?.name || "class instance"} is not plain data`,
      hintFor(value),
    );
  const keys = Object.keys(value);
  take(keys.length + 1, room);
  const copy: { [key: string]: Json } = {};
  for (const key of keys) {
    room.steps.push(key);
    const field = told((value as { readonly [key: string]: unknown })[key], key, room);
    if (field !== undefined) put(copy, text(key, room), copied(field, room));
    room.steps.pop();
  }
  return copy;
}

/** Makes an own field of "__proto__" too. */
function put(target: { [key: string]: Json }, key: string, value: Json): void {
  if (key === "__proto__")
    Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true });
  else target[key] = value;
}

function text(value: string, room: Room): string {
  room.characters -= value.length;
  if (room.characters < 0)
    throw new NotJson("it holds more than 60 million characters", "write it to a file and return its name");
  return value.toWellFormed();
}

function take(count: number, room: Room): void {
  room.values -= count;
  if (room.values < 0) throw new NotJson("it unfolds into too many values", "return a part of it");
}

function hintFor(value: object): string {
  if (value instanceof Date) return "return it as text: date.toISOString()";
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer)
    return 'return it as base64, in content([{ type: "file", media, data }]) for the model to see it';
  if (value instanceof Error) return "throw it instead: then it is recorded as a failure";
  if (value instanceof Map) return "return an object: Object.fromEntries(map)";
  if (value instanceof Set) return "return an array: [...set]";
  return "copy the fields you need into a plain object";
}
