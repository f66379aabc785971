import { expect } from "vitest";
import { type Module, openRath } from "../../../runtime/index.js";
import { type Death, fragile } from "../../../runtime/testing/fragile.js";
import { over } from "../../../runtime/testing/survive.js";
import type { Session } from "../../../session/index.js";
import { openStore, type Store } from "../../../store/index.js";
import { closeIndexes } from "../../derived.js";

/**
 * Runs a program that dies at every one of its writes in turn, before it or just after it, and goes on after each death.
 * However it went, it replays to the same id. Gives back how many deaths there were.
 */
export async function crashEverywhere(
  program: () => Module,
  look: (store: Store, session: Session) => Promise<void>,
  prepare: (store: Store) => Promise<void> = async () => {},
): Promise<number> {
  let deaths = 0;
  // Just after one write is nearly just before the next: without a campaign, each is taken at every other write.
  const every = process.env.OPENRATH_MEMORY_CRASHES === undefined ? 2 : 1;
  for (const [place, how] of (["before", "after"] satisfies Death[]).entries())
    for (let at = 1 + (every === 2 ? place : 0); ; at += every) {
      const store = await openStore("memory:");
      try {
        await prepare(store);
        const died = await dying(store, program(), at, how);
        const rath = openRath({ store: fragile(store) });
        const begun = (await store.head("n")) !== undefined;
        const session = await over(
          begun ? rath.resume("n", program()) : rath.run(program(), rath.start("go"), { name: "n" }),
        );
        expect(session.fact.type).toBe("run-end");
        expect((await rath.replay("n", program(), { mode: "verify" })).id).toBe(session.id);
        await look(store, session);
        await rath.close();
        if (!died) break;
        deaths += 1;
      } finally {
        await closeIndexes(store);
        await store.close();
      }
    }
  return deaths;
}

async function dying(store: Store, module: Module, at: number, how: Death): Promise<boolean> {
  const mortal = fragile(store, at, how);
  let died = false;
  void mortal.died.then(() => {
    died = true;
  });
  const rath = openRath({ store: mortal });
  await Promise.race([rath.run(module, rath.start("go"), { name: "n" }).catch(() => {}), mortal.died]);
  for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
  await closeIndexes(mortal);
  return died;
}
