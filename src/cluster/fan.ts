import { digestOfModule, type Module, type Rath, RefusedError } from "../runtime/index.js";
import type { SubmitOptions } from "../runtime/submit/index.js";
import type { Session } from "../session/index.js";
import type { Store } from "../store/index.js";
import { find, isOver } from "./control.js";

/** How many are submitted at a time: they share commits. */
const AT_ONCE = 64;

/**
 * Submits a fork of a session for each of these tasks, as `NAME/1`, `NAME/2` and so on. Earlier submissions are not
 * repeated. Resolves with the names.
 */
export async function fanOut(
  rath: Rath,
  module: Module,
  session: Session,
  tasks: readonly string[],
  options: Omit<SubmitOptions, "name"> & { readonly name: string },
): Promise<readonly string[]> {
  const { name } = options;
  if (!Array.isArray(tasks) || tasks.length === 0)
    throw new RefusedError(
      `fan out ${name}`,
      "`tasks` must be a list with at least one text",
      'give a list of texts: ["Review a.ts.", "Review b.ts."]',
    );
  const store = await rath.store();
  const version = digestOfModule(module);
  const names = tasks.map((_, index) => `${name}/${index + 1}`);
  const submit = async (one: string, index: number): Promise<void> => {
    const known = await find(store, one);
    if (known?.module === module.name && known.version === version) return;
    const fork = session.fork(`${index + 1}`).say(tasks[index] as string);
    await rath.submit(module, fork, { ...options, name: one });
  };
  for (let from = 0; from < names.length; from += AT_ONCE)
    await Promise.all(names.slice(from, from + AT_ONCE).map((one, index) => submit(one, from + index)));
  return names;
}

/**
 * Waits until each of these sessions has ended, on whichever worker, and merges them: the conversation stays that of their common
 * past, and each of them is evidence.
 */
export async function gather(
  store: Store,
  names: readonly string[],
  { signal }: { readonly signal?: AbortSignal } = {},
): Promise<Session> {
  const stop = new AbortController();
  const ended = (signal === undefined ? [] : [signal]).concat(stop.signal);
  // From before the first look on: what ends while it looks is heard.
  const moves = store.watch({ signal: AbortSignal.any(ended) })[Symbol.asyncIterator]();
  const open = new Set(names);
  try {
    for (const name of names) if (await isOver(store, name)) open.delete(name);
    while (open.size > 0) {
      const { value: move, done } = await moves.next();
      signal?.throwIfAborted();
      if (done === true || move === undefined) break;
      if (open.has(move.name) && (await isOver(store, move.name))) open.delete(move.name);
    }
  } finally {
    stop.abort();
  }
  const [first, ...others] = await Promise.all(names.map((name) => store.load(name)));
  if (first === undefined)
    throw new RefusedError(
      "gather sessions",
      "the list of names is empty",
      "give the names that fanOut returned",
    );
  return others.length === 0 ? first : first.merge(others, { adopt: "none", why: "gathered", by: "runtime" });
}
