import { type FactId, type Json, RathError, thrownMessage } from "../session/index.js";
import { firstLine } from "../util/index.js";
import type { NameRecord } from "./shelf.js";

/** The name moved since it was read: someone else's step came first. Nothing was written, nothing is lost. */
export class ConflictError extends RathError {
  constructor(name: string, wanted: FactId, actual: FactId | null) {
    super(
      "name-conflict",
      `Cannot move "${name}" to ${wanted.slice(0, 12)}: it stands at ${actual?.slice(0, 12) ?? "nothing"}, which is not in its past.`,
      {
        hint: `load it again and merge: session.merge(await store.load(${JSON.stringify(name)})), or save under another name`,
        data: { name, wanted, actual },
      },
    );
  }
}

/** Someone else holds the lease, or took it over: this writer must stop. `until` says when the holder's lease ends. */
export class FencedError extends RathError {
  constructor(
    name: string,
    held: number | null,
    current: Pick<NameRecord, "epoch" | "owner" | "until"> | undefined,
  ) {
    const { epoch = 0, owner, until = 0 } = current ?? {};
    super(
      "name-fenced",
      `Cannot write to "${name}": ${held === null ? "it is leased" : `epoch ${held} is over, it is at ${epoch}`}${owner ? ` by ${owner}` : ""}.`,
      {
        hint:
          held === null
            ? "wait for the lease to end, or take it with store.lease(name)"
            : "stop this worker; the holder of the lease goes on",
        data: { name, held, current: epoch, owner: owner ?? null, until: owner === undefined ? null : until },
      },
    );
  }
}

/** No such name or id. */
export class NotFoundError extends RathError {
  constructor(what: string, hint: string, why = " in this store") {
    super("not-found", `Cannot find ${what}${why}.`, { hint, data: { what } });
  }
}

/** The record is damaged. `place` says where; `recover` saves everything that is intact. */
export class DamageError extends RathError {
  constructor(place: string, problem: string, cause?: unknown) {
    super("store-damaged", `The store is damaged at ${place}: ${problem}.`, {
      hint: "copy what is intact to a new store: recover(url, target) from openrath/store",
      data: { place, problem },
      cause,
    });
  }
}

/** The store could not be opened, read or written, for a reason outside of it. */
export class StoreError extends RathError {
  constructor(
    reason:
      | "full"
      | "gone"
      | "read-only"
      | "locked"
      | "not-a-store"
      | "newer"
      | "too-many-files"
      | "token-old"
      | "failed"
      | "closed"
      | "unreachable"
      | "denied"
      | "unsupported"
      | "url",
    message: string,
    hint: string,
    more: { data?: { [key: string]: Json }; cause?: unknown } = {},
  ) {
    super(`store-${reason}`, message, { hint, data: more.data ?? {}, cause: more.cause });
  }
}

/** Whatever is asked of a store that was closed. */
export function closedError(url: string, hint = "open it again with openStore(url)"): StoreError {
  return new StoreError("closed", `The store ${url} is closed.`, hint);
}

/** A session that is not here, or is no longer here. */
export function noSession(id: FactId, reason = ""): NotFoundError {
  return new NotFoundError(`the session ${id}`, `${reason}list the names: await store.names()`);
}

/** The problem of a finding: the first line of an error. */
export function problemOf(error: unknown): string {
  return firstLine(thrownMessage(error));
}

/** A store was asked for something that cannot be meant. */
export function misuse(attempt: string, hint: string): StoreError {
  return new StoreError("failed", `Cannot ${attempt}.`, hint);
}

/** Content that stands in its line cannot be erased without breaking the chain. */
export class NotErasableError extends RathError {
  constructor(what: string) {
    super("not-erasable", `Cannot erase ${what}: it is not a blob of this session.`, {
      hint: "only blobs can be erased: start sessions with Session.start(text, { inline: 0 }) to keep all content erasable",
      data: { what },
    });
  }
}
