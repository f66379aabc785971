import { isOfVersion01 } from "../../runtime/index.js";
import { BeyondHorizonError, type Entry, type FactId, type Json, type Session } from "../../session/index.js";
import { defined, showValue } from "../../util/index.js";
import {
  anything,
  type Checks,
  checkOptions,
  optional,
  refusing,
  requireCount,
  requireJson,
  requireMilliseconds,
  requireName,
  requireRetry,
} from "../../workflow/index.js";
import type { AgentOptions } from "../agent.js";
import type { Parameters } from "../model/index.js";
import { requireModels } from "../options.js";
import { outputFor } from "../output.js";
import { type Compression, compressionsView, wholeEntries } from "./compression.js";
import { withoutOutputs } from "./drop.js";
import type { Crowded, Policy, Relieved } from "./policy.js";
import { idOf, stretchesOf, taken, tokensIn, type Unit } from "./policy.js";
import { INSTRUCTIONS, SCHEMA, tokensOfSummary, type Writer, write } from "./summary.js";

export type SummariseOptions = Pick<AgentOptions, "model" | "parameters" | "retry" | "timeout"> & {
  /** The system prompt. The model answers with JSON: `{ summary, claims: [{ text, from: [ids] }] }`. */
  readonly instructions?: string;
  /** How often the model may correct an answer that does not fit. Default 1. */
  readonly repairs?: number;
  /** Maximum number of tokens to summarise at once. Default: half of the budget. */
  readonly room?: number;
  /** Minimum number of tokens that is worth a call. Default 256. */
  readonly least?: number;
  /** The name of the writer on the record. */
  readonly name?: string;
};

export type CondenseOptions = SummariseOptions & {
  /** So many summaries become one. Default 4. */
  readonly fan?: number;
};

const SUMMARISE = "summarise";
const CONDENSE = "condense";
const LEAST = 256;
const FAN = 4;

/**
 * Has a model summarise the oldest unpinned messages; each claim names its facts. Without a summary, tool
 * outputs are dropped instead.
 *
 * ```ts
 * compress({ budget: 100_000, policies: [dropOutputs(), summarise({ model: small }), condense({ model: small })] });
 * ```
 */
export function summarise(options: SummariseOptions): Policy {
  const { writer, room, least } = given(options, SUMMARISE, {});
  return policyOf(SUMMARISE, writer, room, { least }, ({ units, excess }, most) =>
    oldest(units, excess, most, least),
  );
}

/** Has a model sum up summaries: so many of one level become one of the next. */
export function condense(options: CondenseOptions): Policy {
  const { writer, room, least } = given(options, CONDENSE, {
    fan: optional((fan, option, refuse) => requireCount(fan, option, refuse, 2)),
  });
  const { fan = FAN } = options;
  return policyOf(CONDENSE, writer, room, { least, fan }, ({ session, units }, most) =>
    lowest(session, units, fan, most),
  );
}

type Choose = (crowded: Crowded, most: number) => readonly Unit[];

function policyOf(
  name: string,
  writer: Writer,
  room: number | undefined,
  more: { readonly [name: string]: Json },
  choose: Choose,
): Policy {
  const output = outputFor(writer.name, SCHEMA);
  // Headers may hold secrets.
  const { headers: _, ...parameters } = writer.parameters ?? {};
  return Object.freeze({
    name,
    state: Object.freeze({
      models: writer.models.map((model) => `${model.provider}/${model.modelId}`),
      instructions: writer.instructions,
      parameters: parameters as Json,
      repairs: writer.repairs,
      room: room ?? null,
      ...more,
    }),
    apply: async (crowded: Crowded): Promise<Relieved | undefined> => {
      const most = room ?? Math.ceil(crowded.budget / 2);
      const units = choose(crowded, most);
      const [first, last] = [units[0]?.entries[0], units.at(-1)?.entries.at(-1)];
      if (first === undefined || last === undefined) return undefined;
      const inView = units.flatMap((unit) => unit.entries);
      const { session } = crowded;
      const facts = citable(session, inView);
      // A run of version 0.1 showed what was in view, and its replay must ask the same.
      const entries = isOfVersion01(session) ? inView : wholeEntries(session, inView);
      const written = await write(session, writer, output, { entries, facts, room: most });
      if ("failed" in written) return instead(crowded, written.session, written.failed);
      const before = tokensIn(units);
      const after = tokensOfSummary(written.summary);
      if (after >= before)
        return instead(crowded, written.session, "the summary is no shorter than what it sums up");
      return {
        session: written.session.append({
          type: "context-compress",
          from: idOf(first),
          to: idOf(last),
          summary: written.summary,
          of: written.of,
          policy: name,
          claims: written.claims as Json,
          tokens: { before, after },
          by: `agent:${crowded.agent}`,
        }),
      };
    },
  });
}

function instead(crowded: Crowded, session: Session, failed: string): Relieved {
  const dropped = withoutOutputs({ ...crowded, session }, ` A summary was meant to be here: ${failed}`);
  return { session: dropped ?? session, failed: `no summary: ${failed}` };
}

/** The facts that claims may cite: those summarised, and the facts behind summarised claims. */
function citable(session: Session, entries: readonly Entry[]): readonly FactId[] {
  const facts = entries.flatMap((entry) => [
    idOf(entry),
    ...(entry.outcome === undefined ? [] : [entry.outcome]),
  ]);
  const summaries = new Set(entries.flatMap((entry) => (entry.summary === true ? [entry.id] : [])));
  if (summaries.size === 0) return facts;
  for (const { id, claims } of known(session))
    if (summaries.has(id)) for (const claim of claims) facts.push(...claim.from);
  return facts;
}

/** Of a session whose past is not loaded, only what was summed up since is known. */
function known(session: Session): Iterable<Compression> {
  try {
    return session.view(compressionsView);
  } catch (error) {
    if (error instanceof BeyondHorizonError) return [];
    throw error;
  }
}

/** The oldest stretch that is worth it: as much as it takes, and no more than a model is shown at once. */
function oldest(units: readonly Unit[], excess: number, most: number, least: number): readonly Unit[] {
  for (const run of stretchesOf(units, (unit) => !unit.summary)) {
    const chosen = taken(
      run,
      (tokens, next) => tokens > 0 && (tokens + next > most || tokens >= excess + least),
    );
    if (tokensIn(chosen) >= least) return chosen;
  }
  return [];
}

/** The oldest summaries of the lowest level of which there are enough; else any that stand side by side. */
function lowest(session: Session, units: readonly Unit[], fan: number, most: number): readonly Unit[] {
  const levels = new Map<string, number>();
  for (const { id, level } of known(session)) levels.set(id, level);
  const levelOf = ({ entries }: Unit) => levels.get(entries[0]?.id ?? "") ?? 1;
  const runs = stretchesOf(units, (unit) => unit.summary);
  let found: readonly Unit[] = [];
  for (const run of runs) {
    for (let start = 0; start + fan <= run.length; start++) {
      const some = run.slice(start, start + fan);
      const level = levelOf(some[0] as Unit);
      if (!some.every((unit) => levelOf(unit) === level)) continue;
      if (found.length === 0 || level < levelOf(found[0] as Unit)) found = some;
    }
  }
  if (found.length === 0) found = runs.find((run) => run.length > 1)?.slice(0, fan) ?? [];
  return taken(found, (tokens, next, count) => count > 1 && tokens + next > most);
}

const CHECKS: Checks<SummariseOptions> = {
  model: anything,
  instructions(value, option, refuse) {
    if (value !== undefined && typeof value !== "string")
      throw refuse(`its \`${option}\` are ${showValue(value)}, not a text`, `${option}: "…"`);
  },
  parameters: optional((parameters, option, refuse) => {
    const { headers: _, ...rest } = Object(parameters) as Parameters;
    requireJson(rest, option, refuse);
  }),
  retry: (retry, _, refuse) => requireRetry(retry, refuse),
  timeout: optional(requireMilliseconds),
  repairs: optional((repairs, option, refuse) => requireCount(repairs, option, refuse, 0)),
  room: optional(requireCount),
  least: optional(requireCount),
  name: anything,
};

function given<Options extends SummariseOptions>(
  options: Options,
  kind: string,
  more: Omit<Checks<Options>, keyof SummariseOptions>,
): { readonly writer: Writer; readonly room: number | undefined; readonly least: number } {
  const refuse = refusing(kind);
  const example = `${kind}({ model })`;
  checkOptions(options, { ...CHECKS, ...more } as Checks<Options>, refuse, example);
  const { model, instructions = INSTRUCTIONS, parameters, retry, timeout, repairs = 1 } = options;
  const { room, least = LEAST, name = "summariser" } = options;
  const models = (Array.isArray(model) ? [...model] : [model]) as unknown as Writer["models"];
  requireModels(models, refuse, example);
  requireName(name, kind, `${kind}({ model, name: "summariser" })`);
  const copy = parameters && { ...parameters };
  const writer = { name, models, instructions, ...defined({ parameters: copy, retry, timeout }), repairs };
  return { writer: Object.freeze(writer), room, least };
}
