import type { Fact, FactOf, FactType, Session } from "../../session/index.js";
import type { Store } from "../../store/index.js";

/** The facts of a session, oldest first. */
export function factsOf(session: Session): readonly Fact[] {
  return [...session.history()].map(({ fact }) => fact);
}

export function typesOf(session: Session): readonly FactType[] {
  return factsOf(session).map(({ type }) => type);
}

/** The facts of one type. */
export function all<Type extends FactType>(session: Session, type: Type): readonly FactOf<Type>[] {
  return factsOf(session).filter((fact): fact is FactOf<Type> => fact.type === type);
}

/** The sessions that a type of fact made. */
export function made(session: Session, type: FactType): readonly Session[] {
  return [...session.history()].filter(({ fact }) => fact.type === type);
}

export function only<Value>(list: readonly Value[]): Value {
  if (list.length !== 1) throw new Error(`${list.length} instead of one`);
  return list[0] as Value;
}

/** How often each run stamped a fact, over everything that a store has under some name. */
export async function stampsIn(store: Store): Promise<Map<string, number>> {
  const stamps = new Map<string, number>();
  const ids = new Set<string>();
  for (const { name } of await store.names())
    for await (const { id, fact } of store.history(name)) {
      if (ids.has(id) || fact.run === undefined) continue;
      ids.add(id);
      stamps.set(fact.run, (stamps.get(fact.run) ?? 0) + 1);
    }
  return stamps;
}
