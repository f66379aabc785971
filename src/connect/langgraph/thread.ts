import { type FactId, Session } from "../../session/index.js";
import { ConflictError, NotFoundError, type Store } from "../../store/index.js";
import { ThreadConflictError, ThreadMismatchError } from "./error.js";
import { Ledger } from "./ledger.js";
import { THREAD } from "./note.js";
import { Scribe, type Written } from "./scribe.js";

export type ThreadSettings = {
  readonly race: "fork" | "refuse";
  /** Keeps all content in salted blobs, so that it can be erased. */
  readonly erasable: boolean;
};

/** Something to be written, once what it needs is serialised. */
type Act = {
  readonly checkpoint: string;
  /** The checkpoint that must be there before, if it comes at all. */
  readonly after?: { readonly namespace: string; readonly id: string };
  readonly run: (scribe: Scribe) => Promise<Written | undefined>;
};
type Ends = { readonly resolve: (value: never) => void; readonly reject: (error: unknown) => void };
type Writing = Ends & { readonly act: Promise<Act>; readonly late?: true };
type Job = Writing | (Ends & { readonly look: () => Promise<unknown> });

/** LangGraph hands over writes while their checkpoint waits for the one before it. So long they wait for it too. */
const PATIENCE = 1_000;

/** Writers that get in each other's way try again so often; each failure means that somebody else got on. */
const ATTEMPTS = 50;

/**
 * A thread of LangGraph as a session. Each branch has a name, `NAME@branch`, and NAME stands where LangGraph
 * would go on. Names move by compare-and-swap; the loser looks again.
 */
export class Thread {
  readonly id: string;
  readonly name: string;
  readonly #store: Store;
  readonly #settings: ThreadSettings;
  readonly #jobs: Job[] = [];
  /** Writes whose checkpoint has not come yet. */
  readonly #early = new Set<Writing>();
  #heads = new Map<string, FactId>();
  #scribe: Scribe | undefined;
  #busy = false;

  constructor(store: Store, id: string, name: string, settings: ThreadSettings) {
    this.#store = store;
    this.id = id;
    this.name = name;
    this.#settings = settings;
  }

  get idle(): boolean {
    return !this.#busy && this.#jobs.length === 0 && this.#early.size === 0;
  }

  /** Waits for everything that was to be written; writes whose checkpoint did not come wait no longer. */
  async settle(): Promise<void> {
    await this.read(() => {});
    this.#giveUp([...this.#early]);
    await this.read(() => {});
  }

  /** Looks at what the store has now, after everything that was to be written before. */
  read<Answer>(look: (ledger: Ledger) => Answer): Promise<Answer> {
    return this.#queue<Answer>({
      look: async () => {
        await this.#refresh();
        return look(this.#scribe?.ledger ?? new Ledger());
      },
    });
  }

  /** Writes in the order of the calls; waiting writes go into one commit. */
  write(act: Promise<Act>): Promise<void> {
    // It may wait for a while: nobody else looks whether it failed.
    act.catch(() => {});
    return this.#queue<void>({ act });
  }

  /** Removes its names; the sessions stay until the store is collected. */
  delete(): Promise<void> {
    return this.#queue<void>({
      look: async () => {
        await this.#refresh();
        const names = await this.#store.names({ under: `${this.name}@` });
        for (const name of [...names.map((record) => record.name), this.name])
          if ((await this.#store.head(name)) !== undefined) await this.#store.forget(name, { force: true });
        this.#reset();
      },
    });
  }

  #queue<Answer>(
    job: { readonly act: Promise<Act> } | { readonly look: () => Promise<unknown> },
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#jobs.push({ ...job, resolve, reject } as Job);
      if (!this.#busy) void this.#drain();
    });
  }

  async #drain(): Promise<void> {
    this.#busy = true;
    for (let job = this.#jobs[0]; job !== undefined; job = this.#jobs[0]) {
      if ("look" in job) {
        this.#jobs.shift();
        try {
          job.resolve((await job.look()) as never);
        } catch (error) {
          job.reject(error);
        }
      } else {
        const end = this.#jobs.findIndex((other) => "look" in other);
        await this.#keep(this.#jobs.splice(0, end < 0 ? this.#jobs.length : end) as Writing[]);
      }
    }
    this.#busy = false;
  }

  /** Never throws: every job is told how it went. */
  async #keep(jobs: readonly Writing[]): Promise<void> {
    const open = new Set<Writing>(jobs);
    for (let attempt = 1; open.size > 0; attempt++) {
      try {
        await this.#attempt(open, attempt > 1);
        for (const job of open) job.resolve(undefined as never);
        return;
      } catch (error) {
        this.#reset();
        if (error instanceof ConflictError && attempt < ATTEMPTS) continue;
        for (const job of open) job.reject(error);
        return;
      }
    }
  }

  async #attempt(open: Set<Writing>, again: boolean): Promise<void> {
    let unsaved: Written | undefined;
    for (const job of open) {
      // A value that cannot be serialised is the caller's mistake; the others go on.
      const act = await job.act.catch((error: unknown) => void job.reject(error));
      if (act === undefined) {
        open.delete(job);
        continue;
      }
      if (this.#scribe === undefined) await this.#refresh();
      const scribe = this.#scribe ?? this.#begin();
      if (job.late === undefined && act.after !== undefined && !isThere(scribe, act.after)) {
        open.delete(job);
        this.#wait(job);
        continue;
      }
      const written = await act.run(scribe);
      if (written === undefined) continue;
      if (written.fork !== undefined && again && this.#settings.race === "refuse") {
        job.reject(new ThreadConflictError(this.id, act.checkpoint));
        open.delete(job);
        // The branch that it would have begun is in nobody's way: nothing of it was saved.
        throw new ConflictError(this.name, written.session.id, this.#heads.get(this.name) ?? null);
      }
      if (unsaved !== undefined && unsaved.branch !== written.branch) await this.#save(unsaved, scribe);
      unsaved =
        unsaved?.branch === written.branch && unsaved.fork !== undefined
          ? { ...written, fork: unsaved.fork }
          : written;
      // Those that waited for it come next: they are of its branch.
      for (const early of this.#early) {
        const { after } = await early.act;
        if (after === undefined || !isThere(scribe, after)) continue;
        this.#early.delete(early);
        open.add(early);
      }
    }
    if (unsaved !== undefined) await this.#save(unsaved, this.#scribe as Scribe);
  }

  #wait(job: Writing): void {
    this.#early.add(job);
    setTimeout(() => this.#giveUp([job]), PATIENCE);
  }

  /** Keeps writes where the thread stands, though their checkpoint is not there. */
  #giveUp(jobs: readonly Writing[]): void {
    for (const job of jobs) if (this.#early.delete(job)) this.#jobs.push({ ...job, late: true });
    if (!this.#busy) void this.#drain();
  }

  #begin(): Scribe {
    const scribe = new Scribe(new Ledger(), (id) => this.#store.load(id));
    scribe.begin(
      Session.start(undefined, {
        by: "runtime:langgraph",
        ...(this.#settings.erasable && { inline: 0 }),
      }).append({ type: "note", kind: THREAD, thread: this.id, by: "runtime:langgraph" }),
    );
    this.#scribe = scribe;
    return scribe;
  }

  /**
   * Another writer may have begun the first branch just before, and left the thread's own name where it was. The new session
   * is kept under the name of its branch too, before the thread's own name goes on to another branch.
   */
  async #keepOwn(session: Session, own: string): Promise<void> {
    const head = await this.#store.head(own);
    if (head === undefined) return;
    await this.#store.save(session, { name: own, expect: head });
    throw new ConflictError(own, session.id, head);
  }

  /** Moves the names: that of the branch, and the thread's own to where LangGraph would go on. */
  async #save({ session, branch, fork }: Written, scribe: Scribe): Promise<void> {
    const { ledger } = scribe;
    const at = this.#heads.get(this.name);
    const trunk = at === undefined ? "main" : (ledger.tip(at)?.branch ?? "main");
    const forked = this.#heads.size > 1;
    if (!forked && fork === undefined && branch === trunk) {
      await this.#store.save(session, { name: this.name, expect: at ?? null });
      this.#heads.set(this.name, session.id);
      await this.#keepOwn(session, `${this.name}@${trunk}`);
      return;
    }
    const name = `${this.name}@${branch}`;
    const current = await scribe.session(ledger.current?.at ?? session.id);
    if (forked || at === undefined) {
      const expect = this.#heads.get(name) ?? null;
      await this.#store.save(session, { name, expect, also: { [this.name]: current } });
    } else {
      // The first branch: until now the thread's own name was that of its only line.
      const own = `${this.name}@${trunk}`;
      await this.#store.save(current, {
        name: this.name,
        expect: at,
        also: { [own]: await scribe.session(at), [name]: session },
      });
      this.#heads.set(own, at);
    }
    this.#heads.set(this.name, current.id);
    this.#heads.set(name, session.id);
  }

  /** Reads what others wrote since. */
  async #refresh(): Promise<void> {
    const heads = new Map<string, FactId>();
    const own = await this.#store.head(this.name);
    if (own === undefined) return this.#reset();
    heads.set(this.name, own);
    for (const { name, id } of await this.#store.names({ under: `${this.name}@` })) heads.set(name, id);
    const ledger = this.#scribe?.ledger;
    if (ledger !== undefined) {
      const news = [...heads.values()].filter((id) => !ledger.has(id));
      if (news.length === 0 || (await this.#follow(ledger, news))) {
        this.#heads = heads;
        return;
      }
    }
    const anew = new Ledger();
    for await (const { id, parents, fact } of this.#store.history([...new Set(heads.values())]))
      anew.add(id, parents, fact);
    // The name alone proves nothing: an import or a hand may have given it to another thread.
    if (anew.threads.size > 0 && !anew.threads.has(this.id)) {
      this.#reset();
      throw new ThreadMismatchError(this.id, this.name, [...anew.threads]);
    }
    this.#scribe = new Scribe(anew, (id) => this.#store.load(id));
    this.#heads = heads;
  }

  /** Takes in what is new; false when that is another history. */
  async #follow(ledger: Ledger, news: readonly FactId[]): Promise<boolean> {
    try {
      const without = [...new Set(this.#heads.values())];
      for await (const { id, parents, fact } of this.#store.history(news, { without })) {
        if (parents.length === 0 || !parents.every((parent) => ledger.has(parent))) return false;
        if (!ledger.has(id)) ledger.add(id, parents, fact);
      }
      return true;
    } catch (error) {
      if (error instanceof NotFoundError) return false;
      throw error;
    }
  }

  #reset(): void {
    this.#scribe = undefined;
    this.#heads = new Map();
  }
}

function isThere(
  { ledger }: Scribe,
  { namespace, id }: { readonly namespace: string; readonly id: string },
): boolean {
  return ledger.spot(namespace, id) !== undefined;
}
