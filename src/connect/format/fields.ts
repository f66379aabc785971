import type { Json, Usage } from "../../session/index.js";
import { defined, isObject } from "../../util/index.js";

/** JSON of another system that is an object. */
export type Fields = { readonly [key: string]: Json };

export function isFields(value: unknown): value is Fields {
  return isObject(value);
}

/** The object that a value is, or an empty one. */
export function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}

/** The list that a value is, or an empty one. */
export function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : [];
}

/** The objects of a list. */
export function objectsOf(value: Json | undefined): readonly Fields[] {
  return listOf(value).filter(isFields);
}

/** The text that a value is, if it is one. */
export function stringOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** The value of a key that is the object's own: a file may have keys such as "constructor". */
export function own(value: Fields, key: string): Json | undefined {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

/** The first of an object's own fields that is a text. */
export function textIn(value: Fields, ...keys: readonly string[]): string | undefined {
  return keys.map((key) => own(value, key)).find((one) => typeof one === "string");
}

/** An object's own field as an object, or an empty one. */
export function fieldsIn(value: Fields, key: string): Fields {
  return fieldsOf(own(value, key));
}

/** The objects in a list that is an object's own field. */
export function objectsIn(value: Fields, key: string): readonly Fields[] {
  return objectsOf(own(value, key));
}

/** The object without some of its keys. */
export function without(value: Fields, ...keys: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key)));
}

/** A count that a record can add up, or undefined. */
export function amount(value: Json | undefined): number | undefined {
  return typeof value === "number" && value >= 0 && value <= Number.MAX_SAFE_INTEGER ? value : undefined;
}

/** An object's own field as such a count. */
export function amountIn(value: Fields, key: string): number | undefined {
  return amount(own(value, key));
}

/** Tokens, and those of another answer. */
export function addedUsage(sum: Usage | undefined, more: Usage): Required<Usage> {
  return {
    input: (sum?.input ?? 0) + more.input,
    output: (sum?.output ?? 0) + more.output,
    cached: (sum?.cached ?? 0) + (more.cached ?? 0),
    reasoning: (sum?.reasoning ?? 0) + (more.reasoning ?? 0),
  };
}

/** Adds an item to those of its group. */
export function addTo<Key, Item>(groups: Map<Key, Item[]>, key: Key, item: Item): void {
  const group = groups.get(key);
  if (group === undefined) groups.set(key, [item]);
  else group.push(item);
}

/** A tool in the form of OpenAI's function calls, or in the form of an SDK, as the record describes tools. */
export function toolSpec(tool: Fields): Fields {
  const inside = own(tool, "function");
  const fields = isFields(inside) ? inside : tool;
  const description = textIn(fields, "description");
  return {
    name: textIn(fields, "name", "title") ?? "",
    ...defined({ description }),
    input: own(fields, "parameters") ?? own(fields, "input_schema") ?? {},
  };
}

/** Whether a fact can have happened then. */
export function isTime(value: unknown): value is string {
  return typeof value === "string" && /^\d{4}-\d\d-\d\d(T|$)/.test(value) && !Number.isNaN(Date.parse(value));
}

/** An object of another system, whose fields are taken one by one; `rest` keeps all others. */
export class FieldReader {
  readonly #left: Map<string, Json>;

  constructor(object: Fields = {}) {
    this.#left = new Map(Object.entries(object));
  }

  text(key: string): string | undefined {
    return this.#take(key, stringOf);
  }

  /** A finite number that is not less than `least`. */
  number(key: string, least: number = Number.NEGATIVE_INFINITY): number | undefined {
    return this.#take(key, (value) => (typeof value === "number" && value >= least ? value : undefined));
  }

  flag(key: string): boolean | undefined {
    return this.#take(key, (value) => (typeof value === "boolean" ? value : undefined));
  }

  list(key: string): readonly Json[] | undefined {
    return this.#take(key, (value) => (Array.isArray(value) ? (value as readonly Json[]) : undefined));
  }

  object(key: string): Fields | undefined {
    return this.#take(key, (value) => (isFields(value) ? value : undefined));
  }

  /** A reader of an object inside this one. */
  inside(key: string): FieldReader {
    return new FieldReader(this.object(key));
  }

  /** The value, whatever it is. */
  json(key: string): Json | undefined {
    return this.#take(key, (value) => value);
  }

  /** Arguments that a model wrote as JSON text. The text stays where writing them again would give another one. */
  arguments(): Json {
    const text = this.text("arguments");
    const { input, raw } = text === undefined ? { input: {} } : argumentsOf(text);
    this.keep("arguments", raw);
    return input;
  }

  /** Takes a field away if it has this value: other words say it already. */
  drop(key: string, known: Json): void {
    if (isSame(this.#left.get(key), known)) this.#left.delete(key);
  }

  /** Puts back what was taken, or what is left of it. */
  keep(key: string, value: Json | undefined): void {
    if (value !== undefined) this.#left.set(key, value);
  }

  /** The names of what is left. */
  get names(): readonly string[] {
    return [...this.#left.keys()];
  }

  /** The fields that are left, if any. */
  get rest(): Fields | undefined {
    return this.#left.size === 0 ? undefined : Object.fromEntries(this.#left);
  }

  #take<Value>(key: string, as: (value: Json) => Value | undefined): Value | undefined {
    const held = this.#left.get(key);
    const value = held === undefined ? undefined : as(held);
    if (value !== undefined) this.#left.delete(key);
    return value;
  }
}

/** Whether two values are the same, whatever the order of keys. */
export function isSame(one: Json | undefined, other: Json | undefined): boolean {
  if (one === other) return true;
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((value, index) => isSame(value, other[index] as Json));
  if (!isFields(one) || !isFields(other)) return false;
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isSame(one[key], other[key]))
  );
}

/** The value of JSON text; any other text, and what is not text, as it is. */
export function parsed(value: Json): Json {
  return typeof value === "string" ? argumentsOf(value).input : value;
}

/** A text that may be JSON: one that JSON would read as a number or a truth was a text. */
export function detailOf(text: string): Json {
  const value = parsed(text);
  return typeof value === "object" && value !== null ? value : text;
}

/** Arguments that a model wrote as JSON text. `raw` is the text where writing them again would give another one. */
export function argumentsOf(text: string): { readonly input: Json; readonly raw?: string | undefined } {
  try {
    const input = JSON.parse(text) as Json;
    return JSON.stringify(input) === text ? { input } : { input, raw: text };
  } catch {
    return { input: text };
  }
}

/** A value in words: a text as it is, anything else as JSON. */
export function wordsFor(value: Json | undefined): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? null);
}

/** The principal of an agent, by a name that may be empty. */
export function agentNamed(name: string | undefined): "agent" | `agent:${string}` {
  return name === undefined || name === "" ? "agent" : `agent:${name}`;
}

export function toolNamed(name: string | undefined): "tool" | `tool:${string}` {
  return name === undefined || name === "" ? "tool" : `tool:${name}`;
}
