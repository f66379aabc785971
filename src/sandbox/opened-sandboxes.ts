import { SandboxLostError } from "./error.js";
import type { Sandbox } from "./sandbox.js";
import type { SandboxRef } from "./spec.js";

type Key = Pick<SandboxRef, "id" | "incarnation">;

/** The sandboxes that a provider has opened: one for each id and incarnation, however often it is asked for. */
export class OpenedSandboxes<Kind extends Sandbox> {
  readonly #opened = new Map<string, Promise<Kind>>();

  /** The sandbox of a key, opened only if it is not there. `forget` is for when it is gone. */
  open(key: Key, open: (forget: () => void) => Promise<Kind>): Promise<Kind> {
    const name = nameOf(key);
    const known = this.#opened.get(name);
    if (known !== undefined) return known;
    const forget = (): void => {
      if (this.#opened.get(name) === opening) this.#opened.delete(name);
    };
    const opening = open(forget);
    this.#opened.set(name, opening);
    opening.catch(forget);
    return opening;
  }

  get(key: Key): Promise<Kind> | undefined {
    return this.#opened.get(nameOf(key));
  }

  /** The sandbox of a ref, or a `SandboxLostError` that gives the reason why it may be gone. */
  async require(ref: SandboxRef, why: string): Promise<Kind> {
    const sandbox = await this.get(ref);
    if (sandbox === undefined) throw new SandboxLostError(ref.id, why);
    return sandbox;
  }

  /** The refs of those that are there. */
  async *refs(): AsyncIterable<SandboxRef> {
    for (const [name, opening] of [...this.#opened]) {
      const sandbox = await opening.catch(() => undefined);
      if (sandbox !== undefined && this.#opened.has(name)) yield sandbox.ref;
    }
  }

  /** Destroys all of them. What fails is thrown when all others are gone. */
  async close(): Promise<void> {
    const opened = await Promise.allSettled(this.#opened.values());
    const ended = opened.map((one) => (one.status === "fulfilled" ? one.value.destroy() : undefined));
    const failed = (await Promise.allSettled(ended)).find((one) => one.status === "rejected");
    if (failed?.status === "rejected") throw failed.reason;
  }
}

function nameOf({ id, incarnation }: Key): string {
  return `${incarnation} ${id}`;
}
