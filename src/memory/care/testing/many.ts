import { Session } from "../../../session/index.js";
import type { Store } from "../../../store/index.js";

/** A space with many memories, as its facts: written one by one they would take minutes. */
export function session(texts: Iterable<string>, importance?: (place: number) => number): Session {
  let end = Session.start(undefined).append({
    type: "memory-space",
    by: "runtime",
    space: "notes",
    scope: ["user:ada"],
  });
  let place = 0;
  for (const text of texts) {
    end = end.append({
      type: "memory-write",
      by: "agent:a",
      space: "notes",
      text,
      scope: ["user:ada"],
      source: "reflection",
      because: [end.id],
      origins: ["web"],
      ...(importance !== undefined && { importance: importance(place) }),
    });
    place += 1;
  }
  return end;
}

export async function saved(store: Store, end: Session): Promise<void> {
  await store.save(end, { name: "memory/notes", expect: null });
}
