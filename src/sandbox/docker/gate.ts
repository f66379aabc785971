/**
 * Who may do something in a container at a time: commands start side by side, but not while the container is stopped for
 * work on its files, which is done alone. First come, first served, so nobody waits forever.
 */
export class Gate {
  readonly #waiting: { readonly alone: boolean; readonly enter: () => void }[] = [];
  #inside = 0;
  #isAlone = false;

  /** Together with others that say so. */
  async together<Value>(work: () => Promise<Value>): Promise<Value> {
    return this.#through(false, work);
  }

  async alone<Value>(work: () => Promise<Value>): Promise<Value> {
    return this.#through(true, work);
  }

  async #through<Value>(alone: boolean, work: () => Promise<Value>): Promise<Value> {
    await new Promise<void>((enter) => {
      this.#waiting.push({ alone, enter });
      this.#admit();
    });
    try {
      return await work();
    } finally {
      this.#inside -= 1;
      this.#isAlone = false;
      this.#admit();
    }
  }

  #admit(): void {
    for (let [next] = this.#waiting; next !== undefined; [next] = this.#waiting) {
      if (this.#isAlone || (next.alone && this.#inside > 0)) return;
      this.#waiting.shift();
      this.#inside += 1;
      this.#isAlone = next.alone;
      next.enter();
    }
  }
}
