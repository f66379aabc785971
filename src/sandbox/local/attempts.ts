import type { ExecResult } from "../sandbox.js";
import type { Target } from "./hosts.js";

type Attempt = NonNullable<ExecResult["network"]>[number];

/** Somebody who asks for more different places than this is only told of the last of them. */
const REMEMBERED = 1000;

/** What was asked of the network: each place once, however often it was asked for. */
export class Attempts {
  readonly #seen = new Map<string, { readonly attempt: Attempt; last: number }>();
  #count = 0;

  get mark(): number {
    return this.#count;
  }

  add({ host, port }: Target, allowed: boolean): void {
    const key = `${allowed} ${port} ${host}`;
    const seen = this.#seen.get(key);
    const last = this.#count++;
    if (seen !== undefined) {
      seen.last = last;
      return;
    }
    if (this.#seen.size >= REMEMBERED) {
      const [oldest] = this.#seen.keys();
      if (oldest !== undefined) this.#seen.delete(oldest);
    }
    this.#seen.set(key, { attempt: Object.freeze({ host, port, allowed }), last });
  }

  since(mark: number): readonly Attempt[] {
    return [...this.#seen.values()].filter(({ last }) => last >= mark).map(({ attempt }) => attempt);
  }
}
