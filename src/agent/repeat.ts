import { canonical } from "../runtime/index.js";
import type { FactOf, Session } from "../session/index.js";

/** The call that failed last, and how often in a row it was made with the same input and failed. */
export type Repeats = { readonly key: string; readonly name: string; readonly count: number };

/** So many identical failing calls in a row are pointed out to the model; twice as many end its work. */
export const POINT_OUT = 3;
export const GIVE_UP = 2 * POINT_OUT;

export const NONE: Repeats = Object.freeze({ key: "", name: "", count: 0 });

/** Counts on over the tool calls between two sessions, in the order in which they were asked for. */
export function counted(repeats: Repeats, before: Session, after: Session): Repeats {
  const calls: { readonly id: string; readonly fact: FactOf<"tool-call"> }[] = [];
  const failed = new Set<string>();
  for (let node: Session | undefined = after; node !== undefined && node !== before; node = behind(node)) {
    const { fact } = node;
    if (fact.type === "tool-call") calls.unshift({ id: node.id, fact });
    else if (fact.type === "tool-failure") failed.add(fact.of);
  }
  let latest = repeats;
  for (const { id, fact } of calls) {
    if (!failed.has(id)) {
      latest = NONE;
      continue;
    }
    const key = `${fact.name}\n${canonical(fact.input)}`;
    latest = { key, name: fact.name, count: latest.key === key ? latest.count + 1 : 1 };
  }
  return latest;
}

/** Whether a call has failed often enough to be pointed out, and had not before. */
export function isNew(repeats: Repeats, before: Repeats): boolean {
  return repeats.count >= POINT_OUT && (before.key !== repeats.key || before.count < POINT_OUT);
}

function behind(session: Session): Session | undefined {
  return session.soleParent ?? session.parents[0];
}
