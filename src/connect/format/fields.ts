import type { Json } from "../../session/index.js";

export type JsonObject = { readonly [key: string]: Json };

/**
 * An object of another system, from which is taken what facts have words for. What is not taken, or is not what it
 * should be, is left in `rest`, so that nothing is lost.
 */
export class Fields {
  readonly #left: Map<string, Json>;

  constructor(object: JsonObject) {
    this.#left = new Map(Object.entries(object));
  }

  text(key: string): string | undefined {
    return this.#take(key, (value) => (typeof value === "string" ? value : undefined));
  }

  /** A number that is none of the infinities, at least so much. */
  number(key: string, least: number = Number.NEGATIVE_INFINITY): number | undefined {
    return this.#take(key, (value) => (typeof value === "number" && value >= least ? value : undefined));
  }

  flag(key: string): boolean | undefined {
    return this.#take(key, (value) => (typeof value === "boolean" ? value : undefined));
  }

  list(key: string): readonly Json[] | undefined {
    return this.#take(key, (value) => (Array.isArray(value) ? (value as readonly Json[]) : undefined));
  }

  object(key: string): JsonObject | undefined {
    return this.#take(key, (value) => (isObject(value) ? value : undefined));
  }

  /** Whatever it is. */
  json(key: string): Json | undefined {
    return this.#take(key, (value) => value);
  }

  /** Takes away what is there already in other words. */
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

  /** What is left; undefined when that is nothing. */
  get rest(): JsonObject | undefined {
    return this.#left.size === 0 ? undefined : Object.fromEntries(this.#left);
  }

  #take<Value>(key: string, as: (value: Json) => Value | undefined): Value | undefined {
    const held = this.#left.get(key);
    const value = held === undefined ? undefined : as(held);
    if (value !== undefined) this.#left.delete(key);
    return value;
  }
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The object that a value is, or an empty one. */
export function objectOf(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}

/** Whether two values are the same, whatever the order of keys. */
export function isSame(one: Json | undefined, other: Json | undefined): boolean {
  if (one === other) return true;
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((value, index) => isSame(value, other[index] as Json));
  if (!isObject(one) || !isObject(other)) return false;
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isSame(one[key], other[key]))
  );
}

/** Arguments that a model wrote as JSON text. `raw` is the text where writing them again would give another one. */
export function argumentsOf(text: string): { readonly input: Json; readonly raw?: string } {
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

/** A time that the record can hold. */
export function timeIn(value: Json | undefined): string | undefined {
  return typeof value === "string" && /^\d{4}-\d\d-\d\d(T|$)/.test(value) && !Number.isNaN(Date.parse(value))
    ? value
    : undefined;
}

/** Who acted, by a name that may be empty. */
export function agentNamed(name: string | undefined): "agent" | `agent:${string}` {
  return name === undefined || name === "" ? "agent" : `agent:${name}`;
}

export function toolNamed(name: string | undefined): "tool" | `tool:${string}` {
  return name === undefined || name === "" ? "tool" : `tool:${name}`;
}
