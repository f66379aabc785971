import { deepStrictEqual } from "node:assert";
import { randomUUID } from "node:crypto";
import { digestOf, Session } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { type ConformanceCase, caseOf, refusedWith } from "../runner.js";

/** A place for one store: opened as often as needed (always the same data), destroyed at the end. */
export type MadeStore = { open(): Promise<Store>; destroy(): Promise<void> };
/** Makes a place for a new, empty store of the kind to be tested. */
export type MakeStore = () => Promise<MadeStore>;

/** A session that names no key, as in version 0.1: short words are in its lines, not in blobs. */
export function unkeyed(text: string, nonce: string = randomUUID()): Session {
  const fact = { type: "session-start", at: "2026-01-01T00:00:00.000Z", by: "user", nonce };
  const bytes = Buffer.from(text);
  const digest = digestOf(bytes);
  const blobs = { text: { digest, size: bytes.length, media: "text/plain" } };
  const content = bytes.length <= 4096 ? { fact: { ...fact, text } } : { blobs, fact };
  return Session.restore(JSON.stringify({ rath: 1, parents: [], ...content }), [], {
    inline: 4096,
    blobs: { read: (wanted) => (wanted === digest ? bytes : undefined) },
  });
}

/** A promise of a store. */
export type StoreCase = ConformanceCase<MakeStore>;

/** The tools of a case. Everything it opens is closed and destroyed when it is over. */
export interface Bench {
  readonly store: Store;
  /** Another store of the same kind, empty. */
  fresh(): Promise<Store>;
  /** Closes the store and opens it again, as the next process would. */
  reopen(): Promise<Store>;
  /** A second way into the same store while the first stays open. */
  second(): Promise<Store>;
}

/** A case from its title, which begins with the id it proves: `[S1] a saved session loads …`. */
export function promise(quoted: string, hold: (bench: Bench) => Promise<void>): StoreCase {
  return caseOf(quoted, async (makeStore: MakeStore) => {
    const made: MadeStore[] = [];
    const opened: Store[] = [];
    const open = async (place: MadeStore): Promise<Store> => {
      const store = await place.open();
      opened.push(store);
      return store;
    };
    const make = async (): Promise<MadeStore> => {
      const place = await makeStore();
      made.push(place);
      return place;
    };
    try {
      const home = await make();
      const bench: Bench = {
        store: await open(home),
        fresh: async () => open(await make()),
        second: () => open(home),
        reopen: async () => {
          for (const one of opened.splice(0)) await one.close();
          return open(home);
        },
      };
      await hold(bench);
    } finally {
      for (const store of opened) await store.close();
      for (const place of made) await place.destroy();
    }
  });
}

export function isVolatile(store: Store): boolean {
  return store.capabilities.durability === "memory";
}

/** Checks that something is refused with an error of this code, and returns the error. */
export async function refused(
  code: string,
  attempt: Promise<unknown> | (() => unknown),
): ReturnType<typeof refusedWith> {
  return refusedWith([code], "", typeof attempt === "function" ? attempt : () => attempt);
}

/** All that a reader can ask of a session whose past is not in memory, as plain data. */
export function answersOf(session: Session): object {
  const { id, line, depth, parentIds, fact, usage, placement, pending, lineage, branch, files } = session;
  return { id, line, depth, parentIds, fact, usage, placement, pending, lineage, branch, files };
}

/** Checks that a loaded session is the one that was saved: every id and byte of its history, and every answer. */
export function same(loaded: Session, saved: Session): void {
  deepStrictEqual(linesOf(loaded), linesOf(saved));
  deepStrictEqual(answersOf(loaded), answersOf(saved));
  deepStrictEqual(loaded.transcript, saved.transcript);
}

export function linesOf(session: Session): string[] {
  return [...session.history()].map((one) => one.line);
}

/** The ids of all facts in the histories of sessions. */
export function idsOf(sessions: readonly Session[]): Set<string> {
  return new Set(sessions.flatMap((session) => [...session.history()].map(({ id }) => id)));
}

/** Has three writers write while others collect, again and again, what no name leads to. */
export async function whileCollecting(store: Store, write: (writer: number) => Promise<void>): Promise<void> {
  let writing = true;
  const collect = async (): Promise<void> => {
    while (writing) {
      await store.gc();
      await new Promise((done) => setImmediate(done));
    }
  };
  const collecting = collect();
  await Promise.all([1, 2, 3].map(write)).finally(() => {
    writing = false;
  });
  await collecting;
  deepStrictEqual((await store.check()).findings, []);
}

export const AT = "2026-01-02T03:04:05.678Z";
