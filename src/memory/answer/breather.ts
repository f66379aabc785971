/** As long may this process be kept busy at a time. */
const MILLISECONDS = 12;
/** Asking for the time costs as much as some of the work. */
const EVERY = 64;

/** Lets others of this process go on now and then while something long is done. */
export class Breather {
  #since = performance.now();
  #asked = 0;

  get isDue(): boolean {
    return ++this.#asked % EVERY === 0 && performance.now() - this.#since > MILLISECONDS;
  }

  async breathe(): Promise<void> {
    await new Promise((done) => setImmediate(done));
    this.#since = performance.now();
  }
}
