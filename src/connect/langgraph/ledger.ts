import { adoptedSide, type Fact, type FactId, type Json, List } from "../../session/index.js";
import { compareText } from "../../util/index.js";
import { jsonOf } from "./held.js";
import { CHECKPOINT, isBehind, type Put, spotOf, THREAD, threadIn, WRITES, writesOf } from "./note.js";
import { type Calls, callsIn, keyOf, messagesIn, textsOf } from "./said.js";
import { firstOf, type Heard, keyOfSpot, LEAST, type Spot, type Tip, type Write } from "./spot.js";

type Fields = { readonly [key: string]: Json | undefined };

const RESUME = "__resume__";

/** Where the next fact goes: on from the end of a branch, or from further back as a new one. */
export type Place = { readonly tip: Tip; readonly fork?: string };

/** The checkpoints of a thread, found in the facts of its session. It is made of facts alone, given parents first. */
export class Ledger {
  readonly #tips = new Map<FactId, Tip>();
  readonly #ends = new Map<FactId, Tip>();
  readonly #spots = new Map<string, Spot>();
  readonly #byVersion = new Map<string, Spot>();
  readonly #newest = new Map<string, Spot>();
  /** All that was written towards the checkpoint after one, on whatever branch. */
  readonly #written = new Map<string, Write[]>();
  readonly #early = new Map<string, Write[]>();
  readonly #calls = new Map<string, { readonly name: string; readonly input: Json }>();
  readonly #heard = new Map<string, readonly Heard[]>();
  /** The threads that the record says it is of: one, unless somebody merged several. */
  readonly threads = new Set<string>();
  #start: Tip | undefined;
  #turn = 0;
  #forks = 0;

  has(id: FactId): boolean {
    return this.#tips.has(id);
  }

  /** Where a branch stood at one of its facts. */
  tip(id: FactId): Tip | undefined {
    return this.#tips.get(id);
  }

  get calls(): Calls {
    return this.#calls;
  }

  /** The ends of all branches, the one that was worked on last first. */
  get ends(): readonly Tip[] {
    return [...this.#ends.values()].sort((one, other) => other.turn - one.turn);
  }

  /** All checkpoints, the newest first. */
  get spots(): readonly Spot[] {
    return [...this.#spots.values()].sort((one, other) => compareText(other.id, one.id));
  }

  spot(namespace: string, id: string): Spot | undefined {
    return this.#spots.get(keyOfSpot(namespace, id));
  }

  newest(namespace: string): Spot | undefined {
    return this.#newest.get(namespace);
  }

  /** The branch that has the newest checkpoint of the graph itself: where LangGraph goes on by itself. */
  get current(): Tip | undefined {
    const newest = this.newest("");
    const ends = this.ends;
    return ends.find(({ latest }) => newest !== undefined && latest.get("")?.id === newest.id) ?? ends[0];
  }

  add(id: FactId, parents: readonly FactId[], fact: Fact): Tip {
    const before =
      this.#tips.get(parents[adoptedSide(fact, parents.length)] ?? "") ?? this.#tips.get(parents[0] ?? "");
    const tip = this.#after(id, before, fact);
    this.#tips.set(id, tip);
    // Merged branches stay open: LangGraph may go on from any of them.
    if (before !== undefined) this.#ends.delete(before.at);
    this.#ends.set(id, tip);
    if (isBeginning(fact)) this.#start = tip;
    const thread = threadIn(fact);
    if (thread !== undefined) this.threads.add(thread);
    return tip;
  }

  /** The pending writes towards the checkpoint after this one. */
  pendingOf(spot: Spot): readonly Write[] {
    const key = keyOfSpot(spot.namespace, spot.id);
    const open = this.ends.find(({ latest }) => latest.get(spot.namespace)?.id === spot.id);
    if (open !== undefined) return firstOf(open.pending.get(key) ?? []);
    // A run that goes on from here again is asked again: the answers belong to the other branch.
    return firstOf(this.#written.get(key) ?? []).filter(({ channel }) => channel !== RESUME);
  }

  /** A checkpoint that has a channel in some version. */
  ofVersion(namespace: string, channel: string, version: Json | undefined): Spot | undefined {
    return this.#byVersion.get(JSON.stringify([namespace, channel, version]));
  }

  /**
   * Where a checkpoint's data go. A second continuation begins a branch. A subgraph goes with its graph,
   * unless it is taken back to an earlier checkpoint of its own.
   */
  place(namespace: string, id: string | undefined, root: string | undefined): Place | undefined {
    const ends = this.ends;
    const [last] = ends;
    if (last === undefined) return undefined;
    const spot = id === undefined ? undefined : this.spot(namespace, id);
    if (namespace !== "") {
      const home = ends.find(({ latest }) => root !== undefined && latest.get("")?.id === root);
      const isNewest = home?.latest.get(namespace)?.id === spot?.id;
      if (home !== undefined && (spot === undefined || isNewest || !isBehind(home, spot)))
        return { tip: home };
    }
    if (id === undefined) {
      if (namespace !== "") return { tip: last };
      const free = ends.find(({ latest, pending }) => !latest.has("") && pending.size === 0);
      if (free !== undefined) return { tip: free };
      return this.#start === undefined ? { tip: last } : { tip: this.#start, fork: this.#nextFork() };
    }
    // It may come before its checkpoint does, or its parent was never kept here.
    if (spot === undefined) return { tip: last };
    const open = ends.find(({ latest }) => latest.get(namespace)?.id === spot.id);
    return open === undefined ? { tip: spot.tip, fork: this.#nextFork() } : { tip: open };
  }

  /** The place of a checkpoint's copy, beside the original: it has the same parent and versions. */
  placeOfCopy(put: Put): Place | undefined {
    if ((jsonOf(put.metadata.text)?.value as Fields | null | undefined)?.source !== "fork") return undefined;
    const versions = JSON.stringify(put.versions);
    const parent = put.parent === undefined ? undefined : this.spot(put.namespace, put.parent);
    if (parent !== undefined && JSON.stringify(parent.versions) === versions) return undefined;
    for (const spot of this.#spots.values())
      if (
        spot.namespace === put.namespace &&
        spot.parent === put.parent &&
        JSON.stringify(spot.versions) === versions
      )
        return spot.from && { tip: spot.from, fork: this.#nextFork() };
    return undefined;
  }

  #nextFork(): string {
    return `fork-${this.#forks + 1}`;
  }

  #after(at: FactId, before: Tip | undefined, fact: Fact): Tip {
    const turn = ++this.#turn;
    const tip: Tip = {
      ...(before ?? {
        branch: "main",
        latest: new Map(),
        pending: new Map(),
        pool: { said: List.empty, known: this.#heard },
        input: [],
        said: [],
      }),
      at,
      turn,
    };
    if (fact.type === "branch-fork") {
      const number = /^fork-(\d+)$/.exec(fact.name)?.[1];
      this.#forks = Math.max(this.#forks, Number(number ?? 0));
      // Writes before the checkpoint belong to the branch that it came on.
      const from = [...tip.latest.values()].find((spot) => spot.tip.at === before?.at);
      const pending = new Map(tip.pending);
      if (from !== undefined) pending.delete(keyOfSpot(from.namespace, from.id));
      return { ...tip, branch: fact.name, pending };
    }
    if (fact.type === "note" && fact.kind === CHECKPOINT)
      return this.#checkpoint(tip, before, fact as Fields);
    if (fact.type === "note" && fact.kind === WRITES) return this.#writes(tip, fact as Fields);
    const texts = textsOf(fact);
    if (texts === undefined) return tip;
    const key = keyOf(fact);
    const pool = { ...tip.pool, said: tip.pool.said.push(texts) };
    for (const [place, text] of (texts ?? []).entries()) {
      if (text.length < LEAST) continue;
      const heard = { fact: tip.pool.said.length, place, texts };
      this.#heard.set(text, [...(this.#heard.get(text) ?? []), heard]);
    }
    return { ...tip, pool, said: key === undefined ? tip.said : [...tip.said, key] };
  }

  #checkpoint(before: Tip, from: Tip | undefined, note: Fields): Tip {
    const found = spotOf(note, before, (id) => this.spot(String(note.namespace ?? ""), id));
    const key = keyOfSpot(found.namespace, found.id);
    const pending = new Map(before.pending);
    const parentKey = found.parent === undefined ? undefined : keyOfSpot(found.namespace, found.parent);
    if (parentKey !== undefined) pending.delete(parentKey);
    // Writes that came before it, perhaps on another branch.
    const early = this.#early.get(key);
    if (early !== undefined) pending.set(key, early);
    this.#early.delete(key);
    const input =
      (jsonOf(found.metadata?.text ?? "")?.value as Fields | null | undefined)?.source === "input";
    const fresh =
      found.namespace !== ""
        ? {}
        : input
          ? { input: [...before.input, ...before.said], said: [] }
          : { input: [], said: [] };
    const tip: Tip & { latest: ReadonlyMap<string, Spot> } = { ...before, ...fresh, pending };
    const spot: Spot = { ...found, from, tip };
    // The two know each other: who goes on from the checkpoint finds it as the newest.
    tip.latest = new Map(before.latest).set(found.namespace, spot);
    this.#spots.set(key, spot);
    const newest = this.#newest.get(spot.namespace);
    if (newest === undefined || compareText(spot.id, newest.id) >= 0) this.#newest.set(spot.namespace, spot);
    for (const channel of spot.values.keys())
      this.#byVersion.set(JSON.stringify([spot.namespace, channel, spot.versions[channel]]), spot);
    for (const entry of Object.values(note.values ?? {})) {
      const { json, append } = (entry ?? {}) as Fields;
      this.#learn(json ?? append);
    }
    return tip;
  }

  #writes(before: Tip, note: Fields): Tip {
    const namespace = String(note.namespace ?? "");
    const key = keyOfSpot(namespace, String(note.checkpoint ?? ""));
    const writes = writesOf(note, before);
    for (const { value } of writes)
      if (value.type === "json" && !value.binary && value.text.includes("tool_calls"))
        this.#learn(JSON.parse(value.text) as Json);
    const all = this.#written.get(key);
    if (all === undefined) this.#written.set(key, [...writes]);
    else all.push(...writes);
    if (!this.#spots.has(key)) this.#early.set(key, [...(this.#early.get(key) ?? []), ...writes]);
    const pending = new Map(before.pending).set(key, [...(before.pending.get(key) ?? []), ...writes]);
    return { ...before, pending };
  }

  #learn(value: Json | undefined): void {
    for (const told of messagesIn(value))
      for (const [call, asked] of callsIn(told)) this.#calls.set(call, asked);
  }
}

/** Whether a fact is at the beginning of a session, before LangGraph did anything. */
function isBeginning(fact: Fact): boolean {
  return (
    fact.type === "session-start" ||
    fact.type === "record-import" ||
    (fact.type === "note" && fact.kind === THREAD)
  );
}
