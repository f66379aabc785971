import type { FactId, Session } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { defined } from "../../util/index.js";
import { refusing, StepError, type StepResult } from "../../workflow/index.js";
import type { MemorySpace } from "../memory.js";
import type { Draft, Written } from "../operation.js";
import type { Recollection } from "../reading.js";
import type { Found } from "../search/space-index.js";
import { ask, ratingIn } from "./asking.js";
import { withStreamMeta } from "./kind.js";
import type { MemoryStreamOptions, Profile, StreamRecallOptions } from "./options.js";
import { askingOf, questionOf, streamOf } from "./options.js";
import { type Reflected, reflectOn } from "./reflecting.js";
import { retrieveAgain, retrieveFrom } from "./retrieval.js";

export type Observation = Draft & {
  /** The time of it as a step, where the stream counts in steps. Default: its place in the stream. */
  readonly step?: number;
};

/** A space as a stream: a recall returns memories that are recent, important and relevant at once. */
export interface MemoryStream extends Omit<MemorySpace, "recall"> {
  readonly profile: Profile;
  recall(
    session: Session,
    query: string,
    options?: StreamRecallOptions,
  ): Promise<StepResult<readonly Recollection[]>>;
  /** Writes what was observed, with how important it is. */
  observe(session: Session, observation: Observation): Promise<StepResult<Written>>;
  /** Thinks about the stream, once enough of what came since the last time is important; or at once when forced. */
  reflect(session: Session, options?: { readonly force?: boolean }): Promise<StepResult<Reflected>>;
  /** Reads again as a session did, by the id of its `memory-read`, and says whether the same is found. */
  recallAgain(
    store: Store,
    read: FactId,
  ): Promise<{ readonly same: boolean; readonly found: readonly Found[] }>;
}

/**
 * The memory stream of generative agents: observations with importance, recall, and reflections that cite
 * their evidence.
 *
 * ```ts
 * const stream = memoryStream({ memory: notes, importance: rater, reflection: { questions: asker, insights: thinker } });
 * const { session: told } = await stream.recall(session, "What is Klaus working on?");
 * ```
 */
export function memoryStream(options: MemoryStreamOptions): MemoryStream {
  const profile = streamOf(options);
  const { memory, importance, reflection } = options;
  const retrieve = retrieveFrom(memory);

  async function rate(session: Session, text: string): Promise<StepResult<number | undefined>> {
    if (importance === undefined) return { session, value: undefined };
    const [least, most] = profile.scale;
    try {
      const { session: told, value } = await ask(session, {
        name: `importance in ${memory.name}`,
        whom: importance,
        input: { text, least, most },
        words: `How important will this be later, from ${least} (of no consequence) to ${most} (life-changing)? Answer with the number alone.\n\n${text}`,
      });
      return { session: told, value: ratingIn(value, profile.scale) };
    } catch (error) {
      // The observation is kept without a rating; the failure is in the record.
      if (!(error instanceof StepError)) throw error;
      return { session: error.session, value: undefined };
    }
  }

  const made: MemoryStream = {
    ...memory,
    profile,
    async recall(session, query, given = {}) {
      return retrieve(session, {
        query: questionOf(query, memory.name),
        ...askingOf(given, memory, profile),
      });
    },
    async observe(session, { step, ...draft }) {
      const rated =
        draft.importance === undefined
          ? await rate(session, String(draft.text))
          : { session, value: draft.importance };
      const stream = { kind: "observation", depth: 0, ...defined({ step }) } as const;
      return memory.write(rated.session, {
        ...draft,
        ...defined({ importance: rated.value }),
        meta: withStreamMeta(draft.meta, stream),
      });
    },
    async reflect(session, { force = false } = {}) {
      if (reflection === undefined)
        throw refusing("a memory stream")(
          "it has no `reflection`",
          "reflection: { questions: asker, insights: thinker }",
        );
      const { threshold = profile.threshold, most = 3, each = 5, recent = 100 } = reflection;
      const asking = askingOf({ show: false }, memory, profile);
      return reflectOn(
        session,
        { ...reflection, threshold, most, each, recent, memory, retrieve, asking, rate },
        force,
      );
    },
    recallAgain: (store, read) => retrieveAgain(memory, store, read),
  };
  return Object.freeze(made);
}
