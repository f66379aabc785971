import { ContentError, MAX_DEPTH, thrownMessage } from "../session/index.js";

/**
 * The value of a step, as JSON.stringify would see it: a value with a `toJSON` (a Date, a URL, a decimal) is its result, and
 * fields that are undefined are left out. An action cannot be taken back, so its value is not refused for how it is written.
 * A value that JSON cannot express stays, and the record refuses it with its place.
 */
export function plainValue(given: unknown): unknown {
  return new Reading().read(given, "") ?? null;
}

class Reading {
  /** Values that were read already. A value that contains itself is found here, and left for the record to refuse. */
  readonly #known = new Map<object, unknown>();
  readonly #path: string[] = [];

  read(value: unknown, key: string): unknown {
    const plain = this.#withoutToJson(value, key);
    if (typeof plain !== "object" || plain === null) return plain;
    if (this.#known.has(plain)) return this.#known.get(plain);
    if (this.#path.length >= MAX_DEPTH) throw this.#refusal("it is nested too deep", "flatten it");
    this.#known.set(plain, plain);
    const read = Array.isArray(plain) ? this.#list(plain) : isPlain(plain) ? this.#fields(plain) : plain;
    this.#known.set(plain, read);
    return read;
  }

  #withoutToJson(value: unknown, key: string): unknown {
    // Bytes would become a list of numbers, which is of no use to anybody.
    if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
    try {
      const { toJSON } = value as { readonly toJSON?: unknown };
      return typeof toJSON === "function" ? toJSON.call(value, key) : value;
    } catch (error) {
      const reason = thrownMessage(error);
      throw this.#refusal(`its toJSON failed: ${reason}`, "return plain data", error);
    }
  }

  #list(list: readonly unknown[]): readonly unknown[] {
    let copy: unknown[] | undefined;
    for (let place = 0; place < list.length; place++) {
      const item = this.#inner(list, String(place)) ?? null;
      if (item === list[place]) continue;
      copy ??= [...list];
      copy[place] = item;
    }
    // A copy would lose what stands beside its items without a word.
    return copy === undefined || Object.keys(list).some((key) => !/^\d+$/.test(key)) ? list : copy;
  }

  #fields(fields: { readonly [key: string]: unknown }): object {
    let copy: { [key: string]: unknown } | undefined;
    for (const key of Object.keys(fields)) {
      const field = this.#inner(fields, key);
      if (field !== undefined && field === fields[key]) continue;
      copy ??= { ...fields };
      if (field === undefined) delete copy[key];
      else Object.defineProperty(copy, key, { value: field, enumerable: true, configurable: true });
    }
    return copy ?? fields;
  }

  #inner(outer: object, key: string): unknown {
    this.#path.push(key);
    let value: unknown;
    try {
      value = (outer as { readonly [key: string]: unknown })[key];
    } catch (error) {
      throw this.#refusal("reading it failed", "return plain data", error);
    }
    const read = this.read(value, key);
    this.#path.pop();
    return read;
  }

  #refusal(reason: string, hint: string, cause?: unknown): ContentError {
    const shown = this.#path.length > 20 ? [...this.#path.slice(0, 10), "…"] : this.#path;
    return new ContentError(["step-result.value", ...shown].join("."), reason, hint, cause);
  }
}

function isPlain(value: object): value is { readonly [key: string]: unknown } {
  const prototype = Object.getPrototypeOf(value);
  // A plain object of another realm has another Object.prototype, known by what only that one owns.
  return prototype === null || prototype === Object.prototype || Object.hasOwn(prototype, "isPrototypeOf");
}
