import { setTimeout } from "node:timers/promises";
import { catalogue } from "../../evidence/catalogue/index.js";
import { recordedRun } from "../../runtime/index.js";
import { type FactId, warnOf } from "../../session/index.js";
import { isKeptByRuntime, type NameMove, type Store, StoreError } from "../../store/index.js";
import { defined } from "../../util/index.js";
import { sessionOf } from "../live/told.js";
import { pagesKept } from "../pages.js";
import { resumeAll, type Waking, wake } from "./runs.js";

/** A store that is away is asked again after so long. */
const AGAIN_MS = 1000;

/**
 * Follows the store as long as a server is open: goes on with runs that somebody answered in another process, and takes what was
 * saved into the indexes of pages, so that no request has to.
 */
export class Following {
  readonly #stopping = new AbortController();
  readonly #sessions = new Map<string, string | undefined>();
  /** The names that moved since the indexes took them in. */
  #movedNames = new Set<string>();
  #indexing: Promise<void> | undefined;
  #isBegun = false;

  begin(parts: Waking, store: Store): void {
    if (this.#isBegun || this.#stopping.signal.aborted) return;
    this.#isBegun = true;
    this.#index(store);
    this.#follow(parts, store).catch((error: unknown) => {
      // A store that was closed ends it.
      if (!(error instanceof StoreError)) warnOf(error, "OPENRATH_SERVER");
    });
  }

  stop(): void {
    this.#stopping.abort();
  }

  /** Goes on from the same place after a database was away; where the log has gone on too far, with a look at every run. */
  async #follow(parts: Waking, store: Store): Promise<void> {
    const { signal } = this.#stopping;
    for (let from: string | undefined, tries = 0; !signal.aborted; tries++) {
      try {
        const watch = store.watch({ signal, ...defined({ from }) });
        if (from === undefined && tries > 0) await resumeAll(parts);
        from = watch.token;
        for await (const move of watch) {
          await this.#moved(parts, store, move);
          from = move.token;
        }
        return;
      } catch (error) {
        const { code, data } = Object(error) as {
          readonly code?: string;
          readonly data?: { retry?: boolean };
        };
        if (code === "store-token-old") from = undefined;
        else if (data?.retry !== true) throw error;
        await setTimeout(AGAIN_MS, undefined, { ref: false });
      }
    }
  }

  async #moved(parts: Waking, store: Store, { name, id }: NameMove): Promise<void> {
    const nonce = /^answer\/([^/]+)\//.exec(name)?.[1];
    if (nonce !== undefined && id !== null) await this.#answered(parts, store, nonce);
    else if (!isKeptByRuntime(name)) {
      this.#movedNames.add(name);
      this.#index(store);
    }
  }

  async #answered(parts: Waking, store: Store, nonce: string): Promise<void> {
    const name = await sessionOf(store, nonce, this.#sessions);
    if (name === undefined) return;
    const go = (): void => {
      wakeOne(parts, store, name).catch((error: unknown) => warnOf(error, "OPENRATH_SERVER"));
    };
    // A run that is about to wait has not seen it, and one that goes on takes it in by itself.
    const active = parts.acts.underWay.find(name);
    if (active === undefined) go();
    else void active.over.then(go);
  }

  #index(store: Store): void {
    this.#indexing ??= this.#indexed(store)
      .catch((error: unknown) => {
        if (!(error instanceof StoreError)) warnOf(error, "OPENRATH_SERVER");
      })
      .finally(() => {
        this.#indexing = undefined;
        if (this.#movedNames.size > 0 && !this.#stopping.signal.aborted) this.#index(store);
      });
  }

  async #indexed(store: Store): Promise<void> {
    const moved = this.#movedNames;
    this.#movedNames = new Set();
    await catalogue(store).sync();
    for (const name of moved) await pagesKept(store, name);
  }
}

async function wakeOne(parts: Waking, store: Store, name: string): Promise<void> {
  const head: FactId | undefined = await store.head(name);
  const recorded = head === undefined ? undefined : await recordedRun(store, head);
  if (recorded === undefined || recorded.over) return;
  const { module } = recorded.fact;
  await wake(parts, { name, module, waiting: true });
}
