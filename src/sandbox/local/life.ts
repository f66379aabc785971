import type { Condition, SandboxStatus } from "../spec.js";
import { LongTimer } from "../timer.js";

type Phase = SandboxStatus["phase"];

/** How a sandbox fares: its phase, when that last changed and why, and when its time is over. */
export class Life {
  readonly #expire: () => Promise<void>;
  readonly #ttl: number | undefined;
  readonly #since = new Map<Condition["type"], Condition>();
  #phase: Phase = "pending";
  #timer: LongTimer | undefined;

  constructor(ttl: number | undefined, expire: () => Promise<void>) {
    this.#ttl = ttl;
    this.#expire = expire;
  }

  get phase(): Phase {
    return this.#phase;
  }

  get status(): SandboxStatus {
    return Object.freeze({ phase: this.#phase, conditions: Object.freeze([...this.#since.values()]) });
  }

  begin(): void {
    this.#phase = "running";
    this.#set("Isolated", true, "Namespaces", "it has namespaces of its own");
    this.#set("Ready", true, "Started");
    if (this.#ttl !== undefined) this.renew(this.#ttl);
  }

  suspend(): void {
    this.#phase = "suspended";
    this.#set("Ready", false, "Suspended");
    this.#set("Suspended", true, "Asked");
  }

  resume(): void {
    this.#phase = "running";
    this.#set("Suspended", false, "Asked");
    this.#set("Ready", true, "Resumed");
  }

  lose(why: string): void {
    this.#end("lost");
    this.#set("Ready", false, "Lost", why);
    this.#set("Isolated", "unknown", "Lost");
  }

  finish(): void {
    this.#end("finished");
    this.#set("Ready", false, "Destroyed");
    this.#set("Finished", true, "Destroyed");
  }

  /** Sets how long it may exist from now on. */
  renew(milliseconds: number): void {
    this.#timer?.clear();
    if (this.#since.has("Expired")) this.#set("Expired", false, "Renewed");
    // Nobody waits for it: a program that is done must be able to end.
    this.#timer = new LongTimer(milliseconds, () => {
      this.#set("Expired", true, "TimeOver", `it was given ${milliseconds} ms`);
      void this.#expire().catch(() => {});
    }).unref();
  }

  #end(phase: "lost" | "finished"): void {
    this.#phase = phase;
    this.#timer?.clear();
  }

  #set(type: Condition["type"], status: Condition["status"], reason: string, message?: string): void {
    const at = new Date().toISOString();
    this.#since.set(
      type,
      Object.freeze({ type, status, reason, ...(message !== undefined && { message }), at }),
    );
  }
}
