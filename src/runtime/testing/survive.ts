import { expect } from "vitest";
import type { Json, Session } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { CancelledError, type Module, type Rath, RunFailedError } from "../index.js";
import { type Death, fragile } from "./fragile.js";
import { blind, rathOf } from "./rath.js";
import type { World } from "./world.js";

/** A program that is to be crashed at every write. It must answer the same whoever asks, but for what the world says. */
export type Program = (world: World) => Module;

/** Goes on with a run until it is over: answers what it waits for as a person would who can see the world. */
export async function finish(rath: Rath, module: Module, world: World, name = "n"): Promise<Session> {
  for (let turn = 0; turn < 50; turn++) {
    const session = await over(rath.resume(name, module));
    if (session.fact.type === "run-end") return session;
    const pending = (await rath.pending(name)).filter(({ answered }) => !answered);
    const doubts = pending.filter(({ doubt }) => doubt === true);
    // What nobody knows is settled first, as it would have been without a crash.
    for (const { id, what } of doubts) {
      const done = world.count(what) > 0;
      const decision = done ? "done" : "again";
      await rath.settle(name, { by: "user:ada", of: id, decision, ...(done && { value: what }) });
    }
    for (const { id, type, what } of doubts.length > 0 ? [] : pending) {
      if (type === "signal-await") await rath.answer(name, id, `for ${what}`, "user:ada");
      else if (type === "approval-ask") await rath.approve(name, { by: "user:ada", ask: id });
    }
  }
  throw new Error("it does not come to an end");
}

/** Where a run ended, also when it threw. */
export async function over(running: Promise<Session>): Promise<Session> {
  try {
    return await running;
  } catch (error) {
    if (error instanceof RunFailedError) return error.session;
    if (error instanceof CancelledError && error.session !== undefined) return error.session;
    throw error;
  }
}

/**
 * Runs a program, crashes it at save number `at`, again at `again` saves after it was resumed, and goes on to the end.
 * Everything that somebody was told of must be there, no write must have happened twice, and the record must replay.
 */
export async function crashAt(
  store: Store,
  program: Program,
  world: World,
  { at, how, again }: { readonly at: number; readonly how: Death; readonly again?: number },
): Promise<Session> {
  const module = program(world);
  const told = new Set<string>();
  const attempt = async (saves: number, go: (rath: Rath) => Promise<Session>): Promise<void> => {
    const dying = fragile(store, saves, how);
    const rath = rathOf({ store: dying });
    rath.observe((seen) => {
      if (seen.kind === "fact" && seen.session.fact.type !== "run-suspend") told.add(seen.session.id);
    });
    await Promise.race([go(rath).catch(() => {}), dying.died]);
    // What the dead process still does in memory must not matter.
    for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
  };
  await attempt(at, (rath) => rath.run(module, rath.start("go"), { name: "n" }));
  const begun = async (): Promise<boolean> => (await store.names()).some(({ name }) => name === "n");
  if (again !== undefined && (await begun())) await attempt(again, (rath) => finish(rath, module, world));
  const rath = rathOf({ store: fragile(store) });
  if (!(await begun())) await over(rath.run(module, rath.start("go"), { name: "n" }));
  const ended = await finish(rath, module, world);
  const ids = new Set([...ended.history()].map(({ id }) => id));
  for (const id of told) expect(ids.has(id)).toBe(true);
  expect((await blind(store).replay("n", module, { mode: "verify" })).id).toBe(ended.id);
  const names = (await store.names()).map(({ name }) => name);
  expect(names).toEqual(["n"]);
  return ended;
}

/** What a run came to, whatever happened on the way: what was said and what was given, without ids and times. */
export function resultOf(session: Session): Json {
  return [
    session.fact.type === "run-end" && session.fact.error !== undefined ? session.fact.error.message : null,
    ...session.transcript.map((message) => ("content" in message ? (message.content as Json) : null)),
  ];
}
