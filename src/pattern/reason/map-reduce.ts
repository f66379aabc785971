import { answerOf, stopOf } from "../../agent/index.js";
import type { Module } from "../../runtime/index.js";
import type { Content, Failure, Json, Session } from "../../session/index.js";
import { defined } from "../../util/index.js";
import {
  called,
  defineModule,
  enter,
  functionLike,
  gathered,
  isModule,
  map,
  optional,
  type Rebuilds,
  recordable,
  requireCount,
  workflow,
  wrong,
} from "../../workflow/index.js";
import { elsewhere, moduleOr, withDefaults } from "../options.js";
import { AnswerFormError, PartsFailedError } from "./error.js";
import { attempt, inWords } from "./found.js";

/** The result of one part: its answer or failure, and the branch that shows how. */
export type PartResult = {
  /** Which part it is, from 1. */
  readonly part: number;
  readonly input: Json;
  readonly branch: string;
  /** Where that branch ended. */
  readonly session: Session;
} & ({ readonly output: Json } | { readonly failure: Failure });

export type MapReduceOptions = {
  readonly name: string;
  /** The parts, read from the session; or a module that makes them: its output is a list, or `{ parts: […] }`. */
  readonly split: ((session: Session) => readonly Json[]) | Module;
  /** Does one part, on a branch where the part is said. It sees no other part. */
  readonly map: Module;
  /** Makes one answer of all: a module that is told each part with its branch, or a function of them. */
  readonly reduce: Module | ((parts: readonly PartResult[]) => Json);
  /** How many parts run at a time. Default 8. */
  readonly concurrency?: number;
  /** How many parts must succeed. Default: one. */
  readonly need?: number;
  /** How a part is said to `map`. Default: a text as it is, anything else as JSON. */
  readonly say?: (part: Json, place: number) => Content;
};

/**
 * Map and reduce over forks: the work is divided at run time, each part is done on its own branch, and one
 * answer is made of all. A failed part is a result like others. Only results leave the branches.
 *
 * ```ts
 * const report = mapReduce({ name: "report", split: (session) => chaptersIn(session), map: reader, reduce: editor });
 * ```
 */
export function mapReduce(options: MapReduceOptions): Module & Rebuilds {
  const { name, split, map: mapper, reduce } = options ?? {};
  return defineModule(
    {
      kind: "mapReduce",
      name,
      example: 'mapReduce({ name: "report", split: (session) => […], map: reader, reduce: editor })',
      parts: { ...(isModule(split) && { split }), map: mapper, ...(isModule(reduce) && { reduce }) },
      options: withDefaults(options, { concurrency: 8, need: 1 }),
      checks: {
        ...elsewhere("name", "map"),
        split: moduleOr(functionLike("split: (session) => […], or a module")),
        reduce: moduleOr(functionLike("reduce: a module, or (parts) => an answer")),
        concurrency: requireCount,
        need: (need, option, refuse) => requireCount(need, option, refuse, 0),
        say: optional(functionLike("say: (part, place) => a text")),
      },
      learnable: ["concurrency", "need"],
    },
    async (entered, made) => {
      const given = { ...made.options, ...(made.parts as Pick<Given, "split" | "map" | "reduce">) };
      const { name, map: mapper, reduce, concurrency, need, say } = given;
      const { session, inputs } = await divided(entered, given);
      const mapped = await map(name, settled(mapper), {
        inputs: () => inputs,
        concurrency,
        ...defined({ say }),
      }).call(session);
      const parts = mapped.results.map((end, place) =>
        resultOf(mapper, end, inputs[place] as Json, place, session),
      );
      // The parts' words stay on their branches; the mapper made the results, so it reports them.
      const together = gathered(session, [mapped.session], `${name}: what came of the parts`);
      const failures = parts.flatMap((part) => ("failure" in part ? [part] : []));
      if (parts.length > 0 && parts.length - failures.length < need)
        throw new PartsFailedError(name, together, need, failures, parts.length);
      const told = together.say(toldOf(name, parts), { by: `agent:${mapper.name}` });
      if (isModule(reduce)) return enter(reduce, told);
      const answer = recordable(reduce(parts), "reduce", called("mapReduce", name));
      return told.say(inWords(answer), { role: "assistant", by: `agent:${name}` });
    },
  );
}

type Given = MapReduceOptions & { readonly concurrency: number; readonly need: number };

/** The parts. A module that divides the work does so in the conversation. */
async function divided(
  entered: Session,
  { name, split }: Given,
): Promise<{ readonly session: Session; readonly inputs: readonly Json[] }> {
  const where = called("mapReduce", name);
  if (!isModule(split)) {
    const given: unknown = split(entered);
    if (!Array.isArray(given)) throw wrong(given, "split", where, "a list");
    return { session: entered, inputs: recordable(given, "split", where) as readonly Json[] };
  }
  const session = await enter(split, entered);
  const answer = answerOf(split, session, entered);
  const { parts = answer } = (answer ?? {}) as { readonly parts?: Json };
  if (Array.isArray(parts)) return { session, inputs: parts as readonly Json[] };
  throw new AnswerFormError(
    where,
    session,
    split.name,
    inWords(answer),
    "a list",
    "divide with a module whose output is a list, or { parts: […] }",
  );
}

/** The same module, whose failure is a result: the other parts go on. */
function settled(mapper: Module): Module {
  return workflow(mapper.name, { [mapper.name]: mapper }, async (session) => {
    const { session: done, failure } = await attempt(mapper, session);
    const stop = failure === undefined ? stopOf(done) : undefined;
    return report(done, mapper, stop === undefined ? failure : { name: "LimitError", message: stop });
  });
}

function report(session: Session, { name }: Module, failure: Failure | undefined): Session {
  return session.append({
    type: "validation-report",
    name: `part of ${name}`,
    passed: failure === undefined,
    ...(failure !== undefined && { detail: { failure } as Json }),
    of: session.id,
    by: "runtime",
  });
}

function resultOf(mapper: Module, end: Session, input: Json, place: number, since: Session): PartResult {
  const { fact } = end.soleParent as Session;
  const { failure } = ((fact.type === "validation-report" ? fact.detail : undefined) ?? {}) as {
    readonly failure?: Failure;
  };
  const common = { part: place + 1, input, branch: end.branch, session: end };
  return failure === undefined
    ? { ...common, output: answerOf(mapper, end, since) ?? null }
    : { ...common, failure };
}

function toldOf(name: string, parts: readonly PartResult[]): string {
  const lines = parts.map((part) => {
    const came = "failure" in part ? `failed: ${part.failure.message}` : inWords(part.output);
    return `Part ${part.part} (branch "${part.branch}"): ${inWords(part.input)}\n=> ${came}`;
  });
  return [`What came of the ${parts.length} parts of ${name}:`, ...lines].join("\n");
}
