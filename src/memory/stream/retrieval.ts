import { hostServices } from "../../runtime/index.js";
import type { FactId, Json, Session } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { defined } from "../../util/index.js";
import { type StepContext, type StepResult, step } from "../../workflow/index.js";
import { refusing } from "../error.js";
import type { MemorySpace } from "../memory.js";
import type { Recollection } from "../reading.js";
import { isSameReading, recollectionsIn, recollectionsOf, recordReading } from "../reading.js";
import type { Scope } from "../scope.js";
import type { Found } from "../search/space-index.js";
import { shownOf } from "../shown.js";
import type { Memory } from "../state.js";
import type { SpaceView } from "../view.js";
import { type Access, accessesOf, type StreamKind, streamMetaOf } from "./kind.js";
import type { Profile } from "./options.js";
import { best, type Candidate, nearness, type Scored } from "./score.js";

/** Everything that a retrieval depends on, besides the stream and what the session has read of it. */
export type Asking = {
  readonly query: string;
  readonly profile: Profile;
  readonly scope: Scope;
  readonly within?: boolean;
  readonly kinds?: readonly StreamKind[];
  /** Only so many, the newest: nothing is weighed then. */
  readonly newest?: number;
  readonly step?: number;
  readonly asOf?: FactId;
  readonly show: boolean;
  readonly characters: number;
};

type Settings = Omit<Asking, "query" | "profile" | "asOf" | "show" | "characters"> &
  Omit<Profile, "name" | "scale" | "threshold"> & {
    readonly stream: Profile["name"];
    readonly now: string;
    readonly embedder: string;
  };

export type Retrieve = (session: Session, asking: Asking) => Promise<StepResult<readonly Recollection[]>>;

/** Reads a stream as a recorded step: the hits, their scores and the time are in the session that reads. */
export function retrieveFrom(memory: MemorySpace): Retrieve {
  const look = step(
    `recall from the stream of ${memory.name}`,
    async (input: Json, context: StepContext) => {
      const asking = input as Asking;
      const { request, signal } = context;
      const space = memory.open(await context.store());
      const view = asking.asOf === undefined ? space : await space.at(asking.asOf);
      const { memories, head } = await listed(view, asking);
      const now = hostServices(request).time();
      const given = { asking, now, accesses: accessesOf(request, memory.name), signal };
      const found = (await chosenFrom(memories, view, given)).map(asFound);
      const { characters, show, query } = asking;
      const newest = memories.reduce((most, one, place) => Math.max(most, stepIn(one, place)), 0);
      const settings = settingsOf({ step: newest, ...asking }, now, view.embedder.name) as Json;
      recordReading(
        context,
        { space: memory.name, head, query, found, settings },
        { to: request, notes: show ? shownOf(memory.name, found, characters) : undefined },
      );
      return found.length;
    },
    { effect: "read", origin: "memory" },
  );
  return async (session, asking) => {
    const { session: told } = await look.call(session, asking);
    return { session: told, value: recollectionsIn(told) };
  };
}

/** Reads a stream again as of a recorded reading, and says whether the record has the same result. */
export async function retrieveAgain(memory: MemorySpace, store: Store, read: FactId) {
  const { fact, parents } = await store.load(read);
  const use = `read the stream of "${memory.name}" again as ${read.slice(0, 12)} did`;
  const settings = fact.type === "memory-read" ? (fact.settings as Settings) : undefined;
  if (fact.type !== "memory-read" || fact.space !== memory.name || settings?.stream === undefined)
    throw refusing(use, "unknown")(
      fact.type === "memory-read" ? "that was not a reading of this stream" : `that is a ${fact.type}`,
      "the id of a memory-read that this stream has made",
    );
  if (fact.head === undefined) return { same: fact.hits.length === 0, found: [] };
  const view = await memory.open(store).at(fact.head);
  const { stream: name, now, embedder: _, decay, clock, weights, limit, order, touch, ...rest } = settings;
  const profile = { name, decay, clock, weights, limit, order, touch } as Profile;
  const asking: Asking = { ...rest, query: String(fact.query), profile, show: false, characters: 0 };
  const accesses = accessesOf(parents[0] as Session, memory.name);
  const { memories } = await listed(view, asking);
  const found = (await chosenFrom(memories, view, { asking, now, accesses })).map(asFound);
  return { same: isSameReading(found, recollectionsOf(fact)), found };
}

function listed(view: SpaceView, { scope, within }: Asking): ReturnType<SpaceView["listed"]> {
  return view.listed({ scope, ...defined({ within }) });
}

type Given = {
  readonly asking: Asking;
  readonly now: string;
  readonly accesses: ReadonlyMap<FactId, Access>;
  readonly signal?: AbortSignal;
};

async function chosenFrom(
  memories: readonly Memory[],
  view: SpaceView,
  { asking, now, accesses, signal }: Given,
): Promise<readonly Scored[]> {
  const { query, profile, kinds, newest } = asking;
  const moment = Date.parse(now);
  const meant = memories
    .map((memory, place) => ({ memory, step: stepIn(memory, place) }))
    .filter(
      ({ memory }) =>
        !(memory.expires !== undefined && Date.parse(memory.expires) <= moment) &&
        (kinds?.includes(streamMetaOf(memory).kind) ?? true),
    );
  if (newest !== undefined) return meant.slice(-newest).map(({ memory, step: at }) => unweighed(memory, at));
  const texts = meant.map(({ memory }) => memory.text);
  const near = texts.length === 0 ? [] : await nearness(view.embedder, query, texts, signal);
  const candidates = meant.map(({ memory, step: own }, place): Candidate => {
    const access = accesses.get(memory.id);
    return {
      memory,
      meaning: near[place] as number,
      accessed: { at: Date.parse(access?.at ?? memory.at), step: Math.max(own, access?.step ?? own) },
    };
  });
  return best(candidates, profile, moment);
}

function unweighed(memory: Memory, own: number): Scored {
  const accessed = { at: Date.parse(memory.at), step: own };
  return { memory, meaning: 0, accessed, score: 0, recency: 0, relevance: 0, importance: 0 };
}

/** The step at which a memory came into the stream: as it says, or its place in it. */
function stepIn(memory: Memory, place: number): number {
  return streamMetaOf(memory).step ?? place + 1;
}

function asFound({ memory, score, meaning, recency, relevance, importance, accessed }: Scored): Found {
  const parts = {
    words: 0,
    meaning,
    recency,
    relevance,
    importance,
    ...defined({ rated: memory.importance }),
    depth: streamMetaOf(memory).depth,
    accessed: new Date(accessed.at).toISOString(),
    step: accessed.step,
  };
  return { memory, score, parts, alike: [] };
}

function settingsOf(asking: Asking, now: string, embedder: string): Settings {
  const { query: _, profile, asOf: __, show: ___, characters: ____, ...rest } = asking;
  const { name, decay, clock, weights, limit, order, touch } = profile;
  return { ...rest, stream: name, decay, clock, weights, limit, order, touch, now, embedder };
}
