import { type Draft, type Fact, type Json, type Realm, Session } from "../../session/index.js";
import type { Lease } from "../../store/index.js";
import { defined } from "../../util/index.js";
import { RunClosedError } from "../error.js";
import type { Entry } from "../tape/tape.js";
import { delayOf } from "./durability.js";
import { withoutLongText } from "./long-text.js";
import { runName } from "./names.js";
import type { Run } from "./run.js";
import { hostedBy } from "./scope.js";

/** How a run came to rest. */
export type Stop = "ended" | "suspended" | "given up";

/** The main line of a run; its tip is what the run's name stands at. */
const MAIN = 0;

/**
 * Makes every session of a run, the recorded twin where there is one, else a new session with its stamp, and keeps them
 * durable: every branch's tip is under a name, and all names move in one commit. So a crash leaves a state in which the run
 * really was, with nothing lost that somebody was told of, and nothing in it that lacks its past.
 */
export class Recorder {
  readonly #run: Run;
  #seq: number;
  #keeping = false;
  #stopped: Stop | undefined;
  #abandoned = false;
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
    this.#seq = run.tape.lastSeq + 1;
  }

  /** How the run came to rest. Nothing comes after a suspension, also while that is being written. */
  get stopped(): Stop | undefined {
    return this.#stopped;
  }

  /** Whether the run has come to its end: what is made of its sessions now is outside of it. */
  get isOver(): boolean {
    return this.#stopped === "ended" && !this.#abandoned;
  }

  stop(how: Stop): void {
    this.#stopped = how;
  }

  /** The body was not waited for: what it makes later is nowhere. */
  abandonBody(): void {
    this.#abandoned = true;
  }

  /** From here on this process is the one that writes. After a crash, the name may stand at a branch that is not ours to extend. */
  begin(lease: Lease | undefined, force: boolean): void {
    this.#lease = lease;
    this.#force = force;
  }

  next(
    parents: readonly Session[],
    fact: Draft,
    realm: Realm,
    labels: () => readonly string[] = () => [],
  ): Session {
    if (this.#stopped !== undefined) return this.#late(parents, fact, realm);
    const found = this.#run.tape.twin(parents, fact, realm);
    return found === undefined
      ? this.#make(parents, labelled(fact, labels()), realm)
      : this.adopt(found, parents, realm);
  }

  /** Takes over a recorded fact, byte for byte. */
  adopt(entry: Entry, parents: readonly Session[], realm: Realm): Session {
    entry.used = true;
    const session = Session.restore(entry.line, parents, realm, { id: entry.id });
    this.#add(session, parents, false);
    return session;
  }

  /** The same session as another object, which takes its place. */
  replace(session: Session, twin: Session): void {
    this.#run.tape.alias(session, twin);
    const slot = this.#slots.get(session);
    if (slot === undefined) return;
    this.#slots.delete(session);
    this.#slots.set(twin, slot);
    this.#tips.set(slot, twin);
  }

  /** A replay asks no clock, not even for what it will throw away. */
  #time(): string {
    const { tape, beginning, services, options } = this.#run;
    const reading = options.mode === "replay" || options.mode === "verify";
    return tape.adopting && reading ? beginning.start.fact.at : services.time();
  }

  stamped(fact: Draft): Fact {
    if (fact.at === "") fact.at = this.#time();
    fact.run = this.#run.nonce;
    fact.seq = this.#seq++;
    return Object.freeze(fact) as unknown as Fact;
  }

  #make(parents: readonly Session[], fact: Draft, realm: Realm): Session {
    // A recorded placement is adopted as it is; only a new one must exist.
    if (fact.type === "placement-change")
      this.#run.pool.require((fact as { readonly sandbox?: string }).sandbox);
    const session = Session.made(parents, this.stamped(withoutLongText(fact)), realm);
    this.#run.tape.missed(session);
    this.#add(session, parents, true);
    if (!this.#run.tape.adopting) this.#keepSoon();
    return session;
  }

  #keepSoon(): void {
    if (this.#keeping) return;
    this.#keeping = true;
    const keep = (): void => {
      this.#keeping = false;
      if (this.#stopped === undefined) this.flushSoon();
    };
    const delay = delayOf(this.#run.options.durability);
    // Facts that are made together are written together.
    if (delay === 0) queueMicrotask(keep);
    else this.#run.turns.ring(delay, keep, true);
  }

  /** Something is made of a session of this run after it: outside of the run when it ended, an error when it was cut off. */
  #late(parents: readonly Session[], fact: Draft, realm: Realm): Session {
    const { nonce, services, options } = this.#run;
    if (!this.isOver)
      throw new RunClosedError(
        nonce,
        `it was ${this.#abandoned ? "cancelled" : this.#stopped}, and its body does not go on`,
      );
    const { run: _run, seq: _seq, ...plain } = fact;
    return Session.made(
      parents,
      Object.freeze({ ...plain, at: fact.at === "" ? services.time() : fact.at }) as unknown as Fact,
      hostedBy(options.outer, realm),
    );
  }

  /** A session was made; `fresh` ones are not in the store yet. */
  #add(session: Session, parents: readonly Session[], fresh: boolean): void {
    let slot: number | undefined;
    for (const parent of parents) {
      const found = this.#slots.get(parent);
      if (found === undefined) continue;
      this.#slots.delete(parent);
      if (slot !== undefined) {
        const joined = Math.max(slot, found);
        this.#tips.delete(joined);
        this.#changed.add(joined);
      }
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
    try {
      while (this.#kept < made) {
        this.#saving ??= this.#save();
        const saving = this.#saving;
        try {
          await saving;
        } finally {
          if (this.#saving === saving) this.#saving = undefined;
        }
      }
    } catch (error) {
      this.#run.fail(error);
      throw error;
    }
  }

  /** Writes without waiting: a reply that cost money must not be lost for long. */
  flushSoon(): void {
    this.flush().catch(() => {});
  }

  /** Tells observers a piece of what comes of a request in the attempt that began after `since`. */
  emit(request: Session, delta: Json, since: Session): void {
    if (this.#stopped !== undefined) return;
    const tell = (): void => this.#run.options.observe({ kind: "delta", request, delta });
    // An observer must know the request of a delta, and that the attempt before it failed: they are told first.
    const held = this.#silent.get(since) ?? this.#silent.get(request);
    if (held === undefined) {
      tell();
      return;
    }
    held.push(tell);
    this.flushSoon();
  }

  async #save(): Promise<void> {
    const { store, name, nonce, observe } = this.#run.options;
    const made = this.#made;
    const told = this.#untold;
    this.#untold = [];
    const main = this.#tips.get(MAIN);
    if (store !== undefined && main !== undefined) {
      const also: { [name: string]: Session | null } = Object.fromEntries(this.#also);
      for (const slot of this.#changed) {
        if (slot === MAIN) continue;
        const tip = this.#tips.get(slot) ?? null;
        if (tip !== null || this.#written.has(slot)) also[`${runName(nonce)}/${slot}`] = tip;
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
}

/**
 * The labels of what a body had read stand in the stamp of a fact, before `by`: like the time, they do not belong to what the
 * program says again at a replay, which may have read in another order.
 */
function labelled(fact: Draft, labels: readonly string[]): Draft {
  if (labels.length === 0) return fact;
  const {
    type,
    at,
    run,
    seq,
    labels: own = [],
    ...body
  } = fact as Draft & { readonly labels?: readonly string[] };
  return { type, at, run, seq, labels: [...new Set([...own, ...labels])], ...body } as unknown as Draft;
}
