import { type Content, canonical, type Json, type Principal, type Session } from "../session/index.js";
import { PendingWorkError } from "./error.js";
import { requireFreeName, requireKnown, requireModule } from "./given.js";
import type { Module } from "./module.js";
import type { Rath } from "./rath.js";
import { RUN_SETTINGS, type RunSettings } from "./rath-options.js";
import type { Runs } from "./run/runs.js";
import type { Follower } from "./stream/stream.js";
import { recordedRun } from "./tape/recorded.js";

/** `by` is who speaks. */
export type TurnSettings = Omit<RunSettings, "name"> & {
  /** The conversation has this one turn: said again after its run has ended, it gives back that end and runs nothing. */
  readonly once?: boolean;
};

const TURN_SETTINGS: readonly string[] = [...RUN_SETTINGS.filter((option) => option !== "name"), "once"];

/** The turns of conversations, each under a name. Turns of one conversation follow each other, in this process. */
export class Turns {
  readonly #rath: Rath;
  readonly #runs: Runs;
  readonly #last = new Map<string, Promise<unknown>>();

  constructor(rath: Rath, runs: Runs) {
    this.#rath = rath;
    this.#runs = runs;
  }

  async take(
    module: Module,
    name: string,
    text: Content | undefined,
    settings: TurnSettings,
    follower?: Follower,
  ): Promise<Session> {
    const use = `take a turn of ${JSON.stringify(name)}`;
    requireModule(module, use);
    requireFreeName(name, use);
    requireKnown(settings, TURN_SETTINGS, use);
    const before = this.#last.get(name) ?? Promise.resolve();
    const turn = before.then(() => this.#take(module, name, text, settings, follower));
    const settled = turn.catch(() => {});
    this.#last.set(name, settled);
    try {
      return await turn;
    } finally {
      if (this.#last.get(name) === settled) this.#last.delete(name);
    }
  }

  async #take(
    module: Module,
    name: string,
    text: Content | undefined,
    { once = false, ...settings }: TurnSettings,
    follower: Follower | undefined,
  ): Promise<Session> {
    const [rath, runs] = [this.#rath, this.#runs];
    const { by, signal } = settings;
    const store = await rath.store();
    const as = by === undefined ? {} : { by };
    if ((await store.head(name)) === undefined)
      return runs.run(module, rath.start(text, as), { ...settings, name }, follower);
    const going = signal === undefined ? {} : { signal };
    const resume = (): Promise<Session> => runs.resume(name, module, going, follower);
    const recorded = await recordedRun(store, name);
    if (recorded !== undefined && once) return resume();
    if (recorded !== undefined && !recorded.over) {
      const isSame = text !== undefined && saidLast(await rath.load(name)) === canonical(text as Json);
      const resumed = await resume();
      // A program that was cut off and begins again says the same once more: that is the turn that it resumes.
      if (text === undefined || isSame) return resumed;
      if (resumed.fact.type === "run-suspend") {
        await this.#withdrawAll(name, text, by);
        const ended = await resume();
        if (ended.fact.type === "run-suspend") throw new PendingWorkError(ended.pending);
      }
    }
    const session = await rath.load(name);
    if (text === undefined) return session;
    return runs.run(module, session.say(text, as), { ...settings, name }, follower);
  }

  /** A user who goes on speaking withdraws their requests for approval. Other pending work stays. */
  async #withdrawAll(name: string, text: Content, by: Principal = "user"): Promise<void> {
    const words = typeof text === "string" ? `: ${text}` : "";
    for (const { id, type, answered } of await this.#rath.pending(name))
      if (type === "approval-ask" && !answered)
        await this.#rath.withdraw(name, { by, ask: id, why: `${by} withdrew the request and said${words}` });
  }
}

/** The newest words of the user, in a form that can be compared. */
function saidLast(session: Session): string | undefined {
  const said = session.recent(RECENT).findLast(({ role }) => role === "user");
  return said !== undefined && "content" in said ? canonical(said.content as Json) : undefined;
}

/** Messages of a turn that is under way. */
const RECENT = 1_000;
