import type { FactId, Principal } from "../session/index.js";
import { defined, optionNames } from "../util/index.js";
import { requireOptions } from "../workflow/index.js";
import { type ForkedBefore, forkBefore } from "./answer/fork-before.js";
import { type Influence, influence } from "./answer/influence.js";
import type { Progress } from "./derived.js";
import { refusing } from "./error.js";
import type { Undone, Written } from "./operation.js";
import type { Space } from "./space.js";

export type UndoOptions = {
  readonly why: string;
  readonly by: Principal;
  /** Whether each session that was reached is forked to just before it was. Nothing of it is changed. Default false. */
  readonly fork?: boolean;
  readonly progress?: Progress;
};

/** The influence of an undone memory until then, and the forks from before that. */
export type Reached = { readonly influence: Influence; readonly forks?: ForkedBefore };

const KNOWN = optionNames<UndoOptions>()("why by fork progress");
const EXAMPLE = '{ why: "it was poisoned", by: "user:ada" }';
/** The maximum number of memories whose influence is returned; that of the others can be queried. */
const MOST = 200;

/**
 * Undoes the changes of a space since an id, and returns the influence of each memory it takes back.
 *
 * ```ts
 * const { undone, reached } = await rollback(space, head, { why: "it was poisoned", by: "user:ada", fork: true });
 * ```
 */
export async function rollback(
  space: Space,
  to: FactId,
  options: UndoOptions,
): Promise<{ readonly undone: Undone; readonly reached: readonly Reached[]; readonly more: boolean }> {
  requireOptions(options, refusing(`roll "${space.name}" back`), EXAMPLE, KNOWN);
  const { why, by, progress } = options;
  const undone = await space.rollback({ to, why, by });
  const found: Influence[] = [];
  for (const memory of undone.memories.slice(0, MOST))
    found.push(await influence(space.store, memory, defined({ progress })));
  const more = undone.memories.length > MOST;
  return { undone, reached: await forked(space, found, options), more };
}

/** Revokes one memory, and returns its influence. */
export async function revoke(
  space: Space,
  memory: FactId,
  options: UndoOptions,
): Promise<{ readonly written: Written } & Reached> {
  requireOptions(options, refusing(`revoke a memory of "${space.name}"`), EXAMPLE, KNOWN);
  const { why, by, progress } = options;
  const written = await space.revoke(memory, { why, by });
  const found = await influence(space.store, written.memory, defined({ progress }));
  const [reached = { influence: found }] = await forked(space, [found], options);
  return { written, ...reached };
}

/** Forks each session once, to before the first of all that reached it: what is made here is not looked at again. */
async function forked({ store }: Space, all: readonly Influence[], { fork, why, by }: UndoOptions) {
  if (fork !== true) return all.map((one) => ({ influence: one }));
  const first = new Map<string, { readonly of: Influence; readonly depth: number }>();
  for (const one of all)
    for (const { name, before } of one.sessions) {
      if (before === undefined) continue;
      const { depth } = await store.load(before, { horizon: 1 });
      const known = first.get(name);
      if (known === undefined || depth < known.depth) first.set(name, { of: one, depth });
    }
  const reached: Reached[] = [];
  for (const one of all) {
    const names = one.sessions
      .filter(
        ({ name, kept, before }) => kept !== true && (before === undefined || first.get(name)?.of === one),
      )
      .map(({ name }) => name);
    reached.push({ influence: one, forks: await forkBefore(store, one, { by, why, names }) });
  }
  return reached;
}
