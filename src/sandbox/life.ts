import { defined } from "../util/index.js";
import type { Condition, SandboxStatus } from "./spec.js";
import { LongTimer } from "./timer.js";

type Phase = SandboxStatus["phase"];

/** The phase of a sandbox, when its conditions last changed and why, and when its time is over. */
export class Life {
  readonly #expire: () => Promise<void>;
  readonly #now: () => number;
  readonly #conditions = new Map<Condition["type"], Condition>();
  #phase: Phase = "pending";
  #timer: LongTimer | undefined;

  constructor(expire: () => Promise<void>, now: () => number = Date.now) {
    this.#expire = expire;
    this.#now = now;
  }

  get phase(): Phase {
    return this.#phase;
  }

  get status(): SandboxStatus {
    return Object.freeze({ phase: this.#phase, conditions: Object.freeze([...this.#conditions.values()]) });
  }

  /** It is running from here on. */
  begin(ttl: number | undefined, conditions: readonly Omit<Condition, "at">[]): void {
    this.#phase = "running";
    for (const { type, status, reason, message } of conditions) this.#set(type, status, reason, message);
    if (ttl !== undefined) this.renew(ttl);
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
    if (this.#conditions.has("Expired")) this.#set("Expired", false, "Renewed");
    // Nothing waits for it: a program that is done must be able to end.
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
    const at = new Date(this.#now()).toISOString();
    this.#conditions.set(type, Object.freeze({ type, status, reason, ...defined({ message }), at }));
  }
}
