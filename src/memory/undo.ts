import type { FactId, Principal } from "../session/index.js";
import { type Known, requireOptions } from "../workflow/given.js";
import { type ForkedBefore, forkBefore } from "./answer/fork-before.js";
import { type Influence, influence } from "./answer/influence.js";
import type { Progress } from "./derived.js";
import { refusing } from "./draft.js";
import type { Space, Undone, Written } from "./space.js";

export type UndoOptions = {
  readonly why: string;
  readonly by: Principal;
  /** Whether each session that was reached is forked to just before it was. Nothing of it is changed. Default false. */
  readonly fork?: boolean;
  readonly progress?: Progress;
};

/** What an undone memory had reached by then, and the forks from before that. */
export type Reached = { readonly influence: Influence; readonly forks?: ForkedBefore };

const KNOWN: Known<UndoOptions> = { why: true, by: true, fork: true, progress: true };
/** Memories whose reach is looked up when very many are undone at once; that of the others can be asked for. */
const MOST = 200;

/**
 * Undoes what was done in a space since one of its ids, and says what each memory had reached that is not told any more.
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
  const { why, by } = checked(options, `roll "${space.name}" back`);
  const undone = await space.rollback({ to, why, by });
  const reached: Reached[] = [];
  for (const memory of undone.memories.slice(0, MOST)) reached.push(await reachOf(space, memory, options));
  return { undone, reached, more: undone.memories.length > MOST };
}

/** Takes one memory back, and says what it had reached. */
export async function revoke(
  space: Space,
  memory: FactId,
  options: UndoOptions,
): Promise<{ readonly written: Written } & Reached> {
  const { why, by } = checked(options, `revoke a memory of "${space.name}"`);
  const written = await space.revoke(memory, { why, by });
  return { written, ...(await reachOf(space, memory, options)) };
}

async function reachOf(
  { store }: Space,
  memory: FactId,
  { why, by, fork, progress }: UndoOptions,
): Promise<Reached> {
  const found = await influence(store, memory, progress === undefined ? {} : { progress });
  if (fork !== true) return { influence: found };
  return { influence: found, forks: await forkBefore(store, found, { by, why }) };
}

function checked(options: UndoOptions, use: string): UndoOptions {
  requireOptions(options, refusing(use), '{ why: "it was poisoned", by: "user:ada" }', KNOWN);
  return options;
}
