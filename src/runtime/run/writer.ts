import type { Session } from "../../session/index.js";
import type { Lease } from "../../store/index.js";
import { defined } from "../../util/index.js";
import type { Run } from "./run.js";

/** The main line of a run; its tip is what the run's name stands at. */
const MAIN = 0;

/**
 * Keeps a run durable: every branch's tip is under a name, and all names move in one commit. So a crash leaves a state
 * in which the run really was, with nothing lost that somebody was told of, and nothing in it that lacks its past.
 */
export class RunWriter {
  readonly #run: Run;
  #lease: Lease | undefined;
  /** The branch each tip ends. */
  readonly #slots = new Map<Session, number>();
  readonly #tips = new Map<number, Session>();
  readonly #changed = new Set<number>();
  readonly #written = new Set<number>();
  #next = MAIN;
  /** Names that the next commit sets or takes away, beside the branches'. */
  readonly #also = new Map<string, Session | null>();
  #untold: Session[] = [];
  /** Sessions that nobody was told of yet, and what is to be told right after them. */
  readonly #silent = new Map<Session, (() => void)[]>();
  #made = 0;
  #kept = 0;
  #saving: Promise<void> | undefined;
  #force = false;

  constructor(run: Run) {
    this.#run = run;
  }

  /** From here on this process is the one that writes. After a crash, the name may stand at a branch that is not ours to extend. */
  begin(lease: Lease | undefined, force: boolean): void {
    this.#lease = lease;
    this.#force = force;
  }

  /** A session was made; `fresh` ones are not in the store yet. */
  add(session: Session, parents: readonly Session[], fresh: boolean): void {
    let slot: number | undefined;
    for (const parent of parents) {
      const found = this.#slots.get(parent);
      if (found === undefined) continue;
      this.#slots.delete(parent);
      if (slot !== undefined) this.#free(Math.max(slot, found));
      slot = Math.min(slot ?? found, found);
    }
    slot ??= this.#next++;
    this.#slots.set(session, slot);
    this.#tips.set(slot, session);
    this.#changed.add(slot);
    if (fresh) this.begun(session);
  }

  /** A fresh session that belongs to no branch: nothing is made of it, and something else leads to it. */
  begun(session: Session): void {
    this.#made += 1;
    this.#untold.push(session);
    this.#silent.set(session, []);
  }

  isTold(session: Session): boolean {
    return !this.#silent.has(session);
  }

  /** Tells something about a session: now, or as soon as the session itself is told. False when it has to wait. */
  after(session: Session, tell: () => void): boolean {
    const held = this.#silent.get(session);
    if (held === undefined) tell();
    else held.push(tell);
    return held === undefined;
  }

  /** The same session as another object. */
  replace(session: Session, twin: Session): void {
    const slot = this.#slots.get(session);
    if (slot === undefined) return;
    this.#slots.delete(session);
    this.#slots.set(twin, slot);
    this.#tips.set(slot, twin);
  }

  #free(slot: number): void {
    this.#tips.delete(slot);
    this.#changed.add(slot);
  }

  /** The end of every branch: the main line first, then in the order in which they came to be. */
  get tips(): readonly Session[] {
    return [...this.#tips.entries()].sort(([one], [other]) => one - other).map(([, tip]) => tip);
  }

  /** Whether something was made that is not in the store. */
  get fresh(): boolean {
    return this.#made > 0;
  }

  /** Sets or takes away another name with the next commit. */
  also(name: string, session: Session | null): void {
    this.#also.set(name, session);
  }

  /** Leaves a name as it is after all. */
  leave(name: string): void {
    this.#also.delete(name);
  }

  /** Resolves when everything that was made before this call is durable. */
  async flush(): Promise<void> {
    const made = this.#made;
    while (this.#kept < made) {
      this.#saving ??= this.#save().finally(() => {
        this.#saving = undefined;
      });
      await this.#saving;
    }
  }

  async #save(): Promise<void> {
    const { store, name, observe } = this.#run.options;
    const made = this.#made;
    const told = this.#untold;
    this.#untold = [];
    const main = this.#tips.get(MAIN);
    if (store !== undefined && main !== undefined) {
      const also: { [name: string]: Session | null } = Object.fromEntries(this.#also);
      for (const slot of this.#changed) {
        if (slot === MAIN) continue;
        const tip = this.#tips.get(slot) ?? null;
        if (tip !== null || this.#written.has(slot)) also[this.#branchName(slot)] = tip;
        if (tip === null) this.#written.delete(slot);
        else this.#written.add(slot);
      }
      this.#also.clear();
      this.#changed.clear();
      await store.save(main, {
        name,
        ...defined({ lease: this.#lease, force: this.#force || undefined }),
        ...(Object.keys(also).length > 0 && { also }),
      });
      this.#force = false;
    }
    this.#kept = made;
    for (const session of told) {
      const held = this.#silent.get(session) ?? [];
      observe({ kind: "fact", session });
      for (const tell of held) tell();
      this.#silent.delete(session);
    }
  }

  #branchName(slot: number): string {
    return `${runName(this.#run.nonce)}/${slot}`;
  }
}

/** Where a run that is not over keeps its beginning; its branches are kept below. */
export function runName(run: string): string {
  return `run/${run}`;
}

/** Whether a name is the one that an unfinished run keeps its beginning under. */
export function isRunName(name: string): boolean {
  return /^run\/[^/]+$/.test(name);
}

/** Where the answer to a request is kept until the run has taken it in. A what-if may wait for the same request. */
export function answerName(run: string, request: string): string {
  return `answer/${run}/${request}`;
}

/** The name of a run that was given none. */
export function unnamed(run: string): string {
  return `unnamed/${run}`;
}
