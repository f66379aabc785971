import { setTimeout as sleep } from "node:timers/promises";
import { EngineError } from "../error.js";
import type { Engine } from "./engine.js";
import { untilUnpaused } from "./helper.js";
import { everybody } from "./script.js";

const UNPAUSE_ATTEMPTS = 20;
const UNPAUSE_MILLISECONDS = 30;
/** How long commands may be held up by calls on files, at a time. */
const STILL_MILLISECONDS = 500;

/**
 * Makes a container stand still while something is done with its files, so that nothing changes between a look and what
 * follows from it. One that was suspended stands still already.
 *
 * Docker pauses the container. Podman's view of a paused one lacks some files and takes links for what they lead to;
 * so there, all processes in it are stopped by signals, which none of them can refuse, and the container goes on.
 */
export class Freezer {
  /** Whether somebody asked for it to stand still until it is resumed. */
  isSuspended = false;
  /** Whether it stands still, or is about to, only for a moment. */
  isBrief = false;
  readonly #host: { readonly engine: Engine; readonly container: string; readonly gate: Gate };
  readonly #script: (words: readonly string[]) => Promise<string>;
  /** The state that the engine reports; "unknown" when it does not answer, "gone" when it is not there. */
  readonly #state: () => Promise<string>;
  readonly #waiting: { readonly run: () => Promise<void>; readonly fail: (error: unknown) => void }[] = [];

  constructor(
    host: { readonly engine: Engine; readonly container: string; readonly gate: Gate },
    script: (words: readonly string[]) => Promise<string>,
    state: () => Promise<string>,
  ) {
    this.#host = host;
    this.#script = script;
    this.#state = state;
  }

  /** Does something while the container stands still, in one freeze with calls that came at the same time. */
  share<Value>(work: () => Promise<Value>): Promise<Value> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ run: () => work().then(resolve, reject), fail: reject });
      if (this.#waiting.length === 1) this.#serve();
    });
  }

  /** Does something while it stands still; for callers that are through the gate. */
  async whileFrozen<Value>(work: () => Promise<Value>): Promise<Value> {
    if (this.isSuspended) return work();
    this.isBrief = true;
    try {
      await this.pause();
      try {
        return await work();
      } finally {
        await this.unpause();
      }
    } finally {
      this.isBrief = false;
    }
  }

  /** Does something for which it must not stand still; one that was suspended is again afterwards. */
  async whileRunning<Value>(work: () => Promise<Value>): Promise<Value> {
    if (!this.isSuspended || this.#isPodman) return work();
    await this.unpause();
    try {
      return await work();
    } finally {
      await this.pause();
    }
  }

  async pause(): Promise<void> {
    await this.#tell("pause", "STOP");
  }

  /** Tries again even if the engine says "not paused": that may be late news, and it must not stay paused. */
  async unpause(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#tell("unpause", "CONT");
        return;
      } catch (error) {
        const state = await this.#state();
        // It ended meanwhile, which the next call will find out.
        if (state !== "paused" && state !== "running" && state !== "unknown") return;
        if (attempt >= UNPAUSE_ATTEMPTS) {
          if (state === "running" && !this.#isPodman) return;
          throw error;
        }
        await sleep(UNPAUSE_MILLISECONDS);
      }
    }
  }

  async #tell(verb: "pause" | "unpause", signal: "STOP" | "CONT"): Promise<void> {
    const ask = () => this.#host.engine.json("POST", `/containers/${this.#host.container}/${verb}`);
    if (!this.#isPodman) await (verb === "pause" ? untilUnpaused(ask) : ask());
    else if ((await this.#script(everybody(signal))) !== "ok")
      throw new EngineError(`to ${verb} a container`, 500, "no process could be started in it for that");
  }

  get #isPodman(): boolean {
    return this.#host.engine.about.name === "podman";
  }

  /** Calls that came together are served in one freeze, one after the other; but not for long. */
  #serve(): void {
    const all = this.#waiting;
    const served = this.#host.gate.alone(() =>
      this.whileFrozen(async () => {
        const until = performance.now() + STILL_MILLISECONDS;
        for (let [next] = all; next !== undefined && performance.now() < until; [next] = all) {
          await next.run();
          all.shift();
        }
      }),
    );
    served.then(
      () => {
        if (all.length > 0) this.#serve();
      },
      (error: unknown) => {
        for (const { fail } of all.splice(0)) fail(error);
      },
    );
  }
}

/** Lets commands run side by side, but work on a stopped container's files alone; first come first. */
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
