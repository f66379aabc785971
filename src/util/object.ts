/** An object of JSON: neither null nor an array. */
export function isObject(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A whole number, not negative. */
export function isSize(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

type Defined<Fields> = {
  [Key in keyof Fields as undefined extends Fields[Key] ? never : Key]: Fields[Key];
} & {
  [Key in keyof Fields as undefined extends Fields[Key] ? Key : never]?: Exclude<Fields[Key], undefined>;
};

/** The fields whose value is not undefined, in the same order: `{ type, ...defined({ cost, why }) }`. */
export function defined<Fields extends object>(fields: Fields): Defined<Fields> {
  const kept: { [key: string]: unknown } = {};
  for (const key of Object.keys(fields)) {
    const value = (fields as { readonly [key: string]: unknown })[key];
    if (value === undefined) continue;
    // An assignment to "__proto__" would set the prototype.
    if (key === "__proto__")
      Object.defineProperty(kept, key, { value, enumerable: true, configurable: true, writable: true });
    else kept[key] = value;
  }
  return kept as Defined<Fields>;
}

/** The same keys with other values. */
export function mapValues<Value, Result>(
  fields: { readonly [key: string]: Value },
  change: (value: Value, key: string) => Result,
): { [key: string]: Result } {
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, change(value, key)]));
}

/** Whether two lists have the same items in the same order. */
export function isSameList<Item>(one: readonly Item[], other: readonly Item[]): boolean {
  return one.length === other.length && one.every((item, place) => item === other[place]);
}

/** Whether a value can be awaited. */
export function isPromise(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function"
  );
}
