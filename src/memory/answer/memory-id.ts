import { type FactId, readFact } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import type { Refuse } from "../../workflow/index.js";
import { MemoryRefusedError } from "../error.js";
import { isId } from "./fact-line.js";

export const HINT = "give the id of a memory: what a write or a recall answers with as `memory`";

/** The memory that is meant by an id, the beginning of one, or the id of something that was said about it later. */
export async function knownMemory(store: Store, given: unknown): Promise<FactId> {
  if (typeof given !== "string" || !/^[0-9a-f]{6,64}$/.test(given))
    throw new MemoryRefusedError(
      "unknown",
      "ask about a memory",
      `${JSON.stringify(given)?.slice(0, 80)} is not the id of one`,
      HINT,
    );
  const id = isId(given) ? given : await store.resolve(given);
  const line = await store.line(id);
  // One that was collected may have been read by sessions that are still here.
  if (line === undefined) return id;
  const fact = readFact(line, undefined);
  switch (fact.type) {
    case "memory-write":
      return id;
    case "memory-revise":
    case "memory-revoke":
    case "memory-promote":
    case "memory-expire":
    case "memory-link":
      return fact.of;
    default:
      throw new MemoryRefusedError(
        "unknown",
        "ask about a memory",
        `${id.slice(0, 12)} is a ${fact.type}`,
        HINT,
        { fact: id },
      );
  }
}

export function optionRefusal(use: string): Refuse {
  return (reason, hint) => new MemoryRefusedError("option", use, reason, hint);
}
