import {
  type BlobSource,
  canonical,
  type Draft,
  type Fact,
  type FactId,
  type Failure,
  type Json,
  parentsOf,
  type Realm,
  readFact,
  type Session,
  writeLine,
} from "../../session/index.js";
import { EVIDENCE } from "../request/evidence.js";

/** A recorded fact of a run. */
export type Entry = {
  readonly id: FactId;
  readonly line: string;
  readonly type: string;
  readonly run: string;
  readonly seq: number;
  /** The request it belongs to, or "". Known for what the runtime appends. */
  readonly of: FactId;
  used: boolean;
};

/** Facts that the runtime itself appends while it deals with a request. */
const CHAIN: ReadonlySet<string> = new Set([
  "effect-start",
  "effect-fail",
  "effect-doubt",
  "policy-decide",
  "approval-ask",
  "answer-take",
  "timer-fire",
  "wait-cancel",
  "model-reply",
  "model-failure",
  "tool-result",
  "tool-failure",
  "step-result",
  "step-failure",
  ...EVIDENCE,
]);

/** The recorded facts of a run, found by what they were made from. */
export class Tape {
  readonly run: string;
  /** This run last, before it the run it comes from, before that the one that comes from: theirs may be adopted and need not be. */
  readonly #ranks: ReadonlyMap<string, number>;
  readonly entries: Entry[] = [];
  /** Lines that are in the past of the run's facts without being part of it: answers, and sessions merged in. */
  readonly others = new Map<FactId, string>();
  /** Requests that failed and are to be done again. */
  readonly redone = new Set<FactId>();
  readonly #byParent = new Map<FactId, Entry[]>();
  /** A session may have thousands of children: they are put in order once, when they are first looked at. */
  readonly #unsorted = new Set<Entry[]>();
  readonly #cancels: Entry[] = [];
  #outcomes: Map<string, Entry[]> | undefined;
  /** The decisions of policies, by the request that they are about. */
  #decided: Map<FactId, Entry> | undefined;
  /** Facts of runs below this rank are not adopted. */
  #floor = 0;

  /** @param origins what a what-if comes from, the first run first. */
  constructor(run: string, origins: readonly string[] = []) {
    this.run = run;
    this.#ranks = new Map([...origins, run].map((one, rank) => [one, rank]));
  }

  /**
   * What made a run end before its time is not taken over: what failed last on each of its branches is to be done again.
   * Failures that the program went on from stay as they are.
   */
  redo(run: string): void {
    const byId = new Map(this.entries.map((entry) => [entry.id, entry]));
    const end = this.entries.find((entry) => entry.run === run && entry.type === "run-end");
    const ids = new Set(end === undefined ? [] : [end.id]);
    const late = new Set<FactId>();
    for (const id of ids) {
      const entry = byId.get(id);
      if (entry === undefined) continue;
      if (LEAVING.has(entry.type)) for (const parent of parentsOf(entry.line)) ids.add(parent);
      else if (FAILED.has(entry.type)) {
        entry.used = true;
        this.redone.add(entry.of);
        const { error } = readFact(entry.line, undefined) as { readonly error?: Failure };
        if (error?.code === "approval-expired") late.add(entry.of);
        // A module that ran inside failed by what failed last in it.
        for (const inside of parentsOf(entry.line).slice(1)) ids.add(inside);
        // The cause may stand before it: a wait was cancelled, or a person said no and is asked again.
        for (const parent of parentsOf(entry.line)) if (this.#stopped(byId.get(parent))) ids.add(parent);
      }
    }
    for (const entry of this.#cancels) if (entry.run === run) entry.used = true;
    // The policies decide again; a person who had no time left is asked again.
    for (const entry of this.entries)
      if (
        entry.run === run &&
        ((entry.type === "policy-decide" && this.redone.has(entry.of)) ||
          (entry.type === "approval-ask" && late.has(entry.of)))
      )
        entry.used = true;
  }

  #stopped(entry: Entry | undefined): boolean {
    if (entry?.type === "wait-cancel") return true;
    const answer =
      entry?.type === "answer-take" ? this.others.get(parentsOf(entry.line)[1] ?? "") : undefined;
    const fact = answer === undefined ? undefined : readFact(answer, undefined);
    return fact?.type === "approval-give" && fact.decision !== "approve";
  }

  /** Leaves the oldest of the runs, now that it has nothing left for anybody. False when this run is the only one. */
  leave(): boolean {
    if (this.#floor === this.#ranks.size - 1) return false;
    this.#floor += 1;
    return true;
  }

  /** Nothing of another run is adopted from here on. */
  close(): void {
    this.#floor = this.#ranks.size - 1;
  }

  add(id: FactId, line: string): void {
    const stamp = stampOf(line);
    if (stamp === undefined || !this.#ranks.has(stamp.run)) {
      this.others.set(id, line);
      return;
    }
    const entry = { id, line, used: false, of: CHAIN.has(stamp.type) ? ofOf(line) : "", ...stamp };
    this.entries.push(entry);
    const parent = firstParent(line);
    const siblings = this.#byParent.get(parent);
    if (siblings === undefined) this.#byParent.set(parent, [entry]);
    else {
      if ((siblings.at(-1) as Entry).seq > entry.seq) this.#unsorted.add(siblings);
      siblings.push(entry);
    }
    if (entry.type === "run-cancel") this.#cancels.push(entry);
  }

  /** The children of a session, oldest first. */
  #madeOf(parent: FactId): readonly Entry[] | undefined {
    const entries = this.#byParent.get(parent);
    if (entries !== undefined && this.#unsorted.delete(entries))
      entries.sort((one, other) => one.seq - other.seq);
    return entries;
  }

  /** Whether the run has come to its end. */
  get ended(): boolean {
    return this.entries.some(({ type, run }) => type === "run-end" && run === this.run);
  }

  /** The last fact of a run. */
  lastOf(run: string): Entry | undefined {
    let last: Entry | undefined;
    for (const entry of this.entries)
      if (entry.run === run && entry.type !== "run-start" && (last === undefined || entry.seq > last.seq))
        last = entry;
    return last;
  }

  get lastSeq(): number {
    let last = -1;
    for (const { seq } of this.entries) if (seq > last) last = seq;
    return last;
  }

  /** The recorded twin of a fact: same parents in order, same body, the first that is not used yet. */
  find(parents: readonly Session[], fact: Draft, realm: Realm): Entry | undefined {
    const found = this.#madeOf(parents[0]?.id ?? "");
    if (found === undefined) return undefined;
    const ids = parents.map((parent) => parent.id);
    let key: string | undefined;
    let other = false;
    for (const entry of found) {
      if (!this.#free(entry) || entry.type !== fact.type || CHAIN_ONLY.has(entry.type)) continue;
      key ??= keyOf(writeLine(ids, fact as unknown as Fact, keepingOf(realm)));
      if (keyOf(entry.line) === key) return entry;
      other = true;
    }
    // The same body with its keys in another order is the same body; and where a record came without the secret of its
    // salts, or content is in a blob, only what it says can tell.
    if (!other) return undefined;
    const body = bodyOf(fact);
    return found.find(
      (entry) =>
        this.#free(entry) &&
        entry.type === fact.type &&
        !CHAIN_ONLY.has(entry.type) &&
        sameIds(parentsOf(entry.line), ids) &&
        bodyOf(readFact(entry.line, realm.blobs)) === body,
    );
  }

  /** The next fact that the runtime appended while it dealt with these requests. */
  chained(tip: Session, asked: ReadonlySet<FactId>, fits: (entry: Entry) => boolean): Entry | undefined {
    return this.#madeOf(tip.id)?.find(
      (entry) => this.#told(entry) && CHAIN.has(entry.type) && asked.has(entry.of) && fits(entry),
    );
  }

  /** The recorded cancellation of the run that begins here. */
  cancelled(start: Session): Entry | undefined {
    return this.#cancels.find((entry) => this.#told(entry) && firstParent(entry.line) === start.id);
  }

  /** Whether policies decided about a request, in what has not been made again yet. */
  isDecided(request: FactId): boolean {
    this.#decided ??= new Map(
      this.entries.flatMap((entry) => (entry.type === "policy-decide" ? [[entry.of, entry] as const] : [])),
    );
    const entry = this.#decided.get(request);
    return entry !== undefined && this.#free(entry);
  }

  /** A recorded fact of this type made from the session, whatever it says. */
  typed(parent: Session, type: string): Entry | undefined {
    return this.#madeOf(parent.id)?.find((entry) => this.#free(entry) && entry.type === type);
  }

  /** The modules in which a recorded fact was made, the outermost first; undefined where the way to them is not here. */
  pathOf(entry: Entry): readonly string[] | undefined {
    const byId = new Map(this.entries.map((one) => [one.id, one]));
    const path: string[] = [];
    const up = (one: Entry): Entry | undefined => byId.get(firstParent(one.line));
    for (let one = up(entry); one !== undefined; one = up(one)) {
      const fact = readFact(one.line, undefined);
      if (fact.type === "run-start") return [fact.module, ...path];
      if (fact.type === "module-enter") path.unshift(fact.module);
      // It is after that module, not in it.
      else if (fact.type === "module-exit") one = byId.get(fact.of) ?? one;
    }
    return undefined;
  }

  /** Recorded facts of this run that were not made again, oldest first. */
  unused(): readonly Entry[] {
    return this.entries
      .filter(({ used, run, type }) => !used && run === this.run && type !== "run-suspend")
      .sort((one, other) => one.seq - other.seq);
  }

  /**
   * The outcome that the other run recorded for such a request, wherever it was asked: an effect that is finished is
   * not repeated because something before it changed. `fits` says of its evidence whether it could have been here.
   */
  outcomeOf(
    request: Draft,
    blobs: BlobSource | undefined,
    fits: (evidence: readonly Entry[]) => boolean,
  ): { readonly entry: Entry; readonly evidence: readonly Entry[] } | undefined {
    if (this.#ranks.size === 1) return undefined;
    this.#outcomes ??= this.#indexOutcomes(blobs);
    const list = this.#outcomes.get(bodyKey(request));
    const entry = list?.find(({ used }) => !used);
    if (entry === undefined) return undefined;
    const evidence = this.entries
      .filter(({ of, run, type }) => of === entry.of && run === entry.run && EVIDENCE.has(type))
      .sort((one, other) => one.seq - other.seq);
    if (!fits(evidence)) return undefined;
    entry.used = true;
    return { entry, evidence };
  }

  #indexOutcomes(blobs: BlobSource | undefined): Map<string, Entry[]> {
    const index = new Map<string, Entry[]>();
    const requests = new Map(
      this.entries.filter(({ type }) => REQUESTS.has(type)).map((entry) => [entry.id, entry] as const),
    );
    const taken = new Set<unknown>();
    for (const { type, run, line } of this.entries)
      if (run === this.run && FINISHED.has(type))
        taken.add((readFact(line, blobs) as { readonly from?: FactId }).from);
    for (const entry of this.entries) {
      const request = FINISHED.has(entry.type) ? requests.get(entry.of) : undefined;
      if (request === undefined || entry.run === this.run || entry.used || taken.has(entry.id)) continue;
      // It came of other arguments than the request has.
      if ("edited" in readFact(entry.line, blobs)) continue;
      const key = bodyKey(readFact(request.line, blobs));
      const list = index.get(key);
      if (list === undefined) index.set(key, [entry]);
      else list.push(entry);
    }
    return index;
  }

  /** Whether the runtime noted it in the run that is being gone through: a what-if noted nothing before it left the other. */
  #told(entry: Entry): boolean {
    return !entry.used && this.#ranks.get(entry.run) === this.#floor;
  }

  #free(entry: Entry): boolean {
    return !entry.used && (this.#ranks.get(entry.run) ?? 0) >= this.#floor;
  }
}

/** Facts on the way from a failure to the end of a run. */
const LEAVING: ReadonlySet<string> = new Set(["run-end", "module-exit", "branch-merge"]);
const FAILED: ReadonlySet<string> = new Set([
  "model-failure",
  "tool-failure",
  "step-failure",
  "wait-cancel",
  "answer-take",
  "budget-stop",
]);
const REQUESTS: ReadonlySet<string> = new Set(["model-call", "tool-call", "step-call"]);
/** Failures are not used again: another attempt may well succeed. */
const FINISHED: ReadonlySet<string> = new Set(["model-reply", "tool-result", "step-result"]);
/** Appended by the runtime alone: a program's fact is never one of these. */
const CHAIN_ONLY: ReadonlySet<string> = new Set([
  "effect-start",
  "effect-fail",
  "effect-doubt",
  "answer-take",
  "timer-fire",
]);

/** The line without its stamp: what must be the same for two facts to be the same. */
function keyOf(line: string): string {
  const fact = line.indexOf('"fact":{"type":"');
  const start = line.indexOf('"at":"', fact);
  return line.slice(0, start) + line.slice(line.indexOf('"by":', start));
}

function stampOf(line: string): { type: string; run: string; seq: number } | undefined {
  const match = STAMP.exec(line.slice(line.indexOf('"fact":{"type":"')));
  if (match === null) return undefined;
  return { type: match[1] as string, run: JSON.parse(match[2] as string), seq: Number(match[3]) };
}

/** How every fact of a run begins: the order in which a draft has its fields. */
const STAMP = /^"fact":\{"type":"([a-z-]+)","at":"[^"]*","run":("(?:[^"\\]|\\.)*"),"seq":(\d+),/;

function firstParent(line: string): FactId {
  return parentsOf(line)[0] ?? "";
}

function ofOf(line: string): FactId {
  const [first, second] = line.slice(line.indexOf('"fact":{"type":"')).matchAll(/"of":"([0-9a-f]{64})"/g);
  // A result may have such a field as well; then the whole line has to be read.
  return (second === undefined ? first?.[1] : (JSON.parse(line) as { fact: { of?: FactId } }).fact.of) ?? "";
}

function keepingOf({ inline, key }: Realm): { inline: number; secret?: Uint8Array } {
  return key === undefined ? { inline } : { inline, secret: key.secret };
}

/** The body of a fact without its stamp, as text that is the same for the same body. */
function bodyOf(fact: Fact | Draft): string {
  const { at, run, seq, labels, ...body }: { readonly [field: string]: unknown } = { ...fact };
  // The name of the secret may be another one where the secret did not come along with the record.
  const { key, ...rest } = body;
  return canonical((fact.type === "session-detach" ? rest : body) as { readonly [field: string]: Json });
}

function sameIds(some: readonly FactId[], others: readonly FactId[]): boolean {
  return some.length === others.length && some.every((id, place) => id === others[place]);
}

/** The same without the author. */
function bodyKey(fact: Fact | Draft): string {
  return bodyOf({ ...fact, by: "runtime" });
}
