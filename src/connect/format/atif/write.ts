import { type Cost, costWith, type FactOf, type Json, type Session } from "../../../session/index.js";
import { defined } from "../../../util/index.js";
import { ExportError, type ExportFormat, type Subject } from "../exchange.js";
import { amountIn, type Fields, fieldsIn, isFields, own } from "../fields.js";
import { restored } from "../trajectory/kept.js";
import { Lines, type Side, type Told } from "../trajectory/line.js";
import { type Turn, turnsOf } from "../trajectory/turn.js";
import { NOTES } from "./read.js";
import { breachesOf, copiedStep, VERSION } from "./rules.js";
import { stepOf } from "./step.js";

/** So many steps are repeated in the trajectories of forks, all in all; after that a fork begins with its own. */
const COPIED_STEPS = 2_000;

export const atifExport: ExportFormat = {
  name: "atif",
  title: "Agent Trajectory Interchange Format 1.7: the adopted line, with branches and sub-agents embedded",
  extension: ".json",
  async write(subject: Subject): Promise<string> {
    const lines = await Lines.of(subject);
    const document = new Writer(subject, lines).trajectory(lines.main, lines.head);
    const [breach] = breachesOf(document);
    if (breach !== undefined)
      throw new ExportError(
        "atif",
        subject.session.id,
        `${breach.where} breaks a rule of ATIF: ${breach.reason}`,
        "this is a fault of the exporter, or of the file the session was imported from: please report it",
      );
    return `${JSON.stringify(document, null, 2)}\n`;
  },
};

class Writer {
  readonly #subject: Subject;
  readonly #lines: Lines;
  #room = COPIED_STEPS;

  constructor(subject: Subject, lines: Lines) {
    this.#subject = subject;
    this.#lines = lines;
  }

  /** The document of a line. Steps that came from a trajectory are written as they were there. */
  trajectory(
    line: readonly Told[],
    head: Session,
    side?: Side,
    above: readonly Fields[] = [],
    places = new Map<string, number>(),
  ): Fields {
    const found = documentIn(line, above);
    const steps: Fields[] = [...found.steps];
    const inside: { place: number; document: Fields }[] = [];
    const here = new Map<string, number>();
    const embed = (one: Side): string => {
      const document = this.trajectory(one.line, one.head, one, steps, here);
      inside.push({ place: documentIn(one.line, steps).place ?? inside.length, document });
      return String(document.trajectory_id);
    };
    for (const merge of found.merges) for (const one of this.#lines.sidesOf(merge)) embed(one);
    const turns = turnsOf(found.rest, this.#lines);
    if (side !== undefined && found.header === undefined) this.#copy(side, above, places, steps);
    let fresh = false;
    let cost: Cost = 0;
    for (const turn of turns) {
      if (isEmpty(turn) && found.header !== undefined) continue;
      fresh = true;
      steps.push(stepOf(turn, steps.length + 1, embed));
      for (const { id } of [...turn.told, ...turn.also]) here.set(id, steps.length);
    }
    inside.sort((one, other) => one.place - other.place);
    for (const { document } of inside)
      cost = costWith(cost, amountIn(fieldsIn(document, "final_metrics"), "total_cost_usd"));
    const header = found.header ?? this.#header(line, head, side, turns);
    const { final_metrics: metrics, extra, notes, continued_trajectory_ref: continued, ...first } = header;
    const totals =
      fresh || metrics === undefined ? (fresh ? totalsOf(steps, cost) : undefined) : (metrics as Fields);
    return {
      ...first,
      ...(found.header !== undefined && { schema_version: VERSION }),
      steps,
      ...defined({ notes, final_metrics: totals, continued_trajectory_ref: continued, extra }),
      ...(inside.length > 0 && { subagent_trajectories: inside.map(({ document }) => document) }),
    };
  }

  /** A fork begins with what was said before it, as far as there is room for that. */
  #copy(
    { base }: Side,
    above: readonly Fields[],
    places: ReadonlyMap<string, number>,
    steps: Fields[],
  ): void {
    let node: Session | undefined = base;
    while (node !== undefined && !places.has(node.id)) node = node.parents[0];
    const count = node === undefined ? 0 : (places.get(node.id) ?? 0);
    if (count > this.#room) return;
    this.#room -= count;
    steps.push(...above.slice(0, count).map(copiedStep));
  }

  #header(line: readonly Told[], head: Session, side: Side | undefined, turns: readonly Turn[]): Fields {
    const { name } = this.#subject;
    const session = this.#lines.head;
    const root = session.lineage[0]?.id ?? session.id;
    const configured = line.flatMap(({ fact }) => (fact.type === "agent-configure" ? [fact] : []));
    const model = turns.find((turn) => turn.asked !== undefined)?.asked?.model;
    const agent = configured[0]?.agent ?? turns.find((turn) => turn.reply?.agent !== undefined)?.reply?.agent;
    const tools = toolsOf(configured);
    return {
      schema_version: VERSION,
      session_id: root,
      trajectory_id: head.id,
      agent: {
        name: agent ?? "openrath",
        version: "unknown",
        ...defined({ model_name: model }),
        ...(tools.length > 0 && { tool_definitions: tools }),
      },
      extra: {
        openrath: {
          id: head.id,
          ...(side === undefined && name !== undefined && { name }),
          branch: head.branch,
          ...(side?.base !== undefined && { from: side.base.id }),
          ...(side === undefined && { lineage: session.lineage }),
        },
      },
    };
  }
}

function isEmpty(turn: Turn): boolean {
  return (
    turn.told.length === 0 &&
    turn.sides.length === 0 &&
    turn.also.every(({ fact }) => fact.type === "note" && fact.kind === "import-rest")
  );
}

/** Every tool that was ever configured, once, in the form of OpenAI's function calls. */
function toolsOf(configured: readonly FactOf<"agent-configure">[]): readonly Json[] {
  const tools = new Map<string, Json>();
  for (const { tools: given } of configured) {
    if (!Array.isArray(given)) continue;
    for (const tool of given as readonly Fields[]) {
      const { name, description, input } = tool;
      if (typeof name !== "string") continue;
      tools.set(name, {
        type: "function",
        function: { name, ...defined({ description }), parameters: input ?? {} },
      });
    }
  }
  return [...tools.values()];
}

/** The sums over all steps. The cost is left out as soon as one call has no price. */
function totalsOf(steps: readonly Fields[], inside: Cost): Fields {
  let [prompt, completion, cached] = [0, 0, 0];
  let cost = inside;
  for (const { metrics } of steps) {
    if (metrics === undefined) continue;
    const { prompt_tokens, completion_tokens, cached_tokens, cost_usd } = metrics as {
      [key: string]: number;
    };
    prompt += prompt_tokens ?? 0;
    completion += completion_tokens ?? 0;
    cached += cached_tokens ?? 0;
    cost = costWith(cost, cost_usd);
  }
  return {
    total_prompt_tokens: prompt,
    total_completion_tokens: completion,
    total_cached_tokens: cached,
    ...(cost !== null && { total_cost_usd: cost }),
    total_steps: steps.length,
  };
}

/** The part of a line that came from a trajectory, as it was there, and the facts after it. */
export type Restored = {
  /** The document without its steps; undefined when the line is not from one. */
  readonly header: Fields | undefined;
  /** Where it stood among those that are embedded in one document. */
  readonly place: number | undefined;
  readonly steps: readonly Fields[];
  /** The sessions that took in embedded trajectories meanwhile. */
  readonly merges: readonly Session[];
  readonly rest: readonly Told[];
};

/** Reads the notes of an imported line. `above` are the steps of the trajectory that this one is embedded in. */
export function documentIn(line: readonly Told[], above: readonly Fields[]): Restored {
  let header: Fields | undefined;
  let place: number | undefined;
  let last = -1;
  const steps: Fields[] = [];
  for (const [index, { fact, session }] of line.entries()) {
    if (fact.type !== "note" || fact.kind !== "import-rest") continue;
    const value = fact.value as Json;
    if (fact.what === NOTES.trajectory && isFields(value)) {
      const { document, place: where } = restored(session, value) as { document: Fields; place: number };
      [header, place] = [document, where];
    } else if (fact.what === NOTES.copied && isFields(value))
      steps.push(...above.slice(0, Number(own(value, "steps"))).map(copiedStep));
    else if (fact.what === NOTES.step) steps.push(restored(session, value) as Fields);
    else continue;
    last = index;
  }
  if (header === undefined) return { header, place, steps: [], merges: [], rest: line };
  // Trajectories to which no step refers were taken in after the last step.
  while (line[last + 1]?.fact.type === "branch-merge" && isOfImport(line[last + 1])) last += 1;
  const merges = line
    .slice(0, last + 1)
    .flatMap(({ fact, session }) => (fact.type === "branch-merge" ? [session] : []));
  return { header, place, steps, merges, rest: line.slice(last + 1) };
}

function isOfImport(told: Told | undefined): boolean {
  const fact = told?.fact;
  return (
    fact?.type === "branch-merge" &&
    typeof fact.why === "string" &&
    fact.why.startsWith("embedded trajectory ")
  );
}
