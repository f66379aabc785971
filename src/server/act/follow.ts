import { catalogue } from "../../evidence/catalogue/index.js";
import { recordedRun } from "../../runtime/index.js";
import { type FactId, warnOf } from "../../session/index.js";
import { isKeptByRuntime, type Store, StoreError } from "../../store/index.js";
import { sessionOf } from "../live/told.js";
import { pagesKept } from "../pages.js";
import { type Waking, wake } from "./runs.js";

/**
 * Follows the store as long as a server is open: goes on with runs that somebody answered in another process, and takes what was
 * saved into the indexes of pages, so that no request has to.
 */
export class Following {
  readonly #stopping = new AbortController();
  readonly #sessions = new Map<string, string | undefined>();
  /** The names that moved since the indexes took them in. */
  #moved = new Set<string>();
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

  async #follow(parts: Waking, store: Store): Promise<void> {
    for await (const { name, id } of store.watch({ signal: this.#stopping.signal })) {
      const nonce = /^answer\/([^/]+)\//.exec(name)?.[1];
      if (nonce !== undefined && id !== null) await this.#answered(parts, store, nonce);
      else if (!isKeptByRuntime(name)) {
        this.#moved.add(name);
        this.#index(store);
      }
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
        if (this.#moved.size > 0 && !this.#stopping.signal.aborted) this.#index(store);
      });
  }

  async #indexed(store: Store): Promise<void> {
    const moved = this.#moved;
    this.#moved = new Set();
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
