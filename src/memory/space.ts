import type { FactId, FactInput, Json, Principal } from "../session/index.js";
import { digestOf, isPerson } from "../session/index.js";
import type { Store } from "../store/index.js";
import { defined } from "../util/index.js";
import { requireOptions } from "../workflow/index.js";
import { changesSince, mergeBranch, requireKin, requirePast, resolveId } from "./branch.js";
import { type Appended, SpaceChain } from "./chain.js";
import { Change } from "./change.js";
import { comparable, contradictedBy, differInOneThing } from "./contradiction.js";
import { refusing } from "./error.js";
import { becauseOf, requireGround } from "./evidence.js";
import { requireSpaceName, storeNameOf } from "./name.js";
import {
  BRANCH,
  type BranchOptions,
  checkDraft,
  type Draft,
  ENDING,
  type Ending,
  type Foreign,
  importanceOf,
  LINKING,
  type Linking,
  LONGEST,
  optional,
  PROMOTION,
  type Promotion,
  principalOf,
  REVISION,
  type Revision,
  ROLLBACK,
  type RollbackTo,
  reasonOf,
  type SpaceSettings,
  sourceOf,
  textOf,
  timeOf,
  type Undone,
  type WriteOptions,
  type Written,
} from "./operation.js";
import { isNeeds, needsOf, requireAdmission } from "./rules.js";
import { scopeOf } from "./scope.js";
import type { SpaceIndex } from "./search/space-index.js";
import { isGround, type Source } from "./source.js";
import type { Memory, Status } from "./state.js";
import { SpaceView } from "./view.js";

/** The version of a memory that waits for approval or validation. */
type Waiting = { readonly id: FactId; readonly text: string };

function requireStore(store: Partial<Store> | undefined, use: string): void {
  if (typeof store?.line === "function") return;
  throw refusing(use)("`store` must be a store", "notes.open(await rath.store())");
}

/** A memory space in a store: it is read, and written to with evidence. */
export class Space extends SpaceView {
  readonly #settings: SpaceSettings;
  readonly #chain: SpaceChain;

  constructor(store: Store, settings: SpaceSettings) {
    requireStore(store, `open the memory "${settings.name}"`);
    super(store, settings.name, settings.embedder);
    this.#settings = settings;
    this.#chain = new SpaceChain(store, settings);
  }

  /** The space as it was at one of its ids. */
  async at(id: FactId): Promise<SpaceView> {
    const found = await resolveId(this.store, id, `read "${this.name}" as of then`);
    await requireKin(this, found, `read "${this.name}" as of ${found.slice(0, 12)}`);
    return new SpaceView(this.store, this.name, this.embedder, found);
  }

  /** Writes a memory. */
  async write(draft: Draft, options: WriteOptions = {}): Promise<Written> {
    const change = this.#change(`write to the memory "${this.name}"`, options);
    const checked = checkDraft(draft, this.#settings.scope, change.use);
    change.requireInside(checked.scope);
    const evidence = await change.evidence(checked.because);
    requireGround(checked.source, evidence, change.use);
    const origins = await change.origins(evidence, checked.by);
    const { contradicts: judge = differInOneThing } = this.#settings;
    const others = (index: SpaceIndex): readonly Memory[] =>
      judge === false ? [] : comparable(index, checked);
    // A rule of the user may be slow, and may ask this space: it is called before the write takes its turn.
    const judged =
      judge !== false && this.#settings.contradicts !== undefined
        ? await contradictedBy(checked, await this.use(async (index) => others(index)), judge)
        : undefined;
    return this.#append(change, checked.by, async (index) => {
      // A memory that replaces others is trusted as far as the least trusted of them.
      for (const id of checked.merges ?? [])
        for (const origin of change.changeable(index, id, ["live"]).origins) origins.add(origin);
      const needs = change.needs(index, checked.source, origins);
      const contradicts = judged ?? (await contradictedBy(checked, others(index)));
      const { because: _, merges = [], scope, text, source, by, ...more } = checked;
      return {
        type: "memory-write",
        space: this.name,
        text,
        scope: scope,
        source,
        because: becauseOf(evidence.keys()),
        origins: [...origins].sort(),
        by,
        ...more,
        ...defined({ needs }),
        ...(contradicts.length > 0 && { contradicts: contradicts.map(({ id }) => id) }),
        ...(merges.length > 0 && { merges }),
      };
    });
  }

  /** Imports what another system keeps, once. The record of the import is its evidence. */
  async adopt({ backend, address, text, digest }: Foreign): Promise<Written> {
    const use = `take "${address.slice(0, 80)}" into the memory "${this.name}"`;
    const by = "runtime";
    const key = `adopt ${backend} ${digestOf(address)} ${digest}`;
    const kept = textOf(text.slice(0, LONGEST), use);
    const source = await this.#chain.append(use, { by, key: `${key} source` }, async (end) =>
      end.append({ type: "record-import", format: backend, source: address.toWellFormed(), digest, by }),
    );
    const because = [source.session.id] as const;
    return this.write({ text: kept, because, source: "import", by, meta: { backend, address } }, { key });
  }

  /** Replaces the text of a memory. The old text stays readable. */
  async revise(memory: FactId, revision: Revision, options: WriteOptions = {}): Promise<Written> {
    const change = this.#change(`revise a memory of "${this.name}"`, options);
    const example = '{ text: "…", because: [session.id], by: "agent:coder" }';
    const { use } = change;
    requireOptions(revision, change.refusing(), example, REVISION);
    const by = principalOf(revision.by, use);
    const text = textOf(revision.text, use);
    const { meta } = revision;
    const source = optional(revision.source, sourceOf, use);
    const more = defined({
      importance: optional(revision.importance, importanceOf, use),
      expires: optional(revision.expires, timeOf, use),
    });
    const why = optional(revision.why, reasonOf, use);
    const evidence = await change.evidence(revision.because);
    if (source !== undefined) requireGround(source, evidence, use);
    const grounded = (one: Source): boolean => [...evidence.values()].some((fact) => isGround(one, fact));
    const origins = await change.origins(evidence, by);
    return this.#append(change, by, async (index) => {
      const known = change.changeable(index, memory, ["live", "held"]);
      const { id, version } = known;
      if (revision.was !== undefined && revision.was !== version)
        throw change.refusing("over")(
          "another writer has revised it meanwhile",
          "read it again, and revise that",
          { memory: id, version },
        );
      // A memory that was learnt from a person keeps that source only if the new evidence is from a person too.
      const learnt = source ?? (grounded(known.source) ? known.source : "reflection");
      // A writer that is not a person has only reworded the old text.
      if (!isPerson(by)) for (const origin of known.origins) origins.add(origin);
      return {
        type: "memory-revise",
        of: id,
        text,
        because: becauseOf(evidence.keys()),
        origins: [...origins].sort(),
        by,
        source: learnt,
        ...more,
        ...defined({ needs: change.needs(index, learnt, origins), meta, why }),
      };
    });
  }

  /** Takes a memory back: it is no longer recalled, and stays readable as of before. */
  async revoke(memory: FactId, ending: Ending, options: WriteOptions = {}): Promise<Written> {
    return this.#end("memory-revoke", `revoke a memory of "${this.name}"`, memory, ending, options);
  }

  /** Forgets a memory: it is no longer recalled. Its evidence stays. */
  async expire(memory: FactId, ending: Ending, options: WriteOptions = {}): Promise<Written> {
    return this.#end("memory-expire", `expire a memory of "${this.name}"`, memory, ending, options);
  }

  async #end(
    type: "memory-revoke" | "memory-expire",
    use: string,
    memory: FactId,
    ending: Ending,
    options: WriteOptions,
  ): Promise<Written> {
    const change = this.#change(use, options);
    requireOptions(ending, change.refusing(), '{ why: "it is not so", by: "user:ada" }', ENDING);
    const why = reasonOf(ending.why, use);
    const by = principalOf(ending.by, use);
    const version = type === "memory-revoke" ? ending.version : undefined;
    const because =
      ending.because === undefined ? undefined : becauseOf((await change.evidence(ending.because)).keys());
    return this.#append(change, by, async (index) => {
      const statuses: readonly Status[] =
        type === "memory-revoke" ? ["live", "held", "expired", "merged"] : ["live", "held"];
      const { id } = change.changeable(index, memory, statuses);
      await change.requireVersion(id, ending.version);
      return { type, of: id, why, by, ...defined({ version, because }) };
    });
  }

  /** Approves a memory that is held, with the approval or validation as evidence; or widens the scope of a memory. */
  async promote(memory: FactId, promotion: Promotion, options: WriteOptions = {}): Promise<Written> {
    const change = this.#change(`promote a memory of "${this.name}"`, options);
    const { use } = change;
    requireOptions(promotion, change.refusing(), '{ because: [approval.id], by: "user:ada" }', PROMOTION);
    const by = principalOf(promotion.by, use);
    const to = optional(promotion.to, scopeOf, use);
    if (to !== undefined) change.requireInside(to);
    const why = optional(promotion.why, reasonOf, use);
    const evidence = await change.evidence(promotion.because);
    return this.#append(change, by, async (index) => {
      const known = change.changeable(index, memory, ["live", "held"]);
      const version = promotion.version ?? known.waiting;
      await change.requireVersion(known.id, version);
      const told = to === undefined ? version : known.version;
      if (told === undefined)
        throw change.refusing("held")("it is live already", 'say the scope: { to: ["project:rath"] }', {
          memory,
        });
      // In a wider scope a memory can do more harm, so the rules of the space apply again.
      const needs =
        to === undefined
          ? (await change.version(told))?.needs
          : needsOf(change.rules(index), { source: known.source, trusted: known.trust === "trusted" });
      if (isNeeds(needs))
        await requireAdmission(
          this.store,
          { needs, space: this.name, memory: known.id, version: told, to },
          evidence,
          use,
        );
      return {
        type: "memory-promote",
        of: known.id,
        because: becauseOf(evidence.keys()),
        by,
        ...defined({ version: to === undefined ? version : undefined, to: to as Json | undefined, why }),
      };
    });
  }

  /** Records how two memories are related: "contradicts", "supports", or another word. */
  async link(memory: FactId, linking: Linking, options: WriteOptions = {}): Promise<Written> {
    const change = this.#change(`link memories of "${this.name}"`, options);
    const { use } = change;
    requireOptions(
      linking,
      change.refusing(),
      '{ to: other, relation: "supports", by: "user:ada" }',
      LINKING,
    );
    const by = principalOf(linking.by, use);
    const relation = reasonOf(linking.relation, use);
    const why = optional(linking.why, reasonOf, use);
    return this.#append(change, by, async (index) => {
      const { id: of } = change.changeable(index, memory);
      const { id: to } = change.memory(index, linking.to);
      return { type: "memory-link", of, to, relation, by, ...defined({ why }) };
    });
  }

  /** Undoes everything that happened in the space since one of its ids. It stays readable as of before. */
  async rollback(back: RollbackTo, options: WriteOptions = {}): Promise<Undone> {
    const change = this.#change(`roll "${this.name}" back`, options);
    const { use } = change;
    requireOptions(back, change.refusing(), '{ to: head, why: "it was poisoned", by: "user:ada" }', ROLLBACK);
    const why = reasonOf(back.why, use);
    const by = principalOf(back.by, use);
    const to = await resolveId(this.store, back.to, use);
    const { session } = await this.#chain.append(use, { by, key: options.key }, (end) =>
      this.use(async (index) => {
        await requirePast(this, to, use);
        const { facts: undoes, touched } = await changesSince(this.store, end.id, to);
        for (const id of touched) if (index.get(id) !== undefined) change.changeable(index, id);
        if (undoes.length === 0)
          throw change.refusing("refused")("nothing has happened since then", "an earlier id of the space");
        return end.append({ type: "memory-rollback", to, undoes, why, by, ...defined({ at: options.at }) });
      }),
    );
    const { fact, id } = session;
    const facts = fact.type === "memory-rollback" ? fact.undoes : [];
    const { touched } = await changesSince(this.store, id, to, new Set(facts));
    return { head: id, facts, memories: touched };
  }

  /** A branch of the space under another name. Memories that are written there are not recalled here. */
  async fork(name: string, options: BranchOptions): Promise<Space> {
    const use = `fork the memory "${this.name}"`;
    requireOptions(options, refusing(use), '{ by: "user:ada", why: "an experiment" }', BRANCH);
    const by = principalOf(options.by, use);
    requireSpaceName(name, refusing(use));
    const end = await this.#chain.tip(by);
    const forked = end.fork(name, { by, ...defined({ why: options.why }) });
    await this.store.save(forked, { name: storeNameOf(name), expect: null });
    return new Space(this.store, { ...this.#settings, name });
  }

  /** Merges a branch of the space. Memories that contradict each other are both kept, and linked. */
  async merge(from: string, { by: given, ...options }: BranchOptions): Promise<FactId> {
    const by = principalOf(given, `merge "${from}" into the memory "${this.name}"`);
    return mergeBranch(this, this.#chain, this.#settings, { from, by, ...options });
  }

  /** The version of a memory that waits for approval or validation, if there is one. */
  async waiting(memory: Memory): Promise<Waiting | undefined> {
    const { waiting: id } = memory;
    if (id === undefined) return undefined;
    const { fact } = await this.store.load(id, { horizon: 1 });
    const text = fact.type === "memory-write" || fact.type === "memory-revise" ? fact.text : "";
    return { id, text: typeof text === "string" ? text : "" };
  }

  #change(use: string, options: WriteOptions): Change {
    return new Change(this.store, this.#settings, use, options);
  }

  /** Appends the fact that `make` returns for the space as it is, and calls it again when another writer was quicker. */
  async #append(
    { use, options: { key, at, from } }: Change,
    by: Principal,
    make: (index: SpaceIndex) => Promise<FactInput>,
  ): Promise<Written> {
    const appended = await this.#chain.append(use, { by, key }, (end) =>
      this.use(async (index) => {
        const fact = await make(index);
        const writer = fact.type === "memory-write" ? "of" : "from";
        const source = from === undefined ? {} : { [writer]: from.id };
        return end.append({ ...defined({ at }), ...fact, ...source } as FactInput);
      }),
    );
    return this.#written(appended);
  }

  async #written({ session: { fact, id }, replayed }: Appended): Promise<Written> {
    // A new memory is known without the index, so a caller that writes much does not wait for it.
    const isNew = fact.type === "memory-write" && !replayed;
    const memory = fact.type !== "memory-write" && "of" in fact ? (fact.of as FactId) : id;
    const known = isNew ? undefined : await this.get(memory);
    const needs = isNew ? fact.needs : known?.needs;
    return {
      memory,
      version: id,
      head: id,
      status: isNew && needs !== undefined ? "held" : (known?.status ?? "live"),
      ...(isNeeds(needs) && { needs }),
      contradicts: (isNew ? fact.contradicts : known?.contradicts) ?? [],
    };
  }
}
