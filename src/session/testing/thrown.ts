import fc from "fast-check";

/** Fields that somebody may look at in an error. The stack first: setting it makes the engine look at the others. */
const FIELDS = [
  ...["stack", "name", "message", "code", "cause", "data", "hint", "session", "toString", "toJSON"],
  ...["isRetryable", "retryAfter", "statusCode", "responseHeaders", "responseBody", "url", "then"],
];
const SYMBOLS = [Symbol.toPrimitive, Symbol.toStringTag];

const looked = (): never => {
  throw new RangeError("looked at");
};

/** What throws when it is looked at: always, or only from the second look on. */
function trapped<Target extends object>(target: Target, keys: readonly PropertyKey[], late: boolean): Target {
  for (const key of keys) {
    let looks = 0;
    Object.defineProperty(target, key, {
      configurable: true,
      get: () => (late && looks++ === 0 ? undefined : looked()),
    });
  }
  return target;
}

function revoked(target: object): object {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
}

/**
 * Makers of errors that cannot be inspected, in whole or in part: revoked proxies, throwing traps and getters, also deep
 * inside. Makers, because a generator of values looks at them.
 */
export function unreadable(): fc.Arbitrary<() => unknown> {
  const keys = fc.subarray<PropertyKey>([...FIELDS, ...SYMBOLS], { minLength: 1 });
  const traps = fc.subarray(
    ["get", "getPrototypeOf", "ownKeys", "has", "getOwnPropertyDescriptor"] as const,
    {
      minLength: 1,
    },
  );
  const leaf = fc.oneof<fc.Arbitrary<() => unknown>[]>(
    fc.constantFrom(
      () => revoked(new Error("no")),
      () => revoked(() => {}),
      () => revoked([]),
      () => Symbol("no"),
      () => null,
      () => undefined,
      () => 0n,
      () => () => {},
      () => Object.create(null) as unknown,
    ),
    fc.tuple(keys, fc.boolean()).map(
      ([names, late]) =>
        () =>
          trapped(new Error("no"), names, late),
    ),
    fc.tuple(keys, fc.boolean()).map(
      ([names, late]) =>
        () =>
          trapped({ message: "no" }, names, late),
    ),
    // On the prototype, as a class has its getters.
    fc.tuple(keys, fc.boolean()).map(
      ([names, late]) =>
        () =>
          Object.create(trapped(Object.create(Error.prototype) as object, names, late)) as unknown,
    ),
    traps.map(
      (names) => () => new Proxy(new Error("no"), Object.fromEntries(names.map((name) => [name, looked]))),
    ),
  );
  return fc.oneof(
    leaf,
    leaf.map((make) => () => new Error("outside", { cause: make() })),
    leaf.map((make) => () => new TypeError("fetch failed", { cause: new Error("deep", { cause: make() }) })),
    leaf.map(
      (make) => () => Object.assign(new Error("with data"), { data: make(), responseHeaders: make() }),
    ),
  );
}
