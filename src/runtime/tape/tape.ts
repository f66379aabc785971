import {
  type BlobSource,
  canonical,
  type Draft,
  drafted,
  type Fact,
  type FactId,
  type FactInput,
  type FactOf,
  type Json,
  parentsOf,
  type Realm,
  readFact,
  Session,
  writeLine,
} from "../../session/index.js";
import { isSameList } from "../../util/index.js";
import { beganWith, EVIDENCE, type Evidence, saidAgain } from "../request/evidence.js";
import { withoutLongText } from "../run/long-text.js";

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

/** The outcome that another run recorded for the same request, to be used again. */
export type Reusable = {
  readonly id: FactId;
  readonly fact: FactOf<"model-reply" | "tool-result" | "step-result">;
  readonly evidence: readonly Evidence[];
};

/** Facts of the runtime that a program never appends. */
const CHAIN_ONLY = [
  "effect-start",
  "effect-fail",
  "effect-doubt",
  "answer-take",
  "approval-use",
  "timer-fire",
] as const;
/** Failures are not used again: another attempt may succeed. */
const FINISHED: ReadonlySet<string> = new Set(["model-reply", "tool-result", "step-result"]);
/** Facts that the runtime itself appends while it deals with a request. */
const CHAIN: ReadonlySet<string> = new Set([
  ...CHAIN_ONLY,
  ...FINISHED,
  ...EVIDENCE,
  "policy-decide",
  "approval-ask",
  "wait-cancel",
  "model-failure",
  "tool-failure",
  "step-failure",
]);
const RUNTIME_ONLY: ReadonlySet<string> = new Set(CHAIN_ONLY);
const REQUESTS: ReadonlySet<string> = new Set(["model-call", "tool-call", "step-call"]);

/**
 * The recorded facts of a run, found by their parents. A run that goes through its record again takes from here the twin of
 * each fact that its program makes; once it is live it takes nothing more. A run without a record has an empty tape.
 */
export class Tape {
  readonly run: string;
  readonly entries: Entry[] = [];
  /** Lines in the past of the run's facts that are not part of it: answers, and sessions merged in. */
  readonly others = new Map<FactId, string>();
  /** Requests that failed and are to be done again. */
  readonly redone = new Set<FactId>();
  /** This run last, before it the run it comes from, and so on: the facts of those may be adopted and need not be. */
  readonly #ranks: ReadonlyMap<string, number>;
  readonly #byParent = new Map<FactId, Entry[]>();
  /** A session may have thousands of children: they are put in order once, when they are first looked at. */
  readonly #unsorted = new Set<Entry[]>();
  readonly #cancels: Entry[] = [];
  /** Sessions without a recorded twin: nothing on the tape can have been made from them. */
  readonly #fresh = new WeakSet<Session>();
  #firstFresh: Session | undefined;
  #adopting = true;
  #outcomes: Map<string, Entry[]> | undefined;
  /** The decisions of policies, by the request that they are about. */
  #decided: Map<FactId, Entry> | undefined;
  /** Facts of runs below this rank are not adopted. */
  #floor = 0;

  /** @param origins the runs that a what-if comes from, the first run first */
  constructor(run: string, origins: readonly string[] = []) {
    this.run = run;
    this.#ranks = new Map([...origins, run].map((one, rank) => [one, rank]));
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

  // -- how far the run has come

  /** Whether recorded facts are still taken over. */
  get adopting(): boolean {
    return this.#adopting;
  }

  /** The first session that the record does not have. */
  get firstFresh(): Session | undefined {
    return this.#firstFresh;
  }

  /** Nothing is taken over from here on. */
  goLive(): void {
    this.#adopting = false;
    this.#floor = this.#ranks.size - 1;
  }

  /** Stops adopting facts of the oldest run. False when only this run is left. */
  leave(): boolean {
    if (this.#floor === this.#ranks.size - 1) return false;
    this.#floor += 1;
    return true;
  }

  /** The run is over. Its sessions keep the run in memory, and it need not keep the record. */
  close(): void {
    this.entries.length = 0;
    this.#outcomes = undefined;
    this.#decided = undefined;
    for (const index of [this.others, this.#byParent, this.#unsorted]) index.clear();
  }

  /** A session was made that has no recorded twin. */
  missed(session: Session): void {
    if (!this.#adopting) return;
    this.#fresh.add(session);
    this.#firstFresh ??= session;
  }

  /** The same session as another object. */
  alias(session: Session, twin: Session): void {
    if (this.#fresh.has(session)) this.#fresh.add(twin);
  }

  // -- what is on it

  get ended(): boolean {
    return this.endOf(this.run) !== undefined;
  }

  endOf(run: string | undefined): Entry | undefined {
    return this.entries.find((entry) => entry.type === "run-end" && entry.run === run);
  }

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

  /** Recorded facts of this run that were not made again, oldest first. */
  unused(): readonly Entry[] {
    return this.entries
      .filter(({ used, run, type }) => !used && run === this.run && type !== "run-suspend")
      .sort((one, other) => one.seq - other.seq);
  }

  /** The recorded twin of a fact: same parents in order, same body, the first that is not used yet. */
  twin(parents: readonly Session[], fact: Draft, realm: Realm): Entry | undefined {
    if (!this.#adopting || parents.some((parent) => this.#fresh.has(parent))) return undefined;
    const cut = withoutLongText(fact);
    // A record from before texts were cut has all of it.
    const whole = cut === fact ? undefined : this.#find(parents, fact, realm);
    return whole ?? this.#find(parents, cut, realm);
  }

  #find(parents: readonly Session[], fact: Draft, realm: Realm): Entry | undefined {
    const found = this.#sorted(parents[0]?.id ?? "");
    if (found === undefined) return undefined;
    const ids = parents.map((parent) => parent.id);
    let line: string | undefined;
    const candidates: Entry[] = [];
    for (const entry of found) {
      if (!this.#free(entry) || entry.type !== fact.type || RUNTIME_ONLY.has(entry.type)) continue;
      line ??= writeLine(ids, fact as unknown as Fact, keepingOf(realm));
      if (isSameLine(entry.line, line)) return entry;
      candidates.push(entry);
    }
    // The same body with its keys in another order is the same body; and where a record came without the secret of its
    // salts, or content is in a blob, only the content can tell.
    if (candidates.length === 0) return undefined;
    const body = bodyOf(fact);
    return candidates.find(
      (entry) => isSameList(parentsOf(entry.line), ids) && bodyOf(readFact(entry.line, realm.blobs)) === body,
    );
  }

  /** The next fact that the runtime appended while it dealt with these requests. */
  chained(tip: Session, asked: ReadonlySet<FactId>, fits: (entry: Entry) => boolean): Entry | undefined {
    return this.#madeOf(tip)?.find(
      (entry) => this.#told(entry) && CHAIN.has(entry.type) && asked.has(entry.of) && fits(entry),
    );
  }

  /** A recorded fact of this type made from the session, whatever it says. */
  typed(parent: Session, type: string): Entry | undefined {
    return this.#madeOf(parent)?.find((entry) => this.#free(entry) && entry.type === type);
  }

  /** The recorded cancellation of the run that begins here. */
  cancelled(start: Session): Entry | undefined {
    return this.#cancels.find((entry) => this.#told(entry) && firstParent(entry.line) === start.id);
  }

  /** Whether policies decided about a request, and the run has not taken that over yet. */
  isDecided(request: FactId): boolean {
    if (!this.#adopting) return false;
    this.#decided ??= new Map(
      this.entries.filter(({ type }) => type === "policy-decide").map((entry) => [entry.of, entry]),
    );
    const entry = this.#decided.get(request);
    return entry !== undefined && this.#free(entry);
  }

  /** A session outside the run that the tape refers to. */
  foreign(id: FactId, parents: readonly Session[], realm: Realm): Session | undefined {
    const line = this.others.get(id);
    if (line === undefined) return undefined;
    const parent = firstParent(line);
    // A revocation hangs from the approval that it takes back.
    const before = parents[0]?.id === parent ? undefined : this.others.get(parent);
    const from = before === undefined ? parents : [Session.restore(before, parents, realm, { id: parent })];
    return Session.restore(line, from, realm, { id });
  }

  /**
   * The outcome that another run recorded for such a request, wherever it was asked: an effect that is finished is not
   * repeated because something before it changed.
   */
  reusable(request: FactInput, tip: Session, blobs: BlobSource | undefined): Reusable | undefined {
    if (this.#ranks.size === 1) return undefined;
    this.#outcomes ??= outcomesOfOthers(this, blobs);
    const entry = this.#outcomes.get(bodyKey(drafted(request)))?.find(({ used }) => !used);
    if (entry === undefined) return undefined;
    const evidence = this.entries
      .filter(({ of, run, type }) => of === entry.of && run === entry.run && EVIDENCE.has(type))
      .sort((one, other) => one.seq - other.seq)
      .map(({ line }) => readFact(line, blobs) as Evidence);
    const began = beganWith(evidence);
    // An effect on other files says nothing about these.
    if (began !== undefined && began !== tip.files.tree) return undefined;
    entry.used = true;
    return {
      id: entry.id,
      fact: readFact(entry.line, blobs) as Reusable["fact"],
      evidence: saidAgain(evidence),
    };
  }

  /** The recorded children of a session, oldest first. */
  #madeOf(parent: Session): readonly Entry[] | undefined {
    return this.#adopting && !this.#fresh.has(parent) ? this.#sorted(parent.id) : undefined;
  }

  #sorted(parent: FactId): readonly Entry[] | undefined {
    const entries = this.#byParent.get(parent);
    if (entries !== undefined && this.#unsorted.delete(entries))
      entries.sort((one, other) => one.seq - other.seq);
    return entries;
  }

  /** Whether the runtime noted it in the run that is being gone through: a what-if noted nothing before it left the other. */
  #told(entry: Entry): boolean {
    return !entry.used && this.#ranks.get(entry.run) === this.#floor;
  }

  #free(entry: Entry): boolean {
    return !entry.used && (this.#ranks.get(entry.run) ?? 0) >= this.#floor;
  }
}

/** The finished outcomes of the other runs on a tape that this run has not used, by the requests that they answer. */
function outcomesOfOthers({ entries, run: own }: Tape, blobs: BlobSource | undefined): Map<string, Entry[]> {
  const index = new Map<string, Entry[]>();
  const requests = new Map(
    entries.filter(({ type }) => REQUESTS.has(type)).map((entry) => [entry.id, entry] as const),
  );
  const finished = entries.filter(({ type }) => FINISHED.has(type));
  const taken = new Set(
    finished
      .filter(({ run }) => run === own)
      .map(({ line }) => (readFact(line, blobs) as { readonly from?: FactId }).from),
  );
  for (const entry of finished) {
    const request = requests.get(entry.of);
    if (request === undefined || entry.run === own || entry.used || taken.has(entry.id)) continue;
    // It came of other arguments than the request has.
    if ("edited" in readFact(entry.line, blobs)) continue;
    const key = bodyKey(readFact(request.line, blobs));
    const list = index.get(key);
    if (list === undefined) index.set(key, [entry]);
    else list.push(entry);
  }
  return index;
}

/** Whether two lines are the same but for their stamps: then their facts are the same. */
function isSameLine(one: string, other: string): boolean {
  const [stamp, by] = stampIn(one);
  const [otherStamp, otherBy] = stampIn(other);
  return (
    stamp === otherStamp &&
    one.length - by === other.length - otherBy &&
    one.slice(0, stamp) === other.slice(0, stamp) &&
    one.slice(by) === other.slice(otherBy)
  );
}

/** Where the stamp of a line begins, and where its body goes on. */
function stampIn(line: string): readonly [number, number] {
  const start = line.indexOf('"at":"', line.indexOf(BEGINNING));
  return [start, line.indexOf('"by":', start)];
}

function stampOf(line: string): { type: string; run: string; seq: number } | undefined {
  STAMP.lastIndex = line.indexOf(BEGINNING);
  const match = STAMP.exec(line);
  if (match === null) return undefined;
  return { type: match[1] as string, run: JSON.parse(match[2] as string), seq: Number(match[3]) };
}

/** How every fact of a run begins: the order in which a draft has its fields. */
const STAMP = /"fact":\{"type":"([a-z-]+)","at":"[^"]*","run":("(?:[^"\\]|\\.)*"),"seq":(\d+),/y;
const BEGINNING = '"fact":{"type":"';

function firstParent(line: string): FactId {
  const from = line.indexOf("[") + 1;
  return line[from] === '"' ? line.slice(from + 1, line.indexOf('"', from + 1)) : "";
}

function ofOf(line: string): FactId {
  const at = line.indexOf(OF, line.indexOf(BEGINNING));
  if (at < 0) return "";
  // A result may have such a field as well; then the whole line has to be read.
  if (line.includes(OF, at + 1)) return (JSON.parse(line) as { fact: { of?: FactId } }).fact.of ?? "";
  return line.slice(at + OF.length, line.indexOf('"', at + OF.length));
}

const OF = '"of":"';

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

/** The same without the author. */
function bodyKey(fact: Fact | Draft): string {
  return bodyOf({ ...fact, by: "runtime" });
}
