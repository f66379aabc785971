import { RequestError } from "../../connect/front/index.js";

export type Rate = {
  /** Requests that may come at once. */
  readonly burst: number;
  /** Requests a second after that. */
  readonly perSecond: number;
};

type Bucket = { left: number; at: number };

/** So many callers are remembered; the one that called longest ago is forgotten first. */
const MOST = 10_000;

/** Limits how often each caller may do something. */
export class RateLimit {
  readonly #rate: Rate;
  readonly #now: () => number;
  readonly #buckets = new Map<string, Bucket>();

  constructor(rate: Rate, now: () => number = Date.now) {
    this.#rate = rate;
    this.#now = now;
  }

  /** Counts one request of a caller, or throws. */
  take(caller: string): void {
    const { burst, perSecond } = this.#rate;
    const now = this.#now();
    const bucket = this.#buckets.get(caller) ?? { left: burst, at: now };
    bucket.left = Math.min(burst, bucket.left + (Math.max(0, now - bucket.at) / 1000) * perSecond);
    bucket.at = now;
    this.#buckets.delete(caller);
    this.#buckets.set(caller, bucket);
    if (this.#buckets.size > MOST)
      for (const [oldest] of this.#buckets) {
        this.#buckets.delete(oldest);
        break;
      }
    if (bucket.left < 1) {
      const seconds = Math.ceil((1 - bucket.left) / perSecond);
      throw new RequestError(429, "rate-limited", "Too many requests.", {
        hint: `wait ${seconds} s, then send fewer requests`,
        data: { retryAfter: seconds },
      });
    }
    bucket.left -= 1;
  }
}
