import { type Agent, agent, descriptionOf } from "../../agent/index.js";
import type { LanguageModel } from "../../agent/model/index.js";
import { moduleTool, objectSchema, type Tool } from "../../agent/tool/index.js";
import type { Module } from "../../runtime/index.js";
import { adopted, backFrom, type FactId, type Json, type Session, type View } from "../../session/index.js";
import type { Checks, Parts, Rebuilds, Refuse, State } from "../../workflow/index.js";
import {
  branch,
  called,
  checkOptions,
  createModule,
  enter,
  optional,
  partsOf,
  rebuild,
  refusing,
  requireName,
  workBeside,
} from "../../workflow/index.js";
import { elsewhere, oneOf } from "../options.js";
import { inWords } from "../reason/found.js";
import { type CrewTask, changedTasks, doTask, type Task, tasksOf, tasksState } from "./task.js";

export type CrewOptions = {
  /** Default "crew". */
  readonly name?: string;
  readonly agents: readonly Module[] | Parts;
  /** The tasks, in order. */
  readonly tasks: readonly CrewTask[];
  /** "sequential" (the default): each task by the agent that it names. "hierarchical": a manager sees to each. */
  readonly process?: "sequential" | "hierarchical";
  /** The model of the manager, for the hierarchical process. */
  readonly manager?: LanguageModel | readonly [LanguageModel, ...LanguageModel[]];
};

/** A module that also tells what its tasks came to. */
export interface Crew extends Module, Rebuilds {
  /** The answers to the tasks that are done, by name. */
  results(session: Session): { readonly [task: string]: Json };
}

/**
 * Tasks done one after the other, each by an agent on its own branch that is told earlier results. The
 * conversation continues with the last answer.
 *
 * ```ts
 * const report = crew({
 *   agents: [researcher, writer],
 *   tasks: [
 *     { name: "find", description: "Find three sources.", expected: "A list.", agent: "researcher" },
 *     { name: "write", description: "Write a page.", agent: "writer", context: ["find"] },
 *   ],
 * });
 * rath.replay(run, withState(report, { "tasks.write.description": "Write half a page." }), { mode: "what-if" }); // from there on
 * ```
 */
export function crew(options: CrewOptions): Crew {
  const { name = "crew" } = (options ?? {}) as Partial<CrewOptions>;
  requireName(name, "crew", EXAMPLE);
  const where = called("crew", name);
  const refuse = refusing(where);
  checkOptions(options, CHECKS, refuse, EXAMPLE);
  const { process = "sequential", manager } = options;
  const agents = partsOf(options.agents, where);
  const isManaged = process === "hierarchical";
  if (isManaged !== (manager !== undefined))
    throw refuse(
      isManaged ? "nobody manages it" : "it has a manager, and nothing to manage",
      'process: "hierarchical", manager: a model; or neither',
    );
  if (isManaged && Object.hasOwn(agents, MANAGER))
    throw refuse(`an agent is called "${MANAGER}"`, "call it something else");
  return made({ name, agents, manager, tasks: tasksOf(options.tasks, agents, isManaged, refuse) }, refuse);
}

const EXAMPLE = 'crew({ agents: [writer], tasks: [{ name: "write", description: "…", agent: "writer" }] })';
const CHECKS: Checks<CrewOptions> = {
  ...elsewhere("name", "agents", "tasks", "manager"),
  process: optional(oneOf("sequential", "hierarchical")),
};

type Made = {
  readonly name: string;
  readonly agents: Parts;
  readonly manager: CrewOptions["manager"];
  readonly tasks: readonly Task[];
};

function made(given: Made, refuse: Refuse): Crew {
  const { name, agents, manager, tasks } = given;
  const lead = manager === undefined ? undefined : managerOf(manager, agents);
  const fixed: State = {
    process: lead === undefined ? "sequential" : "hierarchical",
    ...(lead?.state !== undefined && { manager: lead.state.models as Json }),
  };
  return createModule(
    {
      name,
      kind: "crew",
      parts: agents,
      state: Object.freeze({ ...fixed, ...tasksState(tasks) }),
      results: (session: Session) => session.view(resultsView).results[name] ?? {},
      [rebuild]: (state: State, newAgents: Parts) => {
        for (const [field, value] of Object.entries(fixed))
          if (JSON.stringify(state[field]) !== JSON.stringify(value))
            throw refuse(`its ${field} is code, not a value`, "make another crew");
        const others = partsOf(newAgents, called("crew", name));
        return made({ ...given, agents: others, tasks: changedTasks(tasks, state, refuse) }, refuse);
      },
    },
    async (entered) => {
      let now = entered;
      const results: { [task: string]: Json } = {};
      for (const task of tasks) {
        const worker = lead ?? (agents[task.agent as string] as Module);
        const { session: done, value } = await workBeside(now, {
          name: task.name,
          input: { crew: name, agent: worker.name, ...(task.attempt > 1 && { attempt: task.attempt }) },
          by: `agent:${worker.name}`,
          ...doTask(task, worker.name, results, (asked) => enter(worker, asked)),
        });
        results[task.name] = value;
        now = done;
      }
      const last = tasks.at(-1) as Task;
      const by = `agent:${lead?.name ?? agents[last.agent as string]?.name}` as const;
      return now.say(inWords(results[last.name]), { role: "assistant", by });
    },
  );
}

type Answers = {
  readonly open: { readonly [call: FactId]: { readonly crew: string; readonly task: string } };
  readonly results: { readonly [crew: string]: { readonly [task: string]: Json } };
};

const NONE: Answers = Object.freeze({ open: {}, results: {} });

const resultsView: View<Answers> = {
  start: NONE,
  step(answers, fact, session) {
    const { open, results } = answers;
    if (fact.type === "step-call") {
      const { crew: of } = (fact.input ?? {}) as { readonly crew?: unknown };
      return typeof of === "string"
        ? { open: { ...open, [session.id]: { crew: of, task: fact.name } }, results }
        : answers;
    }
    const asked = fact.type === "step-result" ? open[fact.of] : undefined;
    if (fact.type !== "step-result" || asked === undefined) return answers;
    const { crew: of, task } = asked;
    return { open, results: { ...results, [of]: { ...results[of], [task]: fact.value } } };
  },
  merge: (sides, merge) => sides[adopted(merge) ?? 0] ?? NONE,
};

const MANAGER = "manager";

/** An agent that can do nothing itself but give work and put questions to the others. */
function managerOf(
  model: LanguageModel | readonly [LanguageModel, ...LanguageModel[]],
  coworkers: Parts,
): Agent<undefined> {
  const lines = Object.entries(coworkers).map(([name, module]) => {
    const description = descriptionOf(module);
    return description === undefined ? `- ${name}` : `- ${name}: ${description}`;
  });
  return agent({
    name: MANAGER,
    model,
    instructions: [INSTRUCTIONS, ...lines].join("\n"),
    tools: [
      toCoworker(coworkers, "delegate_work_to_coworker", "Gives a task to a coworker, who does it.", "task"),
      toCoworker(coworkers, "ask_question_to_coworker", "Puts a question to a coworker.", "question"),
    ],
  });
}

const INSTRUCTIONS =
  "You manage a crew. You do no work yourself: delegate it, ask, look at what comes back, and give the final answer. A coworker knows only what you write. Your coworkers are:";

/** A tool to message a coworker. The call names it, and the branch of the call records the choice. */
function toCoworker(coworkers: Parts, name: string, description: string, what: string): Tool<never, unknown> {
  return moduleTool(branch(name, coworkerIn, { routes: coworkers }), {
    name,
    description,
    input: objectSchema(
      {
        coworker: { type: "string", enum: Object.keys(coworkers) },
        [what]: { type: "string", description: `The whole ${what}.` },
        context: { type: "string", description: "Everything the coworker needs to know." },
      },
      ["coworker", what],
    ),
    say: (input) => {
      const { [what]: told, context } = input as { readonly [field: string]: string };
      return context ? `${told}\n\nWhat you need to know:\n${context}` : `${told}`;
    },
  }) as Tool<never, unknown>;
}

/** The coworker that the call names on whose branch a session is. */
function coworkerIn(session: Session): string | null {
  for (const node of backFrom(session)) {
    const call = node.fact.type === "branch-fork" ? node.soleParent?.fact : undefined;
    if (call?.type === "tool-call") return (call.input as { readonly coworker: string }).coworker;
  }
  return null;
}
