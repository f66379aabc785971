import { checkerFor, parseAnswer, stopOf } from "../../agent/index.js";
import { checkInput, type InputSchema, type Tool } from "../../agent/tool/index.js";
import { hold } from "../../runtime/index.js";
import { type Json, RathError, type Session } from "../../session/index.js";
import { optionNames, showValue } from "../../util/index.js";
import { type Parts, type Refuse, requireCount, requireOptions, type State } from "../../workflow/index.js";
import { inWords } from "../reason/found.js";
import { listed } from "../selector/error.js";
import { lastSaid } from "./said.js";

export type CrewTask = {
  /** Its name for other tasks, and of its branch. */
  readonly name: string;
  readonly description: string;
  /** The expected answer, in words. */
  readonly expected?: string;
  /** The schema of the answer: it is checked, and the agent is told the problems. */
  readonly output?: InputSchema;
  /** The agent's name. Left out where a manager decides. */
  readonly agent?: string;
  /** The tasks whose answers it is told. Default: all before it. */
  readonly context?: readonly string[];
};

/** A task, checked. `attempt` counts from 1; another number makes it another task, to be done again. */
export type Task = Omit<CrewTask, "output"> & { readonly shape?: Tool; readonly attempt: number };

const TASK = '{ name: "write", description: "Write a page.", agent: "writer" }';
const OPTIONS = optionNames<CrewTask>()("name description expected output agent context");
/** How often an agent is told that its answer does not fit. */
const REPAIRS = 2;

export function tasksOf(
  tasks: readonly CrewTask[],
  agents: Parts,
  isManaged: boolean,
  refuse: Refuse,
): readonly Task[] {
  if (!Array.isArray(tasks) || tasks.length === 0) throw refuse("it has no tasks", `tasks: [${TASK}]`);
  return Object.freeze(
    (tasks as readonly CrewTask[]).map((task, place) => {
      requireOptions(task, refuse, TASK, OPTIONS);
      const { output, ...rest } = task;
      const { name, description, agent, context, expected } = rest;
      for (const [field, value] of Object.entries({ name, description }))
        if (typeof value !== "string" || value.trim() === "")
          throw refuse(`the ${field} of a task is ${showValue(value)}`, TASK);
      if (expected !== undefined && typeof expected !== "string")
        throw refuse(
          `what is expected of "${name}" is ${showValue(expected)}`,
          'expected: "A list of three."',
        );
      const before = tasks.slice(0, place).map((one: CrewTask) => one.name);
      if (before.includes(name)) throw refuse(`two tasks are called "${name}"`, "give one another name");
      if (isManaged && agent !== undefined)
        throw refuse(`the task "${name}" names an agent, and the manager chooses`, "leave agent out");
      if (!isManaged && agent === undefined)
        throw refuse(
          `the task "${name}" has no agent`,
          `say who does it: agent: ${listed(Object.keys(agents))}`,
        );
      if (!isManaged && !Object.hasOwn(agents, agent as string))
        throw refuse(
          `the task "${name}" names an unknown agent ${showValue(agent)}`,
          `the agents are ${listed(Object.keys(agents))}`,
        );
      const unknown = (context ?? []).find((one) => !before.includes(one));
      if (unknown !== undefined)
        throw refuse(
          `the \`context\` of the task "${name}" names ${showValue(unknown)}, which does not come before it`,
          `the tasks before it are ${before.join(", ") || "none"}`,
        );
      return Object.freeze({
        ...rest,
        ...(output !== undefined && { shape: checkerFor("answer", output) }),
        attempt: 1,
      });
    }),
  );
}

/** The parts of tasks that learning may change, by path; `attempt` makes a what-if do a task again. */
export function tasksState(tasks: readonly Task[]): State {
  return Object.fromEntries(
    tasks.flatMap(({ name, description, expected, shape, agent, context, attempt }): [string, Json][] => [
      [`tasks.${name}.description`, description],
      [`tasks.${name}.expected`, expected ?? ""],
      [`tasks.${name}.attempt`, attempt],
      [
        `tasks.${name}.task`,
        { agent: agent ?? null, context: context ?? null, output: shape?.input.json ?? null },
      ],
    ]),
  );
}

export function changedTasks(tasks: readonly Task[], state: State, refuse: Refuse): readonly Task[] {
  const now = tasksState(tasks);
  return Object.freeze(
    tasks.map((task) => {
      const read = (field: string): Json => state[`tasks.${task.name}.${field}`] as Json;
      const [description, expected, attempt] = ["description", "expected", "attempt"].map(read);
      if (JSON.stringify(read("task")) !== JSON.stringify(now[`tasks.${task.name}.task`]))
        throw refuse(`who does "${task.name}", and to what end, is code, not a value`, "make another crew");
      if (typeof description !== "string" || description.trim() === "" || typeof expected !== "string")
        throw refuse(`a text of the task "${task.name}" is empty or not a text`, TASK);
      requireCount(attempt, `tasks.${task.name}.attempt`, refuse);
      const { expected: _, ...rest } = task;
      const changed = { ...rest, description, ...(expected !== "" && { expected }) };
      return Object.freeze({ ...changed, attempt: attempt as number });
    }),
  );
}

export function doTask(
  task: Task,
  agent: string,
  results: { readonly [task: string]: Json },
  ask: (session: Session) => Promise<Session>,
): { work(fork: Session): Promise<Session>; value(end: Session): Json } {
  let answer: Json = null;
  return {
    async work(fork) {
      let session = fork.say(toldOf(task, results), { by: "runtime" });
      for (let refusals = 0; ; refusals++) {
        const before = session;
        session = await ask(session);
        const said = lastSaid(session, before)?.text;
        // Words on the way are not an answer, and the next task must not build on them.
        if (stopOf(session) !== undefined) throw new TaskError(task.name, agent, "it reached a limit first");
        if (said === undefined) throw new TaskError(task.name, agent, "it said nothing");
        const { shape } = task;
        if (shape === undefined) {
          answer = said;
          return session;
        }
        const found = await hold(session, () => valueIn(said, shape));
        const passed = "value" in found;
        const detail = passed ? found.value : found.problem;
        session = session.append({
          type: "validation-report",
          name: task.name,
          passed,
          detail,
          by: "runtime",
        });
        if (passed) {
          answer = found.value;
          return session;
        }
        if (refusals === REPAIRS) throw new TaskError(task.name, agent, found.problem);
        const told = `Your answer cannot be used: ${found.problem}. ${JSON_ALONE}`;
        session = session.say(told, { by: "runtime" });
      }
    },
    value: () => answer,
  };
}

const JSON_ALONE = "Answer with the JSON alone, fitting the schema.";

function toldOf(
  { description, expected, shape, context }: Task,
  results: { readonly [task: string]: Json },
): string {
  const known = (context ?? Object.keys(results)).map((name) => `${name}: ${inWords(results[name])}`);
  return [
    `Your task: ${description}`,
    ...(expected === undefined ? [] : [`The answer shall be: ${expected}`]),
    ...(shape === undefined ? [] : [`${JSON_ALONE} The schema: ${JSON.stringify(shape.input.json)}`]),
    ...(known.length === 0 ? [] : ["What came of other tasks:", ...known]),
  ].join("\n");
}

/** The answer of an agent that was not made for a schema. The same rules as for what a tool takes. */
async function valueIn(
  text: string,
  checker: Tool,
): Promise<{ readonly value: Json } | { readonly problem: string }> {
  const parsed = parseAnswer(text);
  if ("problem" in parsed) return parsed;
  const result = await checkInput(checker, parsed.value);
  return result.ok ? { value: result.value as Json } : { problem: result.failure.message };
}

/** A task of a crew that came to no answer. It is the failure of the task's branch, and so on the record. */
export class TaskError extends RathError {
  constructor(task: string, agent: string, reason: string) {
    super("task-unanswered", `${agent} did not do the task "${task}": ${reason}.`, {
      hint: `give the agent more room or a clearer task, and go on from there: rath.replay(run, withState(crew, { "tasks.${task}.attempt": 2 }), { mode: "what-if" })`,
      data: { task, agent, reason },
    });
  }
}
