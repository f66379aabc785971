import { expect } from "vitest";
import type { Json, Session } from "../../../../session/index.js";
import type { Imported } from "../../exchange.js";

/** Every value of JSON that has no others in it, with its path. */
export function* leavesOf(value: Json, path = ""): Generator<readonly [path: string, value: Json]> {
  if (typeof value === "object" && value !== null) {
    for (const [key, part] of Object.entries(value)) yield* leavesOf(part as Json, `${path}/${key}`);
  } else yield [path, value];
}

/** Every value in every fact of sessions. */
export function toldBy(sessions: readonly Session[]): ReadonlySet<Json> {
  const told = new Set<Json>();
  const seen = new Set<string>();
  for (const session of sessions)
    for (const { id, fact } of session.history()) {
      if (seen.has(id)) continue;
      seen.add(id);
      for (const [, value] of leavesOf(fact as unknown as Json)) told.add(value);
    }
  return told;
}

/** Fails with the places of what is in no fact. */
export function expectNothingLost(pieces: readonly Json[], imported: readonly Imported[]): void {
  const told = toldBy(imported.map(({ session }) => session));
  const lost = pieces.flatMap((piece) => [...leavesOf(piece)].filter(([, value]) => !told.has(value)));
  expect(lost).toEqual([]);
}
