import type { Json, Session } from "openrath";
import { openRath, type Rath, RunFailedError } from "openrath";
import type { Store } from "openrath/store";
import { AnswerError, CancelledError, RunClosedError } from "../../src/runtime/error.js";
import type { Awaited } from "../../src/runtime/people/awaited.js";
import type { RunSettings } from "../../src/runtime/rath-options.js";
import { DeadError, type Death, FrailStore } from "./frail-store.js";
import { moduleOf } from "./interpret.js";
import type { Program, Verdict } from "./program.js";
import { deadHand, type World } from "./world.js";

/** Longer than anything here takes, also on a busy machine. */
const PATIENCE = 20_000;
const ROUNDS = 300;

/** How a program came out, after as many processes as it took. */
export type Driven = {
  readonly session: Session;
  readonly name: string;
  /** What the record says was thrown. */
  readonly error: string | undefined;
  /** Facts that an observer was told of. */
  readonly told: ReadonlySet<string>;
  readonly saves: number;
  readonly deaths: number;
  readonly suspensions: number;
};

/**
 * Runs a program to its end in the world: one process after the other, each dying as it is told to; between them,
 * whatever is awaited is answered, and what is in doubt is settled by looking at the world.
 */
export async function drive(
  program: Program,
  world: World,
  store: Store,
  base: Session,
  options: {
    readonly name: string;
    readonly deaths?: readonly Death[];
    readonly random: () => number;
    /** The run that this one is a what-if of. */
    readonly of?: string;
    /** It is a retry of that run. */
    readonly again?: boolean;
  },
): Promise<Driven> {
  const { name, random, deaths = [], of, again = false } = options;
  const told = new Set<string>();
  let died = 0;
  const processes: FrailStore[] = [];
  let suspensions = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const hand = world.hand();
    const frail = new FrailStore(store, deaths[round], (when) => {
      if (when === "close") void rath.close();
      else hand.alive = false;
    });
    processes.push(frail);
    const rath: Rath = openRath({ store: frail.store, patience: program.patience });
    rath.observe((one) => {
      if (one.kind !== "fact") return;
      const { fact, id } = one.session;
      // Nothing descends from a suspension, so it is in nobody's past.
      if (fact.type !== "run-suspend") told.add(id);
      if (fact.type.endsWith("-result") || fact.type.endsWith("-failure"))
        world.finish((fact as { of: string }).of);
      if (program.eager && (fact.type === "approval-ask" || fact.type === "signal-await"))
        void answerEarly(rath, id).catch(() => {});
    });
    const controller = new AbortController();
    if (program.abort !== undefined) {
      const { calls, wait } = program.abort;
      const due = world.calls + calls;
      const cancel = (): void => void setTimeout(() => controller.abort(new Error("enough")), wait);
      if (calls === 0) cancel();
      else world.onCall(() => world.calls === due && cancel());
    }
    const module = moduleOf(program, hand);
    const begun = (await store.names()).some((one) => one.name === name);
    try {
      const settings: RunSettings = {
        ...(program.abort !== undefined && { signal: controller.signal }),
        ...(program.budget !== undefined && { budget: { steps: program.budget } }),
      };
      const { signal } = settings;
      const begin = (): Promise<Session> => {
        if (of === undefined) return rath.run(module, base, { name, ...settings });
        const more = { name, ...(signal && { signal }) };
        return again ? rath.retry(of, module, more) : rath.replay(of, module, { mode: "what-if", ...more });
      };
      const session = await within(begun ? rath.resume(name, module, settings) : begin(), "a run");
      if (session.fact.type !== "run-suspend") return done(session, undefined);
      suspensions += 1;
      await world.rests();
      await answerSome(rath, name, world, random);
    } catch (error) {
      if (error instanceof RunFailedError || (error instanceof CancelledError && error.session !== undefined))
        return done(error.session as Session, error instanceof RunFailedError ? error.message : "cancelled");
      const gone =
        (frail.dead && (error instanceof DeadError || error instanceof RunClosedError)) ||
        (error instanceof RunClosedError && deaths[round]?.when === "close") ||
        (error as { code?: string }).code === "runtime-closed";
      if (!gone) throw error;
      died += 1;
      await world.rests();
      await finishDurable(store, name, world);
    } finally {
      await rath.close();
    }
  }
  throw new Error(`not over after ${ROUNDS} rounds: ${JSON.stringify(await pendingOf(store, name))}`);

  function done(session: Session, error: string | undefined): Driven {
    const saves = processes.reduce((sum, one) => sum + one.saves, 0);
    return { session, name, error, told, saves, deaths: died, suspensions };
  }
}

/** Replays a run with a world, clock and chance that must not be touched. */
export async function replayed(
  program: Program,
  store: Store,
  nameOrId: string,
  mode: "replay" | "verify",
): Promise<{ readonly session: Session; readonly caught: readonly string[] }> {
  const caught: string[] = [];
  const refuse = (what: string) => (): never => {
    caught.push(what);
    throw new Error(`a replay asked for ${what}`);
  };
  const rath = openRath({
    store,
    clock: refuse("the time"),
    random: refuse("chance"),
    uuid: refuse("an id"),
    patience: program.patience,
  });
  const settings = { mode };
  try {
    const session = await within(
      rath.replay(nameOrId, moduleOf(program, deadHand(caught)), settings),
      `a ${mode}`,
    );
    return { session, caught };
  } finally {
    await rath.close();
  }
}

/** What a result is, whatever the ids and times are: what was said, what was thrown, what every effect gave. */
export function digestOf({ session, error }: Driven): Json {
  const keys = new Map<string, string>();
  const outcomes: string[] = [];
  for (const { id, fact } of session.history()) {
    if (fact.type === "step-call" || fact.type === "tool-call") {
      const { key } = (fact.input ?? {}) as { key?: string };
      keys.set(id, key ?? fact.name);
    } else if (fact.type === "step-result")
      outcomes.push(`${keys.get(fact.of)} = ${fact.by === "runtime" ? "told" : JSON.stringify(fact.value)}`);
    else if (fact.type === "tool-result")
      outcomes.push(`${keys.get(fact.of)} = ${JSON.stringify(fact.output)}`);
    else if (fact.type === "step-failure" || fact.type === "tool-failure")
      outcomes.push(`${keys.get(fact.of)} ! ${fact.error.message}`);
  }
  const transcript = session.transcript.map((message) => JSON.stringify(message));
  return { error: error ?? null, transcript, outcomes: outcomes.sort() };
}

export async function within<T>(work: Promise<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} hangs`)), PATIENCE);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Answers some of what is awaited, at least one; waits a little when only time is. */
async function answerSome(rath: Rath, name: string, world: World, random: () => number): Promise<void> {
  const open = (await rath.pending(name)).filter((one) => !one.answered && isAnswerable(one));
  if (open.length === 0) await new Promise((resolve) => setTimeout(resolve, 2));
  const least = Math.floor(random() * open.length);
  for (const [place, one] of open.entries())
    if (place === least || random() < 0.5)
      await answer(rath, name, one, world).catch((error: unknown) => {
        // Somebody was quicker: one answer per question.
        if (!(error instanceof AnswerError && error.message.includes("already"))) throw error;
      });
}

function isAnswerable({ type, doubt }: Awaited): boolean {
  return type === "approval-ask" || type === "signal-await" || doubt === true;
}

async function answer(rath: Rath, name: string, one: Awaited, world: World): Promise<void> {
  const by = "user:ada";
  if (one.doubt === true) {
    const key = world.keyOf(one.id);
    const fate = key === undefined ? undefined : world.fateOf(key);
    if (fate === undefined && world.wanted(one.id) > 20)
      await rath.settle(name, { by, of: one.id, decision: "failed", why: "never in time" });
    else if (fate === undefined) await rath.settle(name, { by, of: one.id, decision: "again" });
    else if ("value" in fate)
      await rath.settle(name, { by, of: one.id, decision: "done", value: fate.value });
    else {
      const error = { name: "Error", message: fate.error };
      await rath.settle(name, { by, of: one.id, decision: "failed", error });
    }
  } else if (one.type === "signal-await") await rath.answer(name, one.id, { to: one.what }, by);
  else {
    const decision = { by, ask: one.id, ...(one.digest !== undefined && { digest: one.digest }) } as const;
    if (verdictIn(one.shown) === "reject") await rath.reject(name, { ...decision, why: "no" });
    else await rath.approve(name, decision);
  }
}

/** Answers a question while the run goes on, by the id of the question. */
async function answerEarly(rath: Rath, id: string): Promise<void> {
  for (const one of await rath.pending(id)) {
    if (one.id !== id || one.answered) continue;
    if (one.type === "signal-await") await rath.answer(id, id, { to: one.what }, "user:eve");
    else if (verdictIn(one.shown) === "reject") await rath.reject(id, { by: "user:eve", ask: id, why: "no" });
    else await rath.approve(id, { by: "user:eve", ask: id });
  }
}

function verdictIn(shown: Json | undefined): Verdict {
  const { verdict, input, step } = shown as {
    verdict?: Verdict;
    step?: string;
    input?: { verdict?: Verdict } | null;
  };
  return verdict ?? input?.verdict ?? (step?.endsWith("!reject") === true ? "reject" : "approve");
}

/** Tells the world which outcomes survived: none of their effects may be called again. */
async function finishDurable(store: Store, name: string, world: World): Promise<void> {
  const heads = (await store.names()).filter((one) => one.name === name || one.name.startsWith("run/"));
  if (heads.length === 0) return;
  for await (const { fact } of store.history(heads.map(({ id }) => id)))
    if (fact.type.endsWith("-result") || fact.type.endsWith("-failure"))
      world.finish((fact as unknown as { of: string }).of);
}

async function pendingOf(store: Store, name: string): Promise<readonly unknown[]> {
  return (await store.load(name)).pending;
}
