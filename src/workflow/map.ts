import { forward, type Module } from "../runtime/index.js";
import type { Content, Json, Session } from "../session/index.js";
import {
  called,
  recordable,
  refusing,
  requireCount,
  requireFunction,
  requireName,
  requireOptions,
  wrong,
} from "./options.js";
import { allOf } from "./parallel.js";
import { enter, requireModule } from "./part.js";
import { endsIn, joined } from "./side.js";
import { type Rebuilds, rebuild } from "./state.js";

export type MapOptions<Input extends Json> = {
  /** What there is to do, read from the session. */
  readonly inputs: (session: Session) => readonly Input[];
  /** So many at a time. Default: all. */
  readonly concurrency?: number;
  /** How an input is said to the module. Default: a text as it is, anything else as JSON. */
  readonly say?: (input: Input, place: number) => Content;
};

/** A module that also tells what became of each input. */
export interface Mapped extends Module, Rebuilds {
  /** As `forward`, and where each input ended, in order. A run that was suspended has no results yet. */
  call(session: Session): Promise<{ readonly session: Session; readonly results: readonly Session[] }>;
}

/**
 * The same module for each of many inputs, each on a branch of its own where the input is said. The results are
 * merged in the order of the inputs. When one fails, the others are cancelled and come to rest, and its error is thrown.
 *
 * ```ts
 * const summaries = map("summaries", summarise, { inputs: (session) => filesIn(session), concurrency: 8 });
 * const { session: next, results } = await summaries.call(session);
 * ```
 */
export function map<Input extends Json>(name: string, module: Module, options: MapOptions<Input>): Mapped {
  requireName(name, "map", 'map("summaries", summarise, { inputs: (session) => […] })');
  const where = called("map", name);
  const refuse = refusing(where);
  const body = requireModule(module, where);
  const example = "say what there is to do, read from the session: { inputs: (session) => […] }";
  requireOptions(options, refuse, example, { inputs: true, concurrency: true, say: true });
  const { inputs, concurrency, say = said } = options;
  requireFunction(inputs, "inputs", refuse, example);
  requireFunction(say, "say", refuse, "say: (input, place) => a text");
  if (concurrency !== undefined) requireCount(concurrency, "concurrency", refuse);

  const run = async (entered: Session): Promise<Session> => {
    const given: unknown = inputs(entered);
    if (!Array.isArray(given)) throw wrong(given, "inputs", where, "a list");
    const sides = (recordable(given, "inputs", where) as readonly Input[]).map((input, place) => ({
      branch: `${name} ${place + 1}`,
      why: `${name}: input ${place + 1}`,
      run: (forked: Session) => enter(body, forked.say(say(input, place), { by: "runtime" })),
    }));
    if (sides.length === 0) return entered;
    return joined(await allOf(entered, sides, concurrency), { adopt: "both", why: `${name}: all inputs` });
  };

  const made: Mapped = {
    name,
    kind: "map",
    parts: Object.freeze({ [body.name]: body }),
    forward: (session) => forward(made, session, run),
    async call(given) {
      const session = await made.forward(given);
      return { session, results: endsIn(session) };
    },
    [rebuild]: (_state, parts) => map(name, parts[body.name] as Module, options),
  };
  return Object.freeze(made);
}

function said(input: Json): Content {
  return typeof input === "string" ? input : JSON.stringify(input);
}
