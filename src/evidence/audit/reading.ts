import { beginsTurn } from "../../agent/model/index.js";
import { type Fact, type FactId, type FactOf, parentsOf, typeOf } from "../../session/index.js";
import { lineBefore } from "../../store/index.js";
import type { Reader } from "./reader.js";

/** A reading of a memory, on the record of who read. */
export type Read = { readonly id: FactId; readonly fact: FactOf<"memory-read"> };

/** How many facts of a turn are looked at. */
const TURN = 10_000;

/**
 * The readings of the turn that a session is in, oldest first: what a model may have been told of what is remembered. Where
 * branches came together and both go on, ours is the newer one.
 */
export async function turnReadings(reader: Reader, from: FactId): Promise<readonly Read[]> {
  const found: Read[] = [];
  const met = new Set<FactId>();
  const open = [from];
  for (let id = open.pop(); id !== undefined && met.size < TURN; id = open.pop()) {
    const line = met.has(id) ? undefined : await reader.store.line(id);
    if (line === undefined) continue;
    met.add(id);
    const type = typeOf(line);
    if (type === "memory-read") {
      const { fact } = await reader.read(id, line);
      if (fact.type === "memory-read") found.push({ id, fact });
    }
    const parents = parentsOf(line);
    const decides = parents.length > 1 || BEGINS.has(type);
    const fact = decides ? (await reader.read(id, line)).fact : undefined;
    if (fact !== undefined && beginsTurn(fact)) continue;
    // Of both, ours is taken from the end first.
    if (fact?.type === "branch-merge" && fact.adopt === "both") open.push(...parents.toReversed());
    else {
      const on = await lineBefore(reader.store, id, line);
      if (on !== undefined) open.push(on);
    }
  }
  return found.reverse();
}

/** What only these can do: the others need not be read for it. */
const BEGINS: ReadonlySet<string> = new Set([
  "session-start",
  "session-detach",
  "message-say",
] satisfies Fact["type"][]);

const OUTCOME = /^(?:tool|step)-(?:result|failure)$/;

/** The readings that a call did, in the history of a session. */
export async function readingsOf(reader: Reader, head: FactId, call: FactId): Promise<readonly Read[]> {
  const found: Read[] = [];
  for await (const lines of reader.store.lines(head))
    for (const { id, line } of lines) {
      const type = typeOf(line);
      // What a call did stands before its outcome.
      if (OUTCOME.test(type) && line.includes(`"of":"${call}"`)) return found;
      if (type !== "memory-read") continue;
      const { fact } = await reader.read(id, line);
      if (fact.type === "memory-read" && fact.of === call) found.push({ id, fact });
    }
  return found;
}
