import { type FactId, RathError, type Session } from "../../session/index.js";

/** Where a session was found from; asked again from a session further on, only the way up to here is walked. */
const found = new WeakMap<Session, Session>();

/** The session with this id in the past of another, or that other itself. */
export function pastOf(session: Session, id: FactId): Session {
  const seen = new Set<Session>();
  const open: Session[] = [session];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (seen.has(node)) continue;
    seen.add(node);
    const earlier = found.get(node);
    const target = earlier?.id === id ? earlier : node.id === id ? node : undefined;
    if (target !== undefined) {
      found.set(session, target);
      return target;
    }
    const sole = node.soleParent;
    if (sole !== undefined) open.push(sole);
    else open.push(...node.parents.toReversed());
  }
  throw new RathError(
    "not-in-past",
    `There is no ${id.slice(0, 12)} in the past of ${session.id.slice(0, 12)}.`,
    {
      hint: "name a session that this one descends from",
      data: { session: session.id, missing: id },
    },
  );
}
