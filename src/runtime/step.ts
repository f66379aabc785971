import type { WorkspaceFiles } from "../sandbox/index.js";
import { backFrom, type Fact, type FactId, type FactOf, readFact, type Session } from "../session/index.js";
import type { Store } from "../store/index.js";
import { NotARunError } from "./error.js";
import type { Rath } from "./rath.js";
import { recordedRun, startsOf } from "./tape/recorded.js";

/** A fact of a recorded run, and what was known there. */
export type Step = {
  readonly session: Session;
  readonly fact: Fact;
  /** The memories that had been recalled on the way to this fact, the newest last. */
  readonly recalled: readonly FactOf<"memory-read">[];
  /** The files at this fact. */
  files(): Promise<WorkspaceFiles>;
};

/** The facts of a run, of all its branches, in the order in which they were recorded. */
export async function* stepsOf(rath: Rath, nameOrId: string): AsyncGenerator<Step, void> {
  for (const id of await factsOf(await rath.store(), nameOrId)) {
    const session = await rath.load(id);
    yield {
      session,
      fact: session.fact,
      get recalled() {
        const reads = [...backFrom(session)].flatMap(({ fact }) =>
          fact.type === "memory-read" ? [fact] : [],
        );
        return reads.reverse();
      },
      files: () => rath.filesAt(session),
    };
  }
}

/** A what-if took over the facts of the runs that it comes from: they are on its way. */
async function factsOf(store: Store, nameOrId: string): Promise<readonly FactId[]> {
  const recorded = await recordedRun(store, nameOrId);
  if (recorded === undefined) throw new NotARunError(nameOrId, "step through");
  const runs = (await startsOf(store, recorded)).map(({ line }) => readFact(line, undefined).run);
  const found: { readonly id: FactId; readonly run: number; readonly seq: number }[] = [];
  for await (const lines of store.lines([...recorded.leaves, recorded.start]))
    for (const { id, line } of lines) {
      const { run, seq = 0 } = readFact(line, undefined);
      if (run !== undefined && runs.includes(run)) found.push({ id, run: runs.indexOf(run), seq });
    }
  return found.sort((one, other) => one.run - other.run || one.seq - other.seq).map(({ id }) => id);
}
