import type { Condition, SandboxStatus } from "../spec.js";
import { LongTimer } from "../timer.js";

/** How a virtual sandbox fares, and when its time is over. */
export class Life {
  readonly #conditions = new Map<Condition["type"], Condition>();
  readonly #now: () => number;
  readonly #expire: () => void;
  #phase: SandboxStatus["phase"] = "running";
  #timer: LongTimer | undefined;

  constructor(now: () => number, ttl: number | undefined, expire: () => void) {
    this.#now = now;
    this.#expire = expire;
    this.#tell("Ready", true, "Opened");
    this.#tell("Isolated", true, "Virtual", "commands are interpreted; none runs on the host");
    if (ttl !== undefined) this.renew(ttl);
  }

  get phase(): SandboxStatus["phase"] {
    return this.#phase;
  }

  get status(): SandboxStatus {
    return Object.freeze({ phase: this.#phase, conditions: Object.freeze([...this.#conditions.values()]) });
  }

  suspend(): void {
    this.#phase = "suspended";
    this.#tell("Ready", false, "Suspended");
    this.#tell("Suspended", true, "Asked");
  }

  resume(): void {
    this.#phase = "running";
    this.#tell("Suspended", false, "Asked");
    this.#tell("Ready", true, "Resumed");
  }

  finish(): void {
    this.#phase = "finished";
    this.#timer?.clear();
    this.#tell("Ready", false, "Destroyed");
    this.#tell("Finished", true, "Destroyed");
  }

  renew(milliseconds: number): void {
    this.#timer?.clear();
    if (this.#conditions.has("Expired")) this.#tell("Expired", false, "Renewed");
    // A program that is done must be able to end.
    this.#timer = new LongTimer(milliseconds, () => {
      this.#tell("Expired", true, "TimeOver", `it was given ${milliseconds} ms`);
      this.#expire();
    }).unref();
  }

  #tell(type: Condition["type"], status: boolean, reason: string, message?: string): void {
    const at = new Date(this.#now()).toISOString();
    this.#conditions.set(
      type,
      Object.freeze({ type, status, reason, ...(message !== undefined && { message }), at }),
    );
  }
}
