import { type FactId, parentsOf, typeOf } from "../session/index.js";
import { findSession, NotFoundError, type Store } from "../store/index.js";

/** Whether a line counts as a step: something was asked of a model, a tool, or the world. */
export function isStep(line: string): boolean {
  return /^(model|tool|step)-call$/.test(typeOf(line));
}

/** The outcome of the n-th step of a history: what a branch that goes on from a step goes on from. */
export async function stepAt(store: Store, head: FactId, number: number): Promise<FactId> {
  let seen = 0;
  let call: FactId | undefined;
  let last: FactId | undefined;
  for await (const lines of store.lines(head))
    for (const { id, line } of lines) {
      if (call === undefined) {
        if (isStep(line)) seen += 1;
        if (seen !== number || !isStep(line)) continue;
        [call, last] = [id, id];
        continue;
      }
      // Up to its outcome it is one line of facts: what is about the effect stands between.
      if (!parentsOf(line).includes(last as FactId)) continue;
      last = id;
      if (/-(result|reply|failure)$/.test(typeOf(line)) && line.includes(`"of":"${call}"`)) return id;
    }
  if (call !== undefined) return call;
  throw new NotFoundError(`step ${number}: there are ${seen}`, "list the steps: rath log SESSION");
}

/** Where `--at` points: the number of a step, `~3`, or anything that finds a session. */
export async function placeAt(store: Store, session: FactId, at: string | undefined): Promise<FactId> {
  if (at === undefined) return session;
  // As the log shows it.
  if (/^#\d+$/.test(at)) return stepAt(store, session, Number(at.slice(1)));
  if (/^~\d*$/.test(at)) return (await findSession(store, `${session}${at}`)).id;
  if (/^\d{1,6}$/.test(at) && !(await isName(store, at))) return stepAt(store, session, Number(at));
  return (await findSession(store, at)).id;
}

async function isName(store: Store, text: string): Promise<boolean> {
  return (await store.head(text)) !== undefined;
}
