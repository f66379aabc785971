import { defined, showValue } from "../util/index.js";
import { descends, historyOf } from "./ancestry.js";
import { type BlobRef, digestOf } from "./blob.js";
import { drafted, type Stamped, stamped, stampOf, withoutMethod } from "./draft.js";
import { BeyondHorizonError, RathError } from "./error.js";
import type { Adopt, Content, Fact, FactId, FactInput, Message, Placement, Role } from "./fact/index.js";
import { conflictsView, type FilesState, filesView } from "./files.js";
import { adoptOf, given, requirePlace } from "./given.js";
import type { Json } from "./json.js";
import { blobsOf, parentsOf, readFact, writeLine } from "./line.js";
import { branchView, type LineageStep, lineageIn, lineageView } from "./lineage.js";
import { type Pending, pendingOf, pendingView } from "./pending.js";
import { checkPlacement, placementView } from "./placement.js";
import { hostOf, keepingOf, type Realm, strictest } from "./realm.js";
import { detachOf, type StartOptions, startOf } from "./root.js";
import { answerIn, lacks, messagesOf, newestOf, transcriptView } from "./transcript/index.js";
import { type TotalUsage, usageView, withCost } from "./usage.js";
import { copySeeds, type View, viewOf } from "./view.js";

/**
 * An immutable value: one fact and the sessions it was made from. Methods return the next session; the
 * original never changes, so a step, a checkpoint and a branch point are the same thing.
 *
 * ```ts
 * const trunk = Session.start("Fix issue 41.").to("local");
 * const merged = trunk.fork("small").say("a").merge(trunk.fork("bold").say("b"), { adopt: "ours" });
 * ```
 */
export class Session {
  /** How many steps the longest way from a root has. */
  readonly depth: number;
  // One parent is held directly, several in a list. Where the past is not in memory, it is read on first use.
  #past: Past;
  readonly #realm: Realm;
  #fact: Fact | undefined;
  // biome-ignore lint/style/useReadonlyClassProperties: #seal writes it, through another name than `this`.
  #line: string | undefined;
  #id: FactId | undefined;

  private constructor(past: Past, depth: number, realm: Realm, fact?: Fact, line?: string) {
    this.depth = depth;
    this.#past = past;
    this.#realm = realm;
    this.#fact = fact;
    this.#line = line;
    this.#id = undefined;
    Object.freeze(this);
  }

  /** Begins a history. */
  static start(text?: Content, options: StartOptions = {}): Session {
    const { realm, fact } = startOf(text, options);
    return Session.#join(realm, NO_PARENTS, fact);
  }

  /**
   * A session from its record line and its parents, for stores. `parents` may be left out where the past is
   * not loaded; then the depth must be known. An id that the caller has just computed saves doing it again.
   */
  static restore(
    line: string,
    parents: readonly Session[] | undefined,
    realm: Realm,
    known: { readonly id?: FactId; readonly depth?: number } = {},
  ): Session {
    const depth = parents === undefined ? (known.depth ?? 0) : depthAbove(parents);
    const session = new Session(parents && pastOf(parents), depth, realm, undefined, line);
    session.#id = known.id;
    return session;
  }

  /** The same session with something else riding along. For runtimes: content that no store has yet stays at hand. */
  static moved(session: Session, realm: Realm): Session {
    const moved = new Session(session.#past, session.depth, realm, session.#fact, session.line);
    moved.#id = session.#id;
    if (!session.isPastLoaded) copySeeds(session, moved);
    return moved;
  }

  /** The settings that are carried with a session. For stores and runtimes. */
  static realmOf(session: Session): Realm {
    return session.#realm;
  }

  /** SHA-256 of the record line, in hex. Equal ids mean equal histories. */
  get id(): FactId {
    if (this.#id === undefined) {
      // Writing its line gives a session its id too.
      if (this.#line === undefined) Session.#seal(this);
      else this.#id = digestOf(this.#line);
    }
    return this.#id as FactId;
  }

  /** The record line: serialised once, always the same bytes. */
  get line(): string {
    if (this.#line === undefined) Session.#seal(this);
    return this.#line as string;
  }

  /** The fact of this session. Content that was erased or not brought along reads as a `Withheld`. */
  get fact(): Fact {
    this.#fact ??= readFact(this.#line as string, this.#realm.blobs);
    return this.#fact;
  }

  /** The sessions this one was made from: none at a root, one normally, more after a merge. */
  get parents(): readonly Session[] {
    const past = this.#past ?? this.#readPast();
    if (past === undefined) throw new BeyondHorizonError("what came before", this.id);
    return past instanceof Session ? Object.freeze([past]) : past;
  }

  /** The parent of a session that has one: none at a root, at a merge, or where the past is out of reach. */
  get soleParent(): Session | undefined {
    const past = this.#past ?? this.#readPast();
    return past instanceof Session ? past : undefined;
  }

  /** The ids of the parents, known even where the past is not loaded. */
  get parentIds(): readonly FactId[] {
    if (this.#past === undefined) return Object.freeze([...parentsOf(this.#line as string)]);
    return Object.freeze(this.parents.map(({ id }) => id));
  }

  /** Whether the past before this session is out of reach: it was left in the store, and cannot be read from here. */
  get atHorizon(): boolean {
    return this.#past === undefined && this.#realm.past === undefined;
  }

  /** Whether the parents are in memory, so that asking for them reads nothing. */
  get isPastLoaded(): boolean {
    return this.#past !== undefined;
  }

  #readPast(): Session | readonly Session[] | undefined {
    const parents = this.#realm.past?.parentsOf(this);
    this.#past = parents?.length === 1 ? parents[0] : parents;
    return this.#past;
  }

  /** The runtime that rides along, if any. */
  get host(): object | undefined {
    return this.#realm.host;
  }

  /** The next session: this one and one more fact. */
  append(fact: FactInput): Session {
    const host = hostOf(this.#realm);
    if (host !== undefined) return host.next([this], withoutMethod(drafted(fact, host.actor)), this.#realm);
    return new Session(this, this.depth + 1, this.#realm, withoutMethod(stamped(fact)), undefined);
  }

  /**
   * A session made of any parents and a fact with its whole stamp, for runtimes: they join what ran side by side.
   * Nobody else is asked, so the fact must come from a `Host`'s draft or be checked.
   */
  static made(parents: readonly Session[], fact: Fact, realm: Realm): Session {
    return new Session(pastOf(parents), depthAbove(parents), realm, fact, undefined);
  }

  /** Adds a message to the conversation. */
  say(content: Content, options: Stamped & { readonly role?: Role } = {}): Session {
    const { role = "user" } = given(options, "say");
    return this.append({ type: "message-say", role, content, ...stampOf(options) });
  }

  /**
   * Starts a branch here. The trunk and its other branches never see the facts of this branch. Without a name it is "fork-1",
   * "fork-2", …; on a branch "small" it is "small.1", "small.2", ….
   */
  fork(name?: string, options: Stamped & { readonly why?: string } = {}): Session {
    const { why } = given(options, "fork");
    const branch = name === undefined ? nextForkName(this) : name;
    return this.append({ type: "branch-fork", name: branch, ...defined({ why }), ...stampOf(options) });
  }

  /**
   * Merges branches; shared history is counted once, and the evidence of all sides is kept. `adopt` says
   * whose conversation and placement continue: "both" (the default) continues ours with what theirs adds, "none" collects
   * the sides without preferring one, such as trials, and continues the trunk that they left.
   */
  merge(
    others: Session | readonly Session[],
    options: Stamped & { readonly adopt?: Adopt | Session; readonly why?: string } = {},
  ): Session {
    const { adopt: choice = "both", why } = given(options, "merge");
    const list: readonly unknown[] = Array.isArray(others) ? others : [others];
    const parents = Object.freeze([this, ...list.map((other) => requireSession(other, "merge"))]);
    const adopt = adoptOf(choice, parents);
    checkPlacement(parents, adopt);
    const fact: FactInput = { type: "branch-merge", adopt, ...defined({ why }), ...stampOf(options) };
    const realm = strictest([this.#realm, ...parents.slice(1).map((parent) => parent.#realm)]);
    return Session.#join(realm, parents, fact);
  }

  /** Places the session: from here on, its side effects happen in this sandbox. The sandbox opens at first use. */
  to(sandbox: string, spec?: Json, options: Stamped = {}): Session {
    requirePlace(sandbox);
    const stamp = stampOf(given(options, "to"));
    return this.append({ type: "placement-change", sandbox, ...defined({ spec }), ...stamp });
  }

  /**
   * A new root with the same conversation, placement and files, which still names where it came from. Refused while files
   * of a merge are not in its tree yet: what was in common with them stays behind.
   */
  detach(options: Stamped & { readonly why?: string } = {}): Session {
    const { realm, fact } = detachOf(this, this.#realm, options);
    return Session.#join(realm, NO_PARENTS, fact);
  }

  /** The whole past and this session, parents before children. */
  history(): IterableIterator<Session> {
    return historyOf(this);
  }

  /** Whether `other` is in the past of this session, or the same session. */
  descendsFrom(other: Session): boolean {
    return descends(this, requireSession(other, "descendsFrom"));
  }

  /** Answers a question about the whole history; answers are remembered. */
  view<State>(view: View<State>): State {
    return viewOf(this, view, this.#realm.past !== undefined);
  }

  /** The conversation, as a model would see it. */
  get transcript(): readonly Message[] {
    const transcript = this.view(transcriptView);
    if (transcript.omitted > 0) throw cutOff(this, "the whole transcript", transcript.omitted);
    return messagesOf(transcript);
  }

  /**
   * The newest messages that are known, up to `count`: the end of the transcript, also of a session too long
   * to load. A `BeyondHorizonError` where none is known for certain.
   */
  recent(count = 50): readonly Message[] {
    const most = count > 0 ? Math.trunc(count) : 0;
    const transcript = viewOf(this, transcriptView, this.#realm.past !== undefined, (known) =>
      lacks(known, most),
    );
    const newest = newestOf(transcript, most);
    if (most > 0 && newest.length === 0 && transcript.omitted > 0)
      throw cutOff(this, "what was said last", transcript.omitted);
    return newest;
  }

  /** The newest answer to what the user said last, as text; "" until there is one. */
  get text(): string {
    return answerIn(this.recent(MESSAGES_OF_A_TURN));
  }

  /** Tokens, calls and cost of all models in the whole history. */
  get usage(): TotalUsage {
    return withCost(this.view(usageView));
  }

  get placement(): Placement | undefined {
    return this.view(placementView) ?? undefined;
  }

  /** The files this session has: the id of their tree, and the sides of a merge that are not in it yet. */
  get files(): FilesState {
    return this.view(filesView);
  }

  /** The merges of files whose conflicts nobody has decided: until then they are marked in the files. */
  get conflicts(): readonly FactId[] {
    return this.view(conflictsView).open;
  }

  /** Requests that nobody has answered yet, oldest first. */
  get pending(): readonly Pending[] {
    return pendingOf(this.view(pendingView));
  }

  /** Every start, fork, merge and detach in the past, in order. */
  get lineage(): readonly LineageStep[] {
    return lineageIn(this.view(lineageView));
  }

  /** The name of the branch this session is on; "main" until the first fork. */
  get branch(): string {
    return this.view(branchView);
  }

  /** The blobs of this session's own line, when its content is at hand. */
  blobs(): Iterable<{ readonly ref: BlobRef; readonly bytes: Uint8Array }> {
    return blobsOf(this.line, this.fact, this.#realm.key?.secret, this.#realm.blobs);
  }

  toJSON(): Json {
    return { id: this.id, depth: this.depth, parents: this.parentIds, fact: this.fact as unknown as Json };
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return `Session ${this.id.slice(0, 12)} (${this.fact.type}, depth ${this.depth})`;
  }

  /** A session of any number of parents but one. */
  static #join(realm: Realm, parents: readonly Session[], fact: FactInput): Session {
    const host = hostOf(realm);
    if (host !== undefined) return host.next(parents, drafted(fact, host.actor), realm);
    return new Session(parents, depthAbove(parents), realm, stamped(fact), undefined);
  }

  /** Writes the lines of a session and of all its ancestors that have none yet, parents first. */
  static #seal(target: Session): void {
    const open: Session[] = [target];
    for (let node = open.at(-1); node !== undefined; node = open.at(-1)) {
      const ready = open.length;
      const past = node.#past as Session | readonly Session[];
      if (past instanceof Session) {
        if (past.#line === undefined) open.push(past);
      } else {
        for (const parent of past) if (parent.#line === undefined) open.push(parent);
      }
      if (open.length > ready) continue;
      open.pop();
      if (node.#line !== undefined) continue;
      const parents = past instanceof Session ? [past.id] : past.map((parent) => parent.id);
      node.#line = writeLine(parents, node.#fact as Fact, keepingOf(node.#realm));
      node.#id = digestOf(node.#line);
    }
  }
}

function cutOff(session: Session, question: string, omitted: number): BeyondHorizonError {
  const earlier = Number.isFinite(omitted)
    ? `${omitted} earlier messages are in the store; session.recent() has the rest`
    : "a merge or a summary needs what is in the store";
  return new BeyondHorizonError(`${question} (${earlier})`, session.id);
}

/** A name that no branch on the way here has. The same in a replay, which forks in the same order. */
function nextForkName(session: Session): string {
  const taken = new Set(session.lineage.map(({ branch }) => branch));
  const stem = session.branch === "main" ? "fork-" : `${session.branch}.`;
  let number = forks.get(session) ?? 0;
  do number += 1;
  while (taken.has(`${stem}${number}`));
  forks.set(session, number);
  return `${stem}${number}`;
}

const forks = new WeakMap<Session, number>();
const MESSAGES_OF_A_TURN = 1_000;
type Past = Session | readonly Session[] | undefined;

const NO_PARENTS: readonly Session[] = Object.freeze([]);

/** The value, if it is a session; for callers the compiler did not check. */
export function requireSession(value: unknown, use: string): Session {
  if (value instanceof Session) return value;
  // The result of `call`: a step's value, and the session beside it.
  const told =
    typeof value === "object" &&
    value !== null &&
    (value as { session?: unknown }).session instanceof Session;
  const what = told ? "what a call gave, such as { session, value }" : showValue(value);
  throw new RathError("not-a-session", `Cannot ${use} with ${what}: it is not a session.`, {
    hint: told
      ? "take the session out of it: return (await step.call(session)).session"
      : "pass what Session.start, append, fork, merge or store.load gave you; await what is a promise",
    data: { use },
  });
}

/** Parents as they are held. The list is copied: a caller may use its own again. */
function pastOf(parents: readonly Session[]): Session | readonly Session[] {
  const [first] = parents;
  return parents.length === 1 && first !== undefined ? first : Object.freeze([...parents]);
}

function depthAbove(parents: readonly Session[]): number {
  let depth = -1;
  for (const parent of parents) if (parent.depth > depth) depth = parent.depth;
  return depth + 1;
}
