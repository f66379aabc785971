// @ts-check
/** In a variable: the package may be absent where this is only checked. */
const SDK = "@restatedev/restate-sdk/node";

/** The SDK of Restate. It needs a function that Node 20 lacks: without that, every invocation fails and is tried again. */
export function loadSdk() {
  const Promises = /** @type {any} */ (Promise);
  Promises.withResolvers ??= () => {
    /** @type {any} */
    const parts = {};
    parts.promise = new Promise((resolve, reject) => Object.assign(parts, { resolve, reject }));
    return parts;
  };
  return import(SDK);
}
