import { type FactId, type Principal, Session } from "../session/index.js";
import { ConflictError, type Store } from "../store/index.js";
import { defined } from "../util/index.js";
import { type ChainEnd, derivedOf } from "./derived.js";
import { refusing } from "./error.js";
import { storeNameOf } from "./name.js";
import type { SpaceSettings } from "./operation.js";

const TRIES = 50;
/** After so many facts the beginning of the chain need not be held in memory. */
const HELD = 1_000;

/** The appended session. `replayed` says that it had been done before: much may have changed since. */
export type Appended = { readonly session: Session; readonly replayed: boolean };

/** The chain of sessions that a space is in its store. */
export class SpaceChain {
  readonly #store: Store;
  readonly #settings: SpaceSettings;
  readonly #name: string;

  constructor(store: Store, settings: SpaceSettings) {
    this.#store = store;
    this.#settings = settings;
    this.#name = storeNameOf(settings.name);
  }

  /** Saves the session that `make` returns for the end of the chain, and calls it again when another writer was quicker. */
  append(
    use: string,
    { by, key }: { readonly by: Principal; readonly key?: string | undefined },
    make: (end: Session) => Promise<Session>,
  ): Promise<Appended> {
    const name = this.#name;
    return derivedOf(this.#store).alone(`end ${name}`, async () => {
      for (let turn = 0; turn < TRIES; turn++) {
        const end = await this.tip(by);
        let next: Session;
        try {
          next = await make(end);
        } catch (error) {
          // The operation may be impossible because a process that then crashed has done it already.
          const session = await this.#done(end, key);
          if (session === undefined) throw error;
          return { session, replayed: true };
        }
        try {
          const options = { name, expect: end.id, ...defined({ key }) };
          const { id, replayed } = await this.#store.save(next, options);
          if (replayed) return { session: await this.#store.load(id, { horizon: 1 }), replayed };
          this.#remember(next);
          return { session: next, replayed };
        } catch (error) {
          if (!(error instanceof ConflictError)) throw error;
          this.#ends.delete(name);
        }
      }
      throw refusing(use, "busy")(`others wrote to it ${TRIES} times meanwhile`, "try again");
    });
  }

  /** The end of the chain, which it begins if necessary. */
  async tip(by: Principal): Promise<Session> {
    const known = this.#ends.get(this.#name)?.session;
    const head = await this.#store.head(this.#name);
    if (known !== undefined && known.id === head) return known;
    if (head !== undefined) {
      const loaded = await this.#store.load(head, { horizon: HELD });
      this.#remember(loaded);
      return loaded;
    }
    const { name: space, scope, rules } = this.#settings;
    const begun = Session.start(undefined).append({
      type: "memory-space",
      space,
      scope: scope,
      ...(Object.keys(rules).length > 0 && { rules: rules }),
      by,
    });
    try {
      await this.#store.save(begun, { name: this.#name, expect: null });
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
      return this.tip(by);
    }
    this.#remember(begun);
    return begun;
  }

  /** The session that was recorded under a key. Writes nothing. */
  async #done(end: Session, key: string | undefined): Promise<Session | undefined> {
    if (key === undefined) return undefined;
    try {
      // No name is at this id, so only a known key gets an answer.
      const nowhere: FactId = "0".repeat(64);
      const { id } = await this.#store.save(end, { name: this.#name, expect: nowhere, key });
      return await this.#store.load(id, { horizon: 1 });
    } catch (error) {
      if (error instanceof ConflictError) return undefined;
      throw error;
    }
  }

  get #ends(): Map<string, ChainEnd> {
    return derivedOf(this.#store).ends;
  }

  #remember(session: Session): void {
    const since = this.#ends.get(this.#name)?.since ?? session.depth;
    if (session.depth - since > HELD) this.#ends.delete(this.#name);
    else this.#ends.set(this.#name, { session, since });
  }
}
