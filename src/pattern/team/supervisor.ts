import type { AgentOptions, StepInfo } from "../../agent/index.js";
import { agent, descriptionOf, stopOf, transferName } from "../../agent/index.js";
import { transcriptFor } from "../../agent/model/index.js";
import { moduleTool, objectSchema, type Tool, tool } from "../../agent/tool/index.js";
import type { Budget, Module } from "../../runtime/index.js";
import { backFrom, type FactId, type FactOf, type Json, type Session } from "../../session/index.js";
import { defined, showValue } from "../../util/index.js";
import type { Parts, Rebuilds } from "../../workflow/index.js";
import { called, defineModule, enter, partsOf, refusing, workflow } from "../../workflow/index.js";
import { elsewhere, oneOf, withDefaults } from "../options.js";
import { lastSaid } from "./said.js";

export type SupervisorOptions = Pick<AgentOptions, "name" | "description" | "model" | "maxSteps"> & {
  /** Added to the system prompt of the supervisor. */
  readonly instructions?: string;
  /** Agents, workflows or other supervisors that do the work. */
  readonly workers: readonly Module[] | Parts;
  /** The supervisor's view of a worker's work: the last message (default), or everything. */
  readonly output?: HandoffOutput;
  /** Whether the supervisor can forward an answer word for word. Default true. */
  readonly forward?: boolean;
  /** Limits for the supervisor and its workers. */
  readonly budget?: Budget;
};

/**
 * A model that hands work to others, by a tool for each. A handoff works on its own branch with only its call
 * in view. `forward_message` passes a worker's answer on word for word.
 *
 * ```ts
 * const desk = supervisor({ name: "desk", model, workers: [math, research], output: "last" });
 * ```
 */
export function supervisor(options: SupervisorOptions): Module & Rebuilds {
  const { name, description, model, instructions, budget, maxSteps } = options ?? {};
  const { output = "last", forward: passes = true } = options ?? {};
  const where = called("supervisor", name);
  const workers = partsOf(options?.workers, where);
  const names = Object.keys(workers);
  if (names.length === 0) throw refusing(where)("it has no workers", EXAMPLE);
  const tools = names.map((worker) => handoffTo(name, worker, workers[worker] as Module, names, output));
  const lead = agent({
    name,
    model,
    instructions: instructions === undefined ? LEAD : `${LEAD}\n${instructions}`,
    tools: passes ? [...tools, forwardTool(names)] : tools,
    // A call that failed passed on nothing: the model reads why, and goes on.
    stop: (session: Session, { calls }: StepInfo) =>
      calls.includes(FORWARD) && forwarded(session) !== undefined,
    ...defined({ budget, maxSteps }),
  });
  return defineModule(
    {
      kind: "supervisor",
      name,
      example: EXAMPLE,
      parts: { lead },
      options: withDefaults(options, { output, forward: passes }),
      checks: {
        ...elsewhere("name", "description", "model", "instructions", "workers", "budget", "maxSteps"),
        output: oneOf("last", "full"),
        forward(value, _, refuse) {
          if (typeof value !== "boolean")
            throw refuse(`its \`forward\` is ${showValue(value)}`, "forward: true, or false");
        },
      },
      learnable: ["output", "forward"],
      check({ refuse, options: checked }) {
        if (checked.output !== output || checked.forward !== passes)
          throw refuse(
            "what its tools give is code, not a value",
            "make another supervisor with another output",
          );
      },
      more: () => defined({ description }),
    },
    async (entered, { part }) => {
      const ended = await part.forward(entered);
      const passed = forwarded(ended);
      return passed === undefined
        ? ended
        : ended.say(passed.text, { role: "assistant", by: `agent:${passed.from}` });
    },
  );
}

const EXAMPLE = 'supervisor({ name: "desk", model, workers: [math, research] })';

const LEAD =
  "You lead a team. Hand each piece of work to whom it suits, with everything that is needed to do it; hand over several at once when none needs the others. Answer when the work is done.";

/** The caller's view of the work: the last message, or all of it. */
type HandoffOutput = "full" | "last";

/** A worker as a tool of its supervisor. Both directions are a `route-choose` on the branch of the call. */
function handoffTo(
  lead: string,
  worker: string,
  module: Module,
  workers: readonly string[],
  output: HandoffOutput,
): Tool<never, unknown> {
  const description = descriptionOf(module);
  const over = workflow(`${lead} to ${worker}`, { [worker]: module }, async (session, parts) => {
    const handed = session.append({
      type: "route-choose",
      selector: lead,
      candidates: workers.map((name) => ({ name })),
      chosen: worker,
      by: `agent:${lead}`,
    });
    const done = await enter(parts[worker] as Module, handed);
    return done.append({
      type: "route-choose",
      selector: worker,
      candidates: [{ name: lead }],
      chosen: lead,
      why: stopOf(done) !== undefined ? STOPPED : "it is done",
      by: `agent:${worker}`,
    });
  });
  return moduleTool(over, {
    name: transferName(worker),
    description: `Hands work to "${worker}" and waits for what comes of it.${description === undefined ? "" : ` ${description}`}`,
    answer: (end) =>
      output === "full" ? (transcriptFor({ since: waysIn(end).handed.id }, end) as Json) : answerIn(end),
  }) as Tool<never, unknown>;
}

const STOPPED = "it reached a limit before it was done";

/** A worker's last words on the branch that it handed back. */
function answerIn(end: Session): string {
  const { handed, back } = waysIn(end);
  const answer = lastSaid(end, handed)?.text ?? `${back.selector} handed back without a word.`;
  // Words on the way are not an answer, and nobody must take them for one.
  return back.why === STOPPED ? `${answer}\n[${back.selector}: ${STOPPED}.]` : answer;
}

function waysIn(end: Session): { readonly handed: Session; readonly back: FactOf<"route-choose"> } {
  let back: FactOf<"route-choose"> | undefined;
  for (const node of backFrom(end)) {
    const { fact } = node;
    if (fact.type !== "route-choose") continue;
    back ??= fact;
    if (fact.chosen === back.selector && fact.selector === back.chosen) return { handed: node, back };
  }
  throw new Error("a branch that was handed back was handed over before");
}

const FORWARD = "forward_message";

type Forwarded = { readonly from: string; readonly text: string };

/** Passes the newest answer of a worker on, word for word: a model would rephrase it. */
function forwardTool(workers: readonly string[]): Tool<never, unknown> {
  return tool({
    name: FORWARD,
    description:
      "Gives the last answer of a worker as your own final answer, word for word. Use it when there is nothing to add.",
    input: objectSchema({ from: { type: "string", enum: [...workers], description: "Whose answer." } }),
    effect: "pure",
    run(input, { session }) {
      const { from } = input as { readonly from: string };
      const text = answerOf(session, from);
      if (text === undefined) throw new Error(`${from} has not answered yet. Hand the work over first.`);
      return { from, text };
    },
  }) as Tool<never, unknown>;
}

/** The answer that the newest reply passed on, if any. */
function forwarded(session: Session): Forwarded | undefined {
  const outputs = new Map<FactId, Json>();
  for (const node of backFrom(session)) {
    const { fact } = node;
    if (fact.type === "model-reply") return undefined;
    if (fact.type === "tool-result") outputs.set(fact.of, fact.output);
    if (fact.type === "tool-call" && fact.name === FORWARD && outputs.has(node.id))
      return outputs.get(node.id) as Forwarded;
  }
  return undefined;
}

/** A worker's last answer, from the branch itself, since the supervisor may have been told more or less. */
function answerOf(session: Session, worker: string): string | undefined {
  const ends = new Map<FactId, Session>();
  for (const node of backFrom(session)) {
    const { fact } = node;
    const end = node.soleParent === undefined ? node.parents[1] : undefined;
    if (fact.type === "tool-result" && end !== undefined) ends.set(fact.of, end);
    const found = ends.get(node.id);
    if (fact.type === "tool-call" && fact.name === transferName(worker) && found !== undefined)
      return answerIn(found);
  }
  return undefined;
}
