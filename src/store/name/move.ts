import { BeyondHorizonError, type FactId, isDigest, Session } from "../../session/index.js";
import { showValue } from "../../util/index.js";
import { ConflictError, FencedError, misuse } from "../error.js";
import type { Committed, Fence, Move, NameRecord } from "../shelf.js";
import type { SaveOptions } from "../store.js";

/** The move of a name that options ask for, after a look at what can be said without the store. */
export function moveTo(name: string, head: FactId, options: Omit<SaveOptions, "name">): Move {
  checkName(name);
  const { expect, force, lease, key } = options;
  if (expect !== undefined && expect !== null && !isDigest(expect))
    throw misuse(
      `expect ${showValue(expect)} of "${name}"`,
      "expect is an id, or null for a name that is new",
    );
  if (key !== undefined && typeof key !== "string")
    throw misuse(`record ${showValue(key)} as a step of "${name}"`, 'a key is a text: { key: "step 1" }');
  return {
    name,
    head,
    expect: force ? "any" : expect === undefined ? "past" : expect,
    ...fenceOf(name, lease),
    ...(key !== undefined && { key }),
  };
}

/** The proof that a writer shows at the fence of a name: the epoch of its lease, if it has one. */
export function fenceOf(name: string, lease: SaveOptions["lease"]): Fence {
  if (lease === undefined) return { now: Date.now() };
  if (typeof lease?.epoch !== "number" || lease.name !== name)
    throw misuse(
      `write to "${name}" with the lease of ${showValue(lease?.name)}`,
      `take its lease: await store.lease(${JSON.stringify(name)})`,
    );
  return { now: 0, epoch: lease.epoch };
}

/** The other names of options, to be set or taken away in the commit that moves `name`. */
export function alsoOf(
  name: string,
  also: SaveOptions["also"],
): readonly (readonly [string, Session | null])[] {
  if (also === undefined) return [];
  // A Map or a Session has no names of its own, and would be passed over in silence.
  if (
    typeof also !== "object" ||
    also === null ||
    ![Object.prototype, null].includes(Object.getPrototypeOf(also))
  )
    throw misuse(
      `set ${showValue(also)} beside "${name}"`,
      "give sessions by their names: { also: { other: session } }",
    );
  const others = Object.entries(also);
  for (const [other, session] of others) {
    checkName(other);
    if (other === name)
      throw misuse(
        `move "${name}" twice at once`,
        "it moves to the session that is saved: leave it out of `also`",
      );
    if (session !== null && !(session instanceof Session))
      throw misuse(
        `set "${other}" to ${showValue(session)}`,
        "give a session, or null to take the name away",
      );
  }
  return others;
}

/** Whether a writer must be stopped: its epoch is over, or it has none and someone holds the lease. */
export function isFenced(record: NameRecord | undefined, fence: Fence): boolean {
  if (fence.epoch !== undefined) return record?.epoch !== fence.epoch;
  return record?.owner !== undefined && record.until > fence.now;
}

/** Throws the error that a refused commit stands for. */
export function refuse(committed: Committed, move: Move | undefined): void {
  if (committed.outcome === "orphan")
    throw new BeyondHorizonError(
      `what ${committed.id.slice(0, 12)} comes from (this store does not have it)`,
      committed.parent,
    );
  if (move === undefined) return;
  if (committed.outcome === "fenced") throw new FencedError(move.name, move.epoch ?? null, committed.record);
  if (committed.outcome === "conflict")
    throw new ConflictError(move.name, move.head, committed.record?.head ?? null);
}

export function checkName(name: unknown): asserts name is string {
  if (typeof name === "string" && PRINTABLE.test(name) && !isDigest(name)) return;
  throw misuse(
    `use ${showValue(name)} as a name`,
    "a name has 1 to 200 printable characters and is not an id",
  );
}

export function checkOwner(owner: unknown): asserts owner is string {
  if (typeof owner === "string" && PRINTABLE.test(owner)) return;
  throw misuse(`lease a name to ${showValue(owner)}`, "an owner has 1 to 200 printable characters");
}

const PRINTABLE = /^[^\p{Cc}\p{Cs}]{1,200}$/u;
