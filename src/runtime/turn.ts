import {
  type Content,
  canonical,
  type FactId,
  type Json,
  type Principal,
  parentsOf,
  type Session,
  thrownMessage,
} from "../session/index.js";
import type { Store } from "../store/index.js";
import { defined } from "../util/index.js";
import { CancelledError, PendingWorkError, RunFailedError } from "./error.js";
import { requireKnown, requireModule, requireNewName } from "./given.js";
import type { Module } from "./module.js";
import { behalfOf } from "./policy/index.js";
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
    await requireNewName(name, use, () => this.#rath.store());
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
    const { signal } = settings;
    // Its caller may have left while other turns were taken.
    if (signal?.aborted === true) throw new CancelledError(thrownMessage(signal.reason));
    const store = await rath.store();
    if ((await store.head(name)) === undefined) {
      const { by } = settings;
      return runs.run(module, rath.start(text, defined({ by })), { ...settings, name }, follower);
    }
    const resume = (): Promise<Session> => runs.resume(name, module, defined({ signal }), follower);
    const recorded = await recordedRun(store, name);
    if (recorded !== undefined && once) return resume();
    const by = settings.by ?? behalfOf(await rath.load(name));
    if (recorded !== undefined && !recorded.over) {
      // A program that was cut off and begins again says the same once more: that is the turn that it resumes.
      if (text === undefined || (await saidBefore(rath, store, recorded.root)) === canonical(text as Json))
        return resume();
      await this.#finish(name, text, by, resume);
    }
    const session = await rath.load(name);
    if (text === undefined) return session;
    return runs.run(module, session.say(text, { by }), { ...settings, name }, follower);
  }

  /** Brings the run before to its end, so that something new can be said. A run that fails has an end too. */
  async #finish(name: string, text: Content, by: Principal, resume: () => Promise<Session>): Promise<void> {
    try {
      if ((await resume()).fact.type !== "run-suspend") return;
      await this.#withdrawAll(name, text, by);
      const ended = await resume();
      if (ended.fact.type === "run-suspend") throw new PendingWorkError(ended.pending);
    } catch (error) {
      if (!(error instanceof RunFailedError)) throw error;
    }
  }

  /** A user who goes on speaking withdraws their requests for approval. Other pending work stays. */
  async #withdrawAll(name: string, text: Content, by: Principal): Promise<void> {
    const words = typeof text === "string" ? `: ${text}` : "";
    for (const { id, type, answered } of await this.#rath.pending(name))
      if (type === "approval-ask" && !answered)
        await this.#rath.withdraw(name, { by, ask: id, why: `${by} withdrew the request and said${words}` });
  }
}

/** The newest words of the user before a run, in a form that can be compared. */
async function saidBefore(rath: Rath, store: Store, start: FactId): Promise<string | undefined> {
  const line = await store.line(start);
  const [base] = line === undefined ? [] : parentsOf(line);
  if (base === undefined) return undefined;
  const said = (await rath.load(base)).recent(RECENT).findLast(({ role }) => role === "user");
  return said !== undefined && "content" in said ? canonical(said.content as Json) : undefined;
}

/** Messages of a turn that is under way. */
const RECENT = 1_000;
