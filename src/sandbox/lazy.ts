/** A value that is made when it is first asked for, and made again after a failure: what was missing may be there then. */
export class Lazy<Value> {
  readonly #make: () => Promise<Value>;
  #value: Promise<Value> | undefined;

  constructor(make: () => Promise<Value>) {
    this.#make = make;
  }

  get(): Promise<Value> {
    if (this.#value !== undefined) return this.#value;
    const value = this.#make();
    this.#value = value;
    value.catch(() => {
      if (this.#value === value) this.forget();
    });
    return value;
  }

  /** The value, if it was asked for. */
  get known(): Promise<Value> | undefined {
    return this.#value;
  }

  forget(): void {
    this.#value = undefined;
  }
}

/** A promise that is settled from outside. */
export type Deferred<Value> = {
  readonly promise: Promise<Value>;
  readonly resolve: (value: Value) => void;
  readonly reject: (error: unknown) => void;
};

export function deferred<Value>(): Deferred<Value> {
  let settle: Omit<Deferred<Value>, "promise"> = { resolve: () => {}, reject: () => {} };
  const promise = new Promise<Value>((resolve, reject) => {
    settle = { resolve, reject };
  });
  return { promise, ...settle };
}
