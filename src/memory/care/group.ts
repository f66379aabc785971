import { setImmediate as turn } from "node:timers/promises";
import type { Principal } from "../../session/index.js";
import { compareText } from "../../util/index.js";
import { type Contradicts, plainText } from "../contradiction.js";
import type { Progress } from "../derived.js";
import { ROOT } from "../files/path.js";
import { scopeText } from "../scope.js";
import { likeness, sketchOf } from "../search/similar.js";
import { wordsOf } from "../search/tokens.js";
import type { Memory } from "../state.js";
import { CORE } from "../tier/block.js";

/** Memories that say the same. The first is the one whose words are kept. */
export type Group = readonly [Memory, Memory, ...Memory[]];

/** Some memories as a group; undefined when they are fewer than two. */
export function groupOf([first, second, ...others]: readonly Memory[]): Group | undefined {
  return first === undefined || second === undefined ? undefined : [first, second, ...others];
}

/** How a long operation is followed and stopped. */
export type Watching = {
  readonly progress?: Progress | undefined;
  readonly signal?: AbortSignal | undefined;
};

/** In whose name a space is tidied, and whether it is only told what would happen. */
export type CareOptions = {
  readonly by: Principal;
  /** Only returns what would happen. */
  readonly dry?: boolean;
  readonly progress?: Progress;
  readonly signal?: AbortSignal;
};

export type GroupOptions = Watching & {
  /** The minimum share of words that two texts have in common, from 0 to 1. */
  readonly alike: number;
  readonly acrossTrust: boolean;
  readonly contradicts: Contradicts;
};

/** As many become one at once: all of them are its evidence. */
export const MERGED = 50;
/** Of those that have a key in common, so many are compared with each: thousands have it when it says little. */
const COMPARED = 200;
const PAGE = 500;

/** `place` is how many were written before it. */
type Entry = ReturnType<typeof entryOf>;

/** Groups of memories that say (nearly) the same: of one scope, subject and trust, without contradictions. */
export async function groupsOf(
  memories: readonly Memory[],
  options: GroupOptions,
): Promise<readonly Group[]> {
  const { signal, progress } = options;
  const entries: Entry[] = [];
  for (const [place, memory] of memories.entries()) {
    if (place % PAGE === 0) await breath(signal, progress, place, 2 * memories.length);
    // One that was part of a merge which was taken back, or waits, is not merged again.
    if (isKeptElsewhere(memory) || memory.mergedInto !== undefined) continue;
    entries.push(entryOf(memory, place, options.acrossTrust));
  }
  // The longest first, and of equals the newest: its words are kept.
  entries.sort(
    (one, other) =>
      other.words.size - one.words.size ||
      other.memory.text.length - one.memory.text.length ||
      compareText(other.memory.revised ?? other.memory.at, one.memory.revised ?? one.memory.at) ||
      other.place - one.place,
  );
  return grouped(entries, memories.length, options);
}

function entryOf(memory: Memory, place: number, acrossTrust: boolean) {
  const words = new Set(wordsOf(memory.text));
  const { scope, subject = null, trust } = memory;
  return {
    memory,
    place,
    words,
    plain: plainText(memory.text),
    kind: JSON.stringify([scopeText(scope), subject, acrossTrust ? null : trust]),
    keys: keysOf(sketchOf(words)),
  };
}

/** Two neighbours of a sketch at a time: few texts that are not alike share both. */
function keysOf(sketch: readonly number[]): readonly number[] {
  return sketch.map((one, place) => {
    const next = sketch[(place + 1) % sketch.length] as number;
    return (one % 2 ** 26) * 2 ** 26 + (next % 2 ** 26);
  });
}

async function grouped(entries: readonly Entry[], total: number, options: GroupOptions) {
  const same = new Buckets(entries, ({ kind, plain }) => [`${kind}${plain}`]);
  const near = new Buckets(entries, ({ keys }) => keys);
  const taken = new Set<number>();
  const groups: Group[] = [];
  for (const [place, first] of entries.entries()) {
    if (place % PAGE === 0) await breath(options.signal, options.progress, total + place, 2 * total);
    if (taken.has(place)) continue;
    const members: Entry[] = [first];
    const add = async (other: number): Promise<void> => {
      const entry = entries[other] as Entry;
      if (await isContradicted(entry, members, options.contradicts)) return;
      members.push(entry);
      taken.add(other);
    };
    // Those before it were compared with it already.
    for (const other of same.after(`${first.kind}${first.plain}`, place, taken)) {
      if (members.length >= MERGED) break;
      await add(other);
    }
    for (const key of first.keys) {
      let compared = 0;
      for (const other of near.after(key, place, taken)) {
        if (++compared > COMPARED || members.length >= MERGED) break;
        const entry = entries[other] as Entry;
        if (entry.kind === first.kind && isAlike(first, entry, options.alike)) await add(other);
      }
    }
    const group = groupOf(members.map(({ memory }) => memory));
    if (group === undefined) continue;
    taken.add(place);
    groups.push(group);
  }
  return groups;
}

/** Whether two share most of their words, and say those in the same order: "Ada owes Bob" is not "Bob owes Ada". */
function isAlike(one: Entry, other: Entry, alike: number): boolean {
  if (likeness(one.words, other.words) < alike) return false;
  const [first, second] = [spokenIn(one.plain), spokenIn(other.plain)];
  const [ours, theirs] = [new Set(first), new Set(second)];
  const shared = first.filter((word) => theirs.has(word)).join(" ");
  return shared === second.filter((word) => ours.has(word)).join(" ");
}

/** The words of a text in their order; where words are not parted, its characters. */
function spokenIn(plain: string): readonly string[] {
  return plain.match(SPOKEN) ?? [];
}

const SPOKEN =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]|[\p{L}\p{M}\p{N}]+/gu;

async function isContradicted({ memory, plain }: Entry, members: readonly Entry[], contradicts: Contradicts) {
  for (const member of members) {
    if (memory.contradicts.includes(member.memory.id) || member.memory.contradicts.includes(memory.id))
      return true;
    if (member.plain !== plain && (await contradicts(member.memory.text, memory.text))) return true;
  }
  return false;
}

/** Places by common keys, in order. Finished ones are skipped once, not each time. */
class Buckets<Key> {
  readonly #buckets = new Map<Key, { readonly places: number[]; from: number }>();

  constructor(entries: readonly Entry[], keysOfEntry: (entry: Entry) => readonly Key[]) {
    for (const [place, entry] of entries.entries())
      for (const key of keysOfEntry(entry)) {
        const bucket = this.#buckets.get(key);
        if (bucket === undefined) this.#buckets.set(key, { places: [place], from: 0 });
        else bucket.places.push(place);
      }
  }

  *after(key: Key, place: number, taken: ReadonlySet<number>): Generator<number, void> {
    const bucket = this.#buckets.get(key);
    if (bucket === undefined) return;
    const { places } = bucket;
    while (bucket.from < places.length) {
      const first = places[bucket.from] as number;
      if (first > place && !taken.has(first)) break;
      bucket.from += 1;
    }
    for (let at = bucket.from; at < places.length; at++) {
      const other = places[at] as number;
      if (!taken.has(other)) yield other;
    }
  }
}

/** Lets others of the process have a turn, and says how far it has come. */
export async function breath(
  signal: AbortSignal | undefined,
  progress: Progress | undefined,
  done: number,
  total?: number,
): Promise<void> {
  signal?.throwIfAborted();
  progress?.(done, total);
  await turn();
}

/** Whether a memory is a block of core memory or a file. Only the tools for blocks and files change those. */
export function isKeptElsewhere({ subject }: Pick<Memory, "subject">): boolean {
  return subject !== undefined && (subject.startsWith(CORE) || subject.startsWith(`${ROOT}/`));
}
