import type { Module } from "../runtime/index.js";
import type { Content, Json, Session } from "../session/index.js";
import { defineModule, enter, functionLike, optional } from "./define.js";
import { recordable, requireCount, wrong } from "./options.js";
import { allOf } from "./parallel.js";
import { endsIn, joined } from "./side.js";
import type { Rebuilds } from "./state.js";

export type MapOptions<Input extends Json> = {
  /** Reads the inputs from the session. */
  readonly inputs: (session: Session) => readonly Input[];
  /** Maximum number of inputs that are worked on at the same time. Default: all. */
  readonly concurrency?: number;
  /** Renders an input as a message to the module. Default: a text unchanged, any other value as JSON. */
  readonly say?: (input: Input, place: number) => Content;
};

/** A module that also returns the outcome of each input. */
export interface Mapped extends Module, Rebuilds {
  /** Like `forward`, with the last session of each input, in order. A suspended run has no results yet. */
  call(session: Session): Promise<{ readonly session: Session; readonly results: readonly Session[] }>;
}

/**
 * Runs a module for each of many inputs, each on its own branch with the input as its message. The results are merged in
 * the order of the inputs. When one fails, the others are cancelled, and its error is thrown after all have stopped.
 *
 * ```ts
 * const summaries = map("summaries", summarise, { inputs: (session) => filesIn(session), concurrency: 8 });
 * const { session: next, results } = await summaries.call(session);
 * ```
 */
export function map<Input extends Json>(name: string, module: Module, options: MapOptions<Input>): Mapped {
  const example = 'map("summaries", summarise, { inputs: (session) => […] })';
  return defineModule(
    {
      kind: "map",
      name,
      example,
      parts: [module],
      options,
      checks: {
        inputs: functionLike(example),
        concurrency: optional(requireCount),
        say: optional(functionLike("say: (input, place) => a text")),
      },
      more: (_given, forward) => ({
        async call(given: Session) {
          const session = await forward(given);
          return { session, results: endsIn(session) };
        },
      }),
    },
    async (entered, { part, where, options: { inputs, concurrency, say } }) => {
      const asContent = (input: Input): Content =>
        typeof input === "string" ? input : JSON.stringify(input);
      const given: unknown = inputs(entered);
      if (!Array.isArray(given)) throw wrong(given, "inputs", where, "a list");
      const sides = (recordable(given, "inputs", where) as readonly Input[]).map((input, place) => ({
        branch: `${name} ${place + 1}`,
        why: `${name}: input ${place + 1}`,
        run: (forked: Session) =>
          enter(part, forked.say((say ?? asContent)(input, place), { by: "runtime" })),
      }));
      if (sides.length === 0) return entered;
      return joined(await allOf(entered, sides, concurrency), { adopt: "both", why: `${name}: all inputs` });
    },
  );
}
