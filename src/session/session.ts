import { randomBytes, randomUUID } from "node:crypto";
import { descends, historyOf } from "./ancestry.js";
import { type BlobRef, type BlobSource, digestOf } from "./blob.js";
import { BeyondHorizonError, FactError, MergeError, RathError } from "./error.js";
import type {
  Adopt,
  Content,
  Fact,
  FactId,
  FactInput,
  FactOf,
  Message,
  Placement,
  Principal,
  Role,
  Stamp,
} from "./fact/index.js";
import { checkShape } from "./fact/index.js";
import { conflictsView, type FilesState, filesView } from "./files.js";
import { type Json, keepFields } from "./json.js";
import { strictestOf } from "./keeping.js";
import { blobsOf, INLINE_BYTES, parentsOf, readFact, writeLine } from "./line.js";
import { branchView, type LineageStep, lineageView } from "./lineage.js";
import { type Pending, pendingOf, pendingView } from "./pending.js";
import { checkPlacement, placementView } from "./placement.js";
import { lacks, messagesOf, newestOf, transcriptView } from "./transcript.js";
import { type TotalUsage, usageView } from "./usage.js";
import { copySeeds, type View, viewOf } from "./view.js";

/** What rides along with sessions and is no part of them: never hashed, never stored, inherited from the parent. */
export interface Realm {
  /** The runtime a session lives in, if any. A `Host` has a say in what is made of it. */
  readonly host?: object;
  /** Content of up to this many bytes stays in the line, unless it is personal; 0 puts all content into salted blobs. */
  readonly inline: number;
  /**
   * What salts are made of, and the name it is kept under. Erasing it makes erased content unguessable. Sessions of version
   * 0.1 have none unless `inline` is 0: their personal content stays in the line like any other.
   */
  readonly key?: { readonly id: string; readonly secret: Uint8Array };
  /** Where the content of loaded lines is read. */
  readonly blobs?: BlobSource;
  /** Where a session whose past is not in memory reads it; without one, it cannot. */
  readonly past?: PastSource;
}

/** Reads facts that were not loaded, at once: a question is answered without waiting. */
export interface PastSource {
  parentsOf(session: Session): readonly Session[];
}

/** A runtime under whose eyes sessions are made: each new fact becomes the session that it answers with. */
export interface Host {
  next(parents: readonly Session[], fact: Draft, realm: Realm): Session;
  /** Stands where a root would otherwise have a random word. */
  readonly nonce: string;
  /** The module that acts: the author of facts that would otherwise be the user's. */
  readonly actor?: Principal | undefined;
}

/** A fact that is checked and not stamped yet: `at` is empty unless its author gave it, `run` and `seq` are to be set. */
export type Draft = { -readonly [Field in keyof Stamp]: Stamp[Field] } & {
  readonly type: Fact["type"];
  readonly [field: string]: unknown;
};

export type Stamped = { readonly by?: Principal; readonly at?: string };
export type StartOptions = Stamped & {
  /** Makes this start unlike any other. Random unless given. */
  readonly nonce?: string;
  /**
   * Content longer than this many bytes is kept in blobs (default 4096). Messages of people and memories are always in salted
   * blobs, which can be erased; with 0, all content is.
   */
  readonly inline?: number;
  /**
   * The secret from which salts are derived: 32 bytes, by default random. With the same nonce, time and secret a start is the
   * same session. With the secret, a guess can be tested against the digest of erased content.
   */
  readonly secret?: Uint8Array;
  readonly host?: object;
};

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
  #past: Session | readonly Session[] | undefined;
  readonly #realm: Realm;
  #fact: Fact | undefined;
  // biome-ignore lint/style/useReadonlyClassProperties: #seal writes it, through another name than `this`.
  #line: string | undefined;
  #id: FactId | undefined;

  private constructor(
    past: Session | readonly Session[] | undefined,
    depth: number,
    realm: Realm,
    fact: Fact | undefined,
    line: string | undefined,
  ) {
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
    const { nonce = randomUUID(), inline = INLINE_BYTES, secret, host } = given(options, "start");
    if (!Number.isSafeInteger(inline) || inline < 0) {
      throw new RathError("option-refused", `Cannot start a session with inline: ${inline}.`, {
        hint: "give a number of bytes, or 0 for erasable content",
      });
    }
    const key = newKey(secret);
    const realm: Realm = Object.freeze({ inline, ...(host && { host }), key });
    return Session.#root(realm, {
      type: "session-start",
      nonce,
      ...(inline !== INLINE_BYTES && { inline }),
      key: key.id,
      ...(text !== undefined && { text }),
      ...stampOf(options),
    });
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
    const [first] = parents ?? [];
    const past =
      parents?.length === 1 && first !== undefined ? first : parents && Object.freeze([...parents]);
    const session = new Session(
      past,
      parents === undefined ? (known.depth ?? 0) : depthAbove(parents),
      realm,
      undefined,
      line,
    );
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

  /** What rides along with a session. For stores and runtimes. */
  static realmOf(session: Session): Realm {
    return session.#realm;
  }

  /** SHA-256 of the record line, in hex. Equal ids mean equal histories. */
  get id(): FactId {
    if (this.#id === undefined) {
      if (this.#line === undefined) Session.#seal(this);
      this.#id ??= digestOf(this.#line as string);
    }
    return this.#id;
  }

  /** The record line: serialised once, the same bytes for ever. */
  get line(): string {
    if (this.#line === undefined) Session.#seal(this);
    return this.#line as string;
  }

  /** What happened here. Content that was erased or not brought along reads as a `Withheld`. */
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
    return Object.freeze(
      this.#past === undefined
        ? [...parentsOf(this.#line as string)]
        : this.parents.map((parent) => parent.id),
    );
  }

  /** Whether the past before this session is out of reach: it was left in the store, and cannot be read from here. */
  get atHorizon(): boolean {
    return this.#past === undefined && !this.#canRead;
  }

  /** Whether the parents are in memory, so that asking for them reads nothing. */
  get isPastLoaded(): boolean {
    return this.#past !== undefined;
  }

  get #canRead(): boolean {
    return this.#realm.past !== undefined;
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
    if (host !== undefined) return host.next([this], plain(drafted(fact, host.actor)), this.#realm);
    return new Session(this, this.depth + 1, this.#realm, plain(stamped(fact)), undefined);
  }

  /**
   * A session made of any parents and a fact with its whole stamp, for runtimes: they join what ran side by side.
   * Nobody else is asked, so the fact must come from a `Host`'s draft or be checked.
   */
  static made(parents: readonly Session[], fact: Fact, realm: Realm): Session {
    const [first] = parents;
    const past = parents.length === 1 && first !== undefined ? first : Object.freeze([...parents]);
    return new Session(past, depthAbove(parents), realm, fact, undefined);
  }

  /** Adds a message to the conversation. */
  say(content: Content, options: Stamped & { readonly role?: Role } = {}): Session {
    return this.append({
      type: "message-say",
      role: given(options, "say").role ?? "user",
      content,
      ...stampOf(options),
    });
  }

  /** Begins a branch here. The trunk and its other branches never see what happens on it. */
  fork(name: string, options: Stamped & { readonly why?: string } = {}): Session {
    const { why } = given(options, "fork");
    return this.append({
      type: "branch-fork",
      name,
      ...(why !== undefined && { why }),
      ...stampOf(options),
    });
  }

  /**
   * Brings branches together; what they share is counted once and everybody's evidence is kept. `adopt` says
   * whose conversation and placement go on: "both" (the default) continues ours with what theirs adds, "none" gathers
   * the sides without preferring one, as trials are, and goes on with the trunk that they left.
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
    const fact: FactInput = {
      type: "branch-merge",
      adopt,
      ...(why !== undefined && { why }),
      ...stampOf(options),
    };
    const realm = strictest(parents);
    const host = hostOf(realm);
    if (host !== undefined) return host.next(parents, drafted(fact, host.actor), realm);
    return new Session(parents, depthAbove(parents), realm, stamped(fact), undefined);
  }

  /** Places the session: from here on its side effects happen there. Nothing opens until it is used. */
  to(sandbox: string, spec?: Json, options: Stamped = {}): Session {
    requirePlace(sandbox);
    return this.append({
      type: "placement-change",
      sandbox,
      ...(spec !== undefined && { spec }),
      ...stampOf(given(options, "to")),
    });
  }

  /**
   * A new root with the same conversation, placement and files, which still names where it came from. Refused while files
   * of a merge are not in its tree yet: what was in common with them stays behind.
   */
  detach(options: Stamped & { readonly why?: string } = {}): Session {
    const { why } = given(options, "detach");
    requireMerged(this);
    const { inline } = this.#realm;
    const host = hostOf(this.#realm);
    // In a run nothing may be random: its stamp makes this root unlike others, and its key stays.
    const fresh = host === undefined ? newKey() : this.#realm.key;
    return Session.#root(Object.freeze({ ...this.#realm, ...(fresh && { key: fresh }) }), {
      type: "session-detach",
      nonce: host?.nonce ?? randomUUID(),
      from: this.id,
      ...(why !== undefined && { why }),
      messages: this.transcript,
      ...(this.placement && { placement: this.placement }),
      ...(this.files.tree !== null && { tree: this.files.tree }),
      ...(inline !== INLINE_BYTES && { inline }),
      ...(fresh && { key: fresh.id }),
      ...stampOf(options),
    });
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
    return viewOf(this, view, this.#canRead);
  }

  /** The conversation, as a model would see it. */
  get transcript(): readonly Message[] {
    const transcript = this.view(transcriptView);
    if (transcript.omitted > 0) throw this.#cut("the whole transcript", transcript.omitted);
    return messagesOf(transcript);
  }

  /**
   * The newest messages that are known, up to `count`: the end of the transcript, also of a session too long
   * to load. A `BeyondHorizonError` where none is known for certain.
   */
  recent(count = 50): readonly Message[] {
    const most = count > 0 ? Math.trunc(count) : 0;
    const transcript = viewOf(this, transcriptView, this.#canRead, (known) => lacks(known, most));
    const newest = newestOf(transcript, most);
    if (most > 0 && newest.length === 0 && transcript.omitted > 0)
      throw this.#cut("what was said last", transcript.omitted);
    return newest;
  }

  get usage(): TotalUsage {
    return this.view(usageView);
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

  /** What was asked for and not answered yet, oldest first. */
  get pending(): readonly Pending[] {
    return pendingOf(this.view(pendingView));
  }

  /** Every start, fork, merge and detach in the past, in order. */
  get lineage(): readonly LineageStep[] {
    const steps = this.view(lineageView);
    const known = lineages.get(steps);
    if (known !== undefined) return known;
    const array = Object.freeze(steps.toArray());
    lineages.set(steps, array);
    return array;
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

  #cut(question: string, omitted: number): BeyondHorizonError {
    const earlier = Number.isFinite(omitted)
      ? `${omitted} earlier messages are in the store; session.recent() has the rest`
      : "a merge or a summary needs what is in the store";
    return new BeyondHorizonError(`${question} (${earlier})`, this.id);
  }

  static #root(realm: Realm, fact: FactInput): Session {
    const host = hostOf(realm);
    if (host !== undefined) return host.next(NO_PARENTS, drafted(fact, host.actor), realm);
    return new Session(NO_PARENTS, 0, realm, stamped(fact), undefined);
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

const SECRET_BYTES = 32;
const OPERATORS: ReadonlySet<string> = new Set(["session-start", "session-detach", "branch-merge"]);
const lineages = new WeakMap<object, readonly LineageStep[]>();
const NO_STAMP: Stamped = Object.freeze({});
const NO_PARENTS: readonly Session[] = Object.freeze([]);

function keepingOf(realm: Realm): { inline: number; secret?: Uint8Array } {
  return realm.key === undefined
    ? { inline: realm.inline }
    : { inline: realm.inline, secret: realm.key.secret };
}

function stampOf(options: Stamped): Stamped {
  if (options.by === undefined && options.at === undefined) return NO_STAMP;
  return {
    ...(options.by !== undefined && { by: options.by }),
    ...(options.at !== undefined && { at: options.at }),
  };
}

/** The value, if it is a session; for callers the compiler did not check. */
export function requireSession(value: unknown, use: string): Session {
  if (value instanceof Session) return value;
  // What `call` gives: a step's value, and the session beside it.
  const told =
    typeof value === "object" &&
    value !== null &&
    (value as { session?: unknown }).session instanceof Session;
  const what = told ? "what a call gave, such as { session, value }" : named(value);
  throw new RathError("not-a-session", `Cannot ${use} with ${what}: it is not a session.`, {
    hint: told
      ? "take the session out of it: return (await step.call(session)).session"
      : "pass what Session.start, append, fork, merge or store.load gave you; await what is a promise",
    data: { use },
  });
}

/** Where side effects shall happen is a name: a runtime knows what stands behind it, the record cannot. */
function requirePlace(sandbox: unknown): void {
  if (typeof sandbox === "string") return;
  const what = sandbox === undefined ? "nothing" : named(sandbox);
  const provider = typeof (sandbox as { create?: unknown } | null | undefined)?.create === "function";
  throw new RathError("place-refused", `Cannot move a session to ${what}: a place is a name.`, {
    hint: provider
      ? 'give it a name where the runtime is opened: openRath({ sandboxes: { mine: provider } }), then session.to("mine")'
      : 'say which, then what it shall be: session.to("local"), or session.to("local", { workspace: "./repo" })',
    data: { given: what },
  });
}

/** A root has no past that says what its sides had in common, so they must be one before. */
function requireMerged({ id, files: { unmerged = [] } }: Session): void {
  if (unmerged.length === 0) return;
  throw new RathError(
    "files-unmerged",
    `Cannot detach ${id.slice(0, 12)}: the files of ${unmerged.length === 1 ? "a merged branch are" : `${unmerged.length} merged branches are`} not in its own yet.`,
    {
      hint: 'merge them first: session = await mergeFiles({ resolve: "ours" }).forward(session); using the session in a sandbox does it too where nothing is in conflict',
      data: { session: id, unmerged: unmerged.map(({ base, theirs }) => ({ base, theirs })) },
    },
  );
}

function given<Options extends object>(options: Options, use: string): Options {
  if (typeof options === "object" && options !== null) return options;
  throw new RathError("option-refused", `Cannot ${use} with ${named(options)} for options.`, {
    hint: 'leave the options out, or pass an object: { by: "user:ada" }',
    data: { use },
  });
}

function named(value: unknown): string {
  return value === null ? "null" : Array.isArray(value) ? "a list" : typeof value;
}

/** The fact as the record will hold it: checked, copied, frozen, with its time and author. */
function stamped(input: FactInput): Fact {
  const time = now();
  return Object.freeze(checked({ type: "", at: time, by: null }, input, time)) as unknown as Fact;
}

/** The fact as a host gets it: checked and copied, with room for its stamp where every fact of a run has it. */
export function drafted(input: FactInput, actor?: Principal): Draft {
  return checked({ type: "", at: "", run: "", seq: 0, by: null }, input, "", actor) as unknown as Draft;
}

function checked(
  fact: { [field: string]: Json },
  input: FactInput,
  time: string,
  actor?: Principal,
): { [field: string]: Json } {
  if (typeof input !== "object" || input === null)
    throw new FactError(
      typeof input,
      "a fact is an object with a type",
      'append({ type: "note", kind: "…" })',
    );
  keepFields(fact, input);
  // The copy is checked, not the original: a getter may answer differently the second time.
  checkShape(fact, time, actor);
  return fact;
}

/** The fact, unless it is one of those that have a method of their own. */
function plain<Checked extends { readonly type: string }>(fact: Checked): Checked {
  if (!OPERATORS.has(fact.type)) return fact;
  throw new FactError(fact.type, "it says what parents a session has", "use Session.start, detach or merge");
}

function hostOf(realm: Realm): Host | undefined {
  const host = realm.host as Partial<Host> | undefined;
  return host?.next === undefined ? undefined : (host as Host);
}

let lastMillisecond = 0;
let lastTime = "";

/** The clock's time as text. Formatting is half the cost of an append, so one millisecond is formatted once. */
function now(): string {
  const millisecond = Date.now();
  if (millisecond !== lastMillisecond) {
    lastMillisecond = millisecond;
    lastTime = new Date(millisecond).toISOString();
  }
  return lastTime;
}

function depthAbove(parents: readonly Session[]): number {
  let depth = -1;
  for (const parent of parents) if (parent.depth > depth) depth = parent.depth;
  return depth + 1;
}

/** A merge with a session whose content must stay erasable keeps its own content erasable. */
function strictest(parents: readonly Session[]): Realm {
  const realms = parents.map((parent) => Session.realmOf(parent));
  const [ours] = realms as [Realm];
  const { inline, key } = strictestOf(realms);
  if (inline === ours.inline && key === ours.key) return ours;
  return Object.freeze({ ...ours, inline, ...(key && { key }) });
}

/** The key of a new root. Its id comes from the secret, so that the same secret is the same session. */
function newKey(secret: Uint8Array = randomBytes(SECRET_BYTES)): { id: string; secret: Uint8Array } {
  if (secret instanceof Uint8Array && secret.length === SECRET_BYTES)
    return { id: digestOf(secret).slice(0, 32), secret };
  throw new RathError("option-refused", "Cannot start a session: `secret` must be 32 bytes.", {
    hint: "leave `secret` out, or pass 32 random bytes: randomBytes(32)",
  });
}

function adoptOf(adopt: Adopt | Session, parents: readonly Session[]): FactOf<"branch-merge">["adopt"] {
  if (parents.length < 2)
    throw new MergeError("there is nothing to merge", "pass one session or a list of at least one");
  if (new Set(parents.map((parent) => parent.id)).size !== parents.length) {
    throw new MergeError(
      "the same session is there twice",
      "merge each branch once; a session cannot merge with itself",
    );
  }
  const choice = adopt instanceof Session ? parents.findIndex((parent) => parent.id === adopt.id) : adopt;
  if (
    choice === "ours" ||
    choice === "both" ||
    choice === "none" ||
    (choice === "theirs" && parents.length === 2)
  )
    return choice;
  if (typeof choice === "number" && Number.isInteger(choice) && choice >= 0 && choice < parents.length)
    return choice;
  throw new MergeError(
    `no side answers to adopt: ${typeof adopt === "string" ? `"${adopt}"` : typeof adopt === "number" ? adopt : named(adopt)}`,
    'adopt "ours", "theirs" (of two), "both", "none" to gather without preferring a side, one of the merged sessions, or its place in the list',
  );
}
