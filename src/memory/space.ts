import {
  type Because,
  type Digest,
  digestOf,
  type FactId,
  type FactInput,
  isPerson,
  type Json,
  type Principal,
  readFact,
  Session,
} from "../session/index.js";
import { ConflictError, type Store } from "../store/index.js";
import { defined, optionNames } from "../util/index.js";
import { requireOptions } from "../workflow/index.js";
import { type Contradicts, contradictedBy, differInOneThing } from "./contradiction.js";
import { derivedOf } from "./derived.js";
import {
  checkDraft,
  type Draft,
  importanceOf,
  LONGEST,
  principalOf,
  refusing,
  sourceOf,
  textOf,
  timeOf,
  whyOf,
} from "./draft.js";
import type { Embedder } from "./embedding/embedder.js";
import { MemoryRefusedError, UnknownMemoryError } from "./error.js";
import { type Evidence, evidenceIn, heardBy, originsIn, requireGround } from "./evidence.js";
import { requireSpaceName } from "./name.js";
import { hasRead } from "./readings.js";
import { type Needs, needsOf, type Rules, requireAdmission, rulesIn } from "./rules.js";
import { holdsIn, isWider, type Scope, type ScopeGiven, scopeOf } from "./scope.js";
import type { SpaceIndex } from "./search/space-index.js";
import { isGround, type Source } from "./source.js";
import { type Memory, memoriesOf, type Status, trustOf } from "./state.js";
import { SpaceView, storeNameOf } from "./view.js";

/** What a space is opened with. */
export type SpaceSettings = {
  readonly name: string;
  readonly scope: Scope;
  readonly rules: Rules;
  readonly embedder: Embedder;
  readonly contradicts?: Contradicts | false;
};

/** Where a deed in a space comes from. */
export type Deed = {
  /** The session that does it: it is kept first, and what it has heard by now is where the text comes from too. */
  readonly from?: Session;
  /** The same deed again, after a crash, is done once. */
  readonly key?: string;
  /** When it is done. Default: now. */
  readonly at?: string;
};

/** What another system keeps, and where. */
export type Foreign = {
  readonly backend: string;
  readonly address: string;
  readonly text: string;
  readonly digest: Digest;
};

/** What became of a memory that was written. */
export type Written = {
  readonly memory: FactId;
  readonly version: FactId;
  readonly head: FactId;
  readonly status: Status;
  readonly needs?: Needs;
  readonly contradicts: readonly FactId[];
};

export type Revision = {
  readonly text: string;
  readonly because: Because;
  readonly by: Principal;
  readonly source?: Source;
  readonly importance?: number;
  readonly expires?: string;
  readonly meta?: Json;
  readonly why?: string;
  /** The version that it was made from: if there is a newer one by now, it is refused. Default: whatever there is. */
  readonly was?: FactId;
};
export type Ending = {
  readonly why: string;
  readonly by: Principal;
  readonly because?: readonly FactId[];
  /** Takes back only this version, that waits for somebody's word; what is told stays. For revocations. */
  readonly version?: FactId;
};
export type Promotion = {
  readonly because: Because;
  readonly by: Principal;
  /** The version that is agreed to. Default: as it was first written, or the newest that is held. */
  readonly version?: FactId;
  /** The scope that it shall have from now on. */
  readonly to?: ScopeGiven;
  readonly why?: string;
};
export type Linking = {
  readonly to: FactId;
  readonly relation: string;
  readonly by: Principal;
  readonly why?: string;
};
export type RollbackTo = { readonly to: FactId; readonly why: string; readonly by: Principal };
/** What was undone, and the memories that are not told any more for it. */
export type Undone = {
  readonly head: FactId;
  readonly facts: readonly FactId[];
  readonly memories: readonly FactId[];
};

const TRIES = 50;
/** After so many facts the beginning of the chain need not be held in memory any more. */
const HELD = 1_000;
/** Memories that a new one is held against. */
const NEAR = 8;
/** Contradictions that are linked to one memory. */
const CONTRADICTED = 16;
/** Memories that another branch brings are held against ours as far as this. */
const COMPARED = 1_000;

const REVISION = optionNames<Revision>()("text because by source importance expires meta why was");
const ENDING = optionNames<Ending>()("why by because version");
const PROMOTION = optionNames<Promotion>()("because by version to why");
const LINKING = optionNames<Linking>()("to relation by why");
const ROLLBACK = optionNames<RollbackTo>()("to why by");

const UNDOABLE: ReadonlySet<string> = new Set([
  "memory-write",
  "memory-revise",
  "memory-revoke",
  "memory-promote",
  "memory-expire",
  "memory-link",
  "memory-rollback",
]);

type Since = {
  readonly facts: readonly FactId[];
  readonly written: readonly FactId[];
  readonly touched: readonly FactId[];
  /** The last revision of each memory. */
  readonly revised: ReadonlyMap<FactId, FactId>;
};

/** What is looked at when two memories may be in each other's way. */
type Meeting = {
  readonly text: string;
  readonly subject?: string;
  readonly scope: Scope;
  readonly source: Source;
  readonly merges?: readonly FactId[];
};

/** The end of each chain that this process has written to last. */
const ends = new WeakMap<Store, Map<string, { readonly session: Session; readonly since: number }>>();

/** A memory space in a store: read, and written to with evidence. */
export class Space extends SpaceView {
  readonly #settings: SpaceSettings;
  /** What was found to be done already, the last time: much may have become of it since. */
  #replayed: Session | undefined;

  constructor(store: Store, settings: SpaceSettings) {
    if (typeof store?.line !== "function")
      throw new MemoryRefusedError(
        "option",
        `open the memory "${settings.name}"`,
        "what was given is no store",
        "notes.open(await rath.store())",
      );
    super(store, settings.name, settings.embedder);
    this.#settings = settings;
  }

  /** The space as it was at one of its ids. */
  async at(id: FactId): Promise<SpaceView> {
    const found = await this.#resolved(id, `read "${this.name}" as of then`);
    await this.#requireKin(found, `read "${this.name}" as of ${found.slice(0, 12)}`);
    return new SpaceView(this.store, this.name, this.embedder, found);
  }

  /** Remembers something. */
  async write(draft: Draft, deed: Deed = {}): Promise<Written> {
    const use = `write to the memory "${this.name}"`;
    const checked = checkDraft(draft, this.#settings.scope, use);
    this.#requireInside(checked.scope, use, deed);
    const evidence = await this.#evidence(checked.because, deed, use);
    requireGround(checked.source, evidence, use);
    const origins = await this.#origins(evidence, checked.by, deed);
    // A judge of one's own may take its time, and may ask this space: nobody waits for it in line.
    const judged =
      typeof this.#settings.contradicts === "function"
        ? await this.#judged(checked, await this.use(async (index) => this.#meets(index, checked)))
        : undefined;
    return this.#append(use, checked.by, deed, async (index) => {
      // What takes the place of others is as good as the worst of them.
      for (const id of checked.merges ?? [])
        for (const origin of this.#changeable(index, id, use, deed, ["live"]).origins) origins.add(origin);
      const needs = this.#needs(index, checked.source, origins);
      const contradicts = judged ?? (await this.#judged(checked, this.#meets(index, checked)));
      const { because, merges, scope, text, source, by, ...more } = checked;
      return {
        type: "memory-write",
        space: this.name,
        text,
        scope: scope as unknown as Json,
        source,
        because: [...evidence.keys()] as unknown as Because,
        origins: [...origins].sort(),
        by,
        ...more,
        ...defined({ needs }),
        ...(contradicts.length > 0 && { contradicts: contradicts.map(({ id }) => id) }),
        ...(merges !== undefined && merges.length > 0 && { merges }),
      };
    });
  }

  /** Takes in what another system keeps: a memory that was imported, with where it is there as its evidence. Once. */
  async adopt({ backend, address, text, digest }: Foreign): Promise<Written> {
    const use = `take "${address.slice(0, 80)}" into the memory "${this.name}"`;
    const by = "runtime";
    const key = `adopt ${backend} ${digestOf(address)} ${digest}`;
    const said = textOf(text.slice(0, LONGEST), use);
    const source = await this.#save(use, by, { key: `${key} source` }, async (_, end) =>
      end.append({ type: "record-import", format: backend, source: address.toWellFormed(), digest, by }),
    );
    return this.write(
      { text: said, because: [source.id], source: "import", by, meta: { backend, address } },
      { key },
    );
  }

  /** Puts other words in the place of those that a memory has. The old ones stay readable. */
  async revise(memory: FactId, revision: Revision, deed: Deed = {}): Promise<Written> {
    const use = `revise a memory of "${this.name}"`;
    requireOptions(
      revision,
      refusing(use),
      '{ text: "…", because: [session.id], by: "agent:coder" }',
      REVISION,
    );
    const by = principalOf(revision.by, use);
    const text = textOf(revision.text, use);
    const source = revision.source === undefined ? undefined : sourceOf(revision.source, use);
    const importance = revision.importance === undefined ? undefined : importanceOf(revision.importance, use);
    const expires = revision.expires === undefined ? undefined : timeOf(revision.expires, use);
    const evidence = await this.#evidence(revision.because, deed, use);
    if (source !== undefined) requireGround(source, evidence, use);
    const grounded = (one: Source): boolean => [...evidence.values()].some((fact) => isGround(one, fact));
    const origins = await this.#origins(evidence, by, deed);
    return this.#append(use, by, deed, async (index) => {
      const known = this.#changeable(index, memory, use, deed, ["live", "held"]);
      if (revision.was !== undefined && revision.was !== known.version)
        throw new MemoryRefusedError(
          "over",
          use,
          "somebody else has revised it meanwhile",
          "read it again, and revise that",
          {
            memory: known.id,
            version: known.version,
          },
        );
      // What was learnt from a person is not, in other words, learnt from them again.
      const learnt = source ?? (grounded(known.source) ? known.source : "reflection");
      // Who is no person has only put other words to what was there.
      if (!isPerson(by)) for (const origin of known.origins) origins.add(origin);
      const needs = this.#needs(index, learnt, origins);
      return {
        type: "memory-revise",
        of: known.id,
        text,
        because: [...evidence.keys()] as unknown as Because,
        origins: [...origins].sort(),
        by,
        source: learnt,
        ...defined({ importance, expires, needs, meta: revision.meta }),
        ...(revision.why !== undefined && { why: whyOf(revision.why, use) }),
      };
    });
  }

  /** Takes a memory back: it is not told any more, and stays readable as of before. */
  async revoke(memory: FactId, ending: Ending, deed: Deed = {}): Promise<Written> {
    return this.#end("memory-revoke", `revoke a memory of "${this.name}"`, memory, ending, deed);
  }

  /** Lets a memory be forgotten: it is not told any more. Its evidence stays. */
  async expire(memory: FactId, ending: Ending, deed: Deed = {}): Promise<Written> {
    return this.#end("memory-expire", `expire a memory of "${this.name}"`, memory, ending, deed);
  }

  async #end(
    type: "memory-revoke" | "memory-expire",
    use: string,
    memory: FactId,
    ending: Ending,
    deed: Deed,
  ): Promise<Written> {
    requireOptions(ending, refusing(use), '{ why: "it is not so", by: "user:ada" }', ENDING);
    const why = whyOf(ending.why, use);
    const by = principalOf(ending.by, use);
    const { version } = ending;
    const evidence =
      ending.because === undefined ? undefined : await this.#evidence(ending.because, deed, use);
    return this.#append(use, by, deed, async (index) => {
      const known = this.#changeable(
        index,
        memory,
        use,
        deed,
        type === "memory-revoke" ? ["live", "held", "expired", "merged"] : ["live", "held"],
      );
      if (version !== undefined && !(await this.#isVersion(known.id, version)))
        throw new UnknownMemoryError(
          use,
          this.name,
          version,
          "a version of the memory: its id, or that of a revision",
        );
      return {
        type,
        of: known.id,
        why,
        by,
        ...(version !== undefined && type === "memory-revoke" && { version }),
        ...(evidence !== undefined && { because: [...evidence.keys()] }),
      };
    });
  }

  /** Lets a memory that is held be told, with what it waited for as evidence; or tells one in a wider scope. */
  async promote(memory: FactId, promotion: Promotion, deed: Deed = {}): Promise<Written> {
    const use = `promote a memory of "${this.name}"`;
    requireOptions(promotion, refusing(use), '{ because: [approval.id], by: "user:ada" }', PROMOTION);
    const by = principalOf(promotion.by, use);
    const to = promotion.to === undefined ? undefined : scopeOf(promotion.to, use);
    if (to !== undefined) this.#requireInside(to, use, deed);
    const evidence = await this.#evidence(promotion.because, deed, use);
    return this.#append(use, by, deed, async (index) => {
      const known = this.#changeable(index, memory, use, deed, ["live", "held"]);
      const version = promotion.version ?? known.waiting;
      if (version !== undefined && !(await this.#isVersion(known.id, version)))
        throw new UnknownMemoryError(
          use,
          this.name,
          version,
          "a version of the memory: its id, or that of a revision",
        );
      if (to === undefined) {
        if (version === undefined)
          throw new MemoryRefusedError(
            "held",
            use,
            "it is told already",
            'say where to: { to: ["project:rath"] }',
            {
              memory,
            },
          );
        const needs = await this.#needsOf(version);
        if (needs === "validation" || needs === "approval")
          await requireAdmission(
            this.store,
            { needs, space: this.name, memory: known.id, version },
            evidence,
            use,
          );
      } else {
        // In a wider circle it harms more: what a space wants before it tells something, it wants here too.
        const trusted = known.trust === "trusted";
        const needs = needsOf(this.#rules(index), { source: known.source, trusted });
        const told = { space: this.name, memory: known.id, version: known.version, to };
        if (needs !== undefined) await requireAdmission(this.store, { needs, ...told }, evidence, use);
      }
      return {
        type: "memory-promote",
        of: known.id,
        because: [...evidence.keys()] as unknown as Because,
        by,
        ...(to === undefined && version !== undefined && { version }),
        ...(to !== undefined && { to: to as unknown as Json }),
        ...(promotion.why !== undefined && { why: whyOf(promotion.why, use) }),
      };
    });
  }

  /** Says how two memories stand to each other: "contradicts", "supports", or a word of your own. */
  async link(memory: FactId, linking: Linking, deed: Deed = {}): Promise<Written> {
    const use = `link memories of "${this.name}"`;
    requireOptions(linking, refusing(use), '{ to: other, relation: "supports", by: "user:ada" }', LINKING);
    const by = principalOf(linking.by, use);
    const relation = whyOf(linking.relation, use);
    return this.#append(use, by, deed, async (index) => {
      const one = this.#changeable(index, memory, use, deed);
      const other = this.#require(index, linking.to, use);
      return {
        type: "memory-link",
        of: one.id,
        to: other.id,
        relation,
        by,
        ...(linking.why !== undefined && { why: whyOf(linking.why, use) }),
      };
    });
  }

  /** Undoes everything that was done in the space since one of its ids. What was undone stays readable as of before. */
  async rollback(back: RollbackTo, deed: Deed = {}): Promise<Undone> {
    const use = `roll "${this.name}" back`;
    requireOptions(back, refusing(use), '{ to: head, why: "it was poisoned", by: "user:ada" }', ROLLBACK);
    const why = whyOf(back.why, use);
    const by = principalOf(back.by, use);
    const to = await this.#resolved(back.to, use);
    const session = await this.#save(use, by, deed, async (index, end) => {
      await this.#requirePast(to, use);
      const { facts, touched } = await this.#since(end.id, to);
      for (const id of touched) if (index.get(id) !== undefined) this.#changeable(index, id, use, deed);
      if (facts.length === 0)
        throw new MemoryRefusedError(
          "refused",
          use,
          "nothing was done since then",
          "an earlier id of the space: where it stood before what shall be undone",
        );
      return end.append({
        type: "memory-rollback",
        to,
        undoes: facts,
        why,
        by,
        ...defined({ at: deed.at }),
      });
    });
    const { fact, id } = session;
    const facts = fact.type === "memory-rollback" ? fact.undoes : [];
    const undone = new Set(facts);
    const { touched } = await this.#since(id, to, undone);
    return { head: id, facts, memories: touched };
  }

  /** A branch of the space under a name of its own: what is written there is not told here. */
  async fork(name: string, options: { readonly by: Principal; readonly why?: string }): Promise<Space> {
    const use = `fork the memory "${this.name}"`;
    requireOptions(options, refusing(use), '{ by: "user:ada", why: "an experiment" }', {
      by: true,
      why: true,
    });
    const by = principalOf(options.by, use);
    requireSpaceName(name, refusing(use));
    const end = await this.#tip(by);
    const forked = end.fork(name, { by, ...defined({ why: options.why }) });
    await this.store.save(forked, { name: storeNameOf(name), expect: null });
    return new Space(this.store, { ...this.#settings, name });
  }

  /** Takes in what was done in another branch of the space. What is in each other's way is kept, and linked. */
  async merge(from: string, options: { readonly by: Principal; readonly why?: string }): Promise<FactId> {
    const use = `merge "${from}" into the memory "${this.name}"`;
    const by = principalOf(options.by, use);
    const other = await this.store.load(storeNameOf(from));
    // Another space has other rules, and its memories never met ours.
    await this.#requireKin(other.id, use);
    const sides: Since[] = [];
    const head = await this.#save(use, by, {}, async (_, end) => {
      const ours = await this.store.load(end.id);
      sides.splice(0, 2, await this.#since(other.id, ours.id), await this.#since(ours.id, other.id));
      return ours.merge(other, { by, ...defined({ why: options.why }) });
    });
    const [theirs, mine] = sides as [Since, Since];
    await this.#linkContradictions(theirs.written.slice(0, COMPARED), by);
    await this.#keepBoth(mine.revised, theirs.revised, by);
    return (await this.head()) ?? head.id;
  }

  /**
   * Facts of the space that are not in the past of an id, the memories that were written among them, and those that the facts
   * (or some of them) are about.
   */
  async #since(head: FactId, to: FactId, only?: ReadonlySet<FactId>): Promise<Since> {
    const facts: FactId[] = [];
    const written: FactId[] = [];
    const touched = new Set<FactId>();
    const revised = new Map<FactId, FactId>();
    for await (const { id, fact } of this.store.history(head, { without: [to] })) {
      if (UNDOABLE.has(fact.type)) facts.push(id);
      if (fact.type === "memory-write") written.push(id);
      if (fact.type === "memory-revise") revised.set(fact.of, id);
      if (only === undefined || only.has(id)) for (const one of memoriesOf(id, fact)) touched.add(one);
    }
    return { facts, written, touched: [...touched], revised };
  }

  async #linkContradictions(brought: readonly FactId[], by: Principal): Promise<void> {
    const why = "found when branches were merged";
    for (const id of brought) {
      const [memory, meets] = await this.use(async (index) => {
        const found = index.get(id);
        return [found, found?.status === "live" ? this.#meets(index, found) : []] as const;
      });
      if (memory === undefined) continue;
      for (const other of await this.#judged(memory, meets))
        if (other.id !== id && !memory.contradicts.includes(other.id))
          await this.link(id, { to: other.id, relation: "contradicts", by, why });
    }
  }

  /**
   * Of a memory that both branches have put other words to, one is told. The words of the other are kept as a memory of their
   * own that contradicts it: nothing is overwritten in silence.
   */
  async #keepBoth(ours: Since["revised"], theirs: Since["revised"], by: Principal): Promise<void> {
    for (const [id, mine] of ours) {
      const other = theirs.get(id);
      const memory = other === undefined ? undefined : await this.get(id);
      if (other === undefined || memory?.status !== "live") continue;
      const lost = memory.version === mine ? other : mine;
      const { fact } = await this.store.load(lost, { horizon: 1 });
      if (fact.type !== "memory-revise" || typeof fact.text !== "string" || fact.text === memory.text)
        continue;
      const written = await this.write({
        text: fact.text,
        because: [lost],
        source: "reflection",
        by: fact.by,
        scope: memory.scope,
      });
      if (!written.contradicts.includes(id))
        await this.link(written.memory, {
          to: id,
          relation: "contradicts",
          by,
          why: "both branches have revised it",
        });
    }
  }

  async #evidence(because: unknown, deed: Deed, use: string): Promise<Evidence> {
    // What a session has not kept yet would be evidence that a crash takes away.
    if (deed.from !== undefined) await this.store.save(deed.from);
    return evidenceIn(this.store, because, use);
  }

  /**
   * A writer that is not a person writes from everything that it has read, whatever it names as evidence. A memory that
   * anybody writes after another one was read may repeat that one.
   */
  async #origins(evidence: Evidence, by: Principal, { from }: Deed): Promise<Set<string>> {
    const origins = new Set(await originsIn(this.store, evidence));
    if (await hasRead(this.store, [...evidence.keys()], from)) origins.add("memory");
    if (isPerson(by)) return origins;
    if (from !== undefined) for (const origin of heardBy(from)) origins.add(origin);
    // The program itself says what it was written to say; of an agent nobody knows what it has heard.
    else if (!/^(runtime|workflow)(:|$)/.test(by)) origins.add("agent");
    return origins;
  }

  #rules(index: SpaceIndex): readonly Rules[] {
    return [rulesIn(index.rules), this.#settings.rules];
  }

  #needs(index: SpaceIndex, source: Source, origins: ReadonlySet<string>): Needs | undefined {
    const trusted = trustOf([...origins]) === "trusted";
    return needsOf(this.#rules(index), { source, trusted });
  }

  /** The live memories that something new could be in the way of. */
  #meets(index: SpaceIndex, { text, subject, scope: place }: Meeting): readonly Memory[] {
    if (this.#settings.contradicts === false) return [];
    const near = new Map<FactId, Memory>();
    for (const one of subject === undefined ? [] : index.bySubject(subject)) near.set(one.id, one);
    for (const one of index.near(text, NEAR)) near.set(one.id, one);
    return [...near.values()].filter(
      ({ status, scope }) => status === "live" && (holdsIn(scope, place) || holdsIn(place, scope)),
    );
  }

  async #judged(draft: Meeting, meets: readonly Memory[]): Promise<readonly Memory[]> {
    const found = await contradictedBy(draft, meets, this.#settings.contradicts || differInOneThing);
    // What it takes the place of is not in its way; and of thousands that all differ, a few that say so are enough: those
    // that say it of the fewest.
    return found
      .filter(({ id }) => !draft.merges?.includes(id))
      .sort((one, other) => one.contradicts.length - other.contradicts.length || (one.id < other.id ? -1 : 1))
      .slice(0, CONTRADICTED);
  }

  #require(index: SpaceIndex, id: FactId, use: string, statuses?: readonly Status[]): Memory {
    const known = index.get(id);
    if (known === undefined)
      throw new UnknownMemoryError(use, this.name, String(id), "look at what there is with space.list()");
    if (statuses !== undefined && !statuses.includes(known.status))
      throw new MemoryRefusedError(
        "over",
        use,
        `it is ${known.status}`,
        "write a new one, with its evidence",
        {
          memory: id,
          status: known.status,
        },
      );
    return known;
  }

  /** A memory that the session may change. */
  #changeable(index: SpaceIndex, id: FactId, use: string, deed: Deed, statuses?: readonly Status[]): Memory {
    const known = this.#require(index, id, use, statuses);
    this.#requireInside(known.scope, use, deed, known.id);
    return known;
  }

  /**
   * A session reads memories of its scope and of wider ones, and writes none of a wider scope: the words of one user must not
   * reach all others. Without a session, the caretaker of the space may change everything.
   */
  #requireInside(scope: Scope, use: string, { from }: Deed, memory?: FactId): void {
    const own = this.#settings.scope;
    if (from === undefined || !isWider(scope, own)) return;
    const [wide, narrow] = [scope, own].map((one) => one.join(" / ")) as [string, string];
    throw new MemoryRefusedError(
      "scope",
      use,
      `it is for ${wide}, and this scope may only write for ${narrow}`,
      `write a memory for ${narrow} instead, or change it with a memory made for ${wide}: memory({ name: ${JSON.stringify(this.name)}, scope: ${JSON.stringify(scope)} })`,
      { scope: wide, own: narrow, ...defined({ memory }) },
    );
  }

  /** What of a memory waits for somebody's word, if anything does. */
  async waiting({
    waiting: id,
  }: Memory): Promise<{ readonly id: FactId; readonly text: string } | undefined> {
    if (id === undefined) return undefined;
    const { fact } = await this.store.load(id, { horizon: 1 });
    const text = fact.type === "memory-write" || fact.type === "memory-revise" ? fact.text : "";
    return { id, text: typeof text === "string" ? text : "" };
  }

  async #isVersion(memory: FactId, version: FactId): Promise<boolean> {
    if (version === memory) return true;
    const line = await this.store.line(version);
    const fact = line === undefined ? undefined : readFact(line, undefined);
    return fact?.type === "memory-revise" && fact.of === memory;
  }

  async #needsOf(version: FactId): Promise<string | undefined> {
    const line = await this.store.line(version);
    const fact = line === undefined ? undefined : readFact(line, undefined);
    return fact?.type === "memory-write" || fact?.type === "memory-revise" ? fact.needs : undefined;
  }

  async #resolved(id: unknown, use: string): Promise<FactId> {
    const text = String(id);
    if (typeof id !== "string" || !/^[0-9a-f]{4,64}$/.test(id)) throw unknownId(text, use);
    return this.store.resolve(id).catch(() => {
      throw unknownId(text, use);
    });
  }

  async #requirePast(id: FactId, use: string): Promise<void> {
    const head = await this.head();
    if (head === id) return;
    if (head !== undefined) {
      let beyond = false;
      for await (const lines of this.store.lines(id, { without: [head] })) {
        beyond = lines.length > 0;
        if (beyond) break;
      }
      if (!beyond) return;
    }
    throw unknownId(id, use);
  }

  /** Whether an id is of this space, or of a branch of it. */
  async #requireKin(id: FactId, use: string): Promise<void> {
    const head = await this.head();
    if (head !== undefined && (await this.#root(head)) === (await this.#root(id))) return;
    throw unknownId(id, use);
  }

  /** The id of the session that a space began with. */
  async #root(head: FactId): Promise<FactId | undefined> {
    for await (const lines of this.store.lines(head)) return lines[0]?.id;
    return undefined;
  }

  /** Appends what `make` makes of the space as it is now, and again of what it has become if others were quicker. */
  async #append(
    use: string,
    by: Principal,
    deed: Deed,
    make: (index: SpaceIndex, end: Session) => Promise<FactInput>,
  ): Promise<Written> {
    const session = await this.#save(use, by, deed, async (index, end) => {
      const fact = await make(index, end);
      const writer = fact.type === "memory-write" ? "of" : "from";
      return end.append({
        ...defined({ at: deed.at }),
        ...fact,
        ...(deed.from !== undefined && { [writer]: deed.from.id }),
      } as FactInput);
    });
    const { fact, id } = session;
    // What was just written is known without asking; whoever writes much need not wait for the index each time.
    if (fact.type === "memory-write" && session !== this.#replayed)
      return {
        memory: id,
        version: id,
        head: id,
        status: fact.needs === undefined ? "live" : "held",
        ...(fact.needs !== undefined && { needs: fact.needs as Needs }),
        contradicts: fact.contradicts ?? [],
      };
    const memory = fact.type !== "memory-write" && "of" in fact ? (fact.of as FactId) : id;
    const known = await this.get(memory);
    return {
      memory,
      version: id,
      head: id,
      status: known?.status ?? "live",
      ...(known?.needs !== undefined && { needs: known.needs as Needs }),
      contradicts: known?.contradicts ?? [],
    };
  }

  async #save(
    use: string,
    by: Principal,
    { key }: Deed,
    make: (index: SpaceIndex, end: Session) => Promise<Session>,
  ): Promise<Session> {
    const name = storeNameOf(this.name);
    return derivedOf(this.store).alone(`end ${name}`, async () => {
      for (let turn = 0; turn < TRIES; turn++) {
        const end = await this.#tip(by);
        let next: Session;
        try {
          next = await this.use((index) => make(index, end));
        } catch (error) {
          // What cannot be done any more may be what was done already, by a process that died of it.
          const done = await this.#done(end, key);
          if (done === undefined) throw error;
          return this.#again(done);
        }
        try {
          const { id, replayed } = await this.store.save(next, {
            name,
            expect: end.id,
            ...defined({ key }),
          });
          if (replayed) return this.#again(await this.store.load(id, { horizon: 1 }));
          this.#remember(name, next);
          return next;
        } catch (error) {
          if (!(error instanceof ConflictError)) throw error;
          ends.get(this.store)?.delete(name);
        }
      }
      throw new MemoryRefusedError("busy", use, `others wrote to it ${TRIES} times meanwhile`, "try again");
    });
  }

  #again(session: Session): Session {
    this.#replayed = session;
    return session;
  }

  /** What was recorded under a key, if anything was: asked for without writing anything. */
  async #done(end: Session, key: string | undefined): Promise<Session | undefined> {
    if (key === undefined) return undefined;
    try {
      // No name stands here, so that only a step that is known gets an answer.
      const nowhere = "0".repeat(64);
      const { id } = await this.store.save(end, { name: storeNameOf(this.name), expect: nowhere, key });
      return await this.store.load(id, { horizon: 1 });
    } catch (error) {
      if (error instanceof ConflictError) return undefined;
      throw error;
    }
  }

  #remember(name: string, session: Session): void {
    let known = ends.get(this.store);
    if (known === undefined) {
      known = new Map();
      ends.set(this.store, known);
    }
    const since = known.get(name)?.since ?? session.depth;
    if (session.depth - since > HELD) known.delete(name);
    else known.set(name, { session, since });
  }

  /** The end of the chain, begun if there is none. */
  async #tip(by: Principal): Promise<Session> {
    const name = storeNameOf(this.name);
    const known = ends.get(this.store)?.get(name)?.session;
    const head = await this.store.head(name);
    if (known !== undefined && known.id === head) return known;
    if (head !== undefined) {
      const loaded = await this.store.load(head, { horizon: HELD });
      this.#remember(name, loaded);
      return loaded;
    }
    const { scope, rules } = this.#settings;
    const begun = Session.start(undefined).append({
      type: "memory-space",
      space: this.name,
      scope: scope as unknown as Json,
      ...(Object.keys(rules).length > 0 && { rules: rules as unknown as Json }),
      by,
    });
    try {
      await this.store.save(begun, { name, expect: null });
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
      return this.#tip(by);
    }
    this.#remember(name, begun);
    return begun;
  }
}

function unknownId(id: FactId, use: string): MemoryRefusedError {
  return new MemoryRefusedError(
    "unknown",
    use,
    `${id.slice(0, 12)} is not in the past of the space`,
    "an id of the space: where it stood at some time, such as `head` of what was written or recalled",
    { id },
  );
}
