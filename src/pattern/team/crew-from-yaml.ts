import { type Agent, agent, type Callable } from "../../agent/index.js";
import type { LanguageModel } from "../../agent/model/index.js";
import { defined, isObject, showValue } from "../../util/index.js";
import { type Checks, checkOptions, optional, type Refuse } from "../../workflow/index.js";
import { elsewhere } from "../options.js";
import { type Crew, type CrewOptions, crew } from "./crew.js";
import { CrewFile, CrewFileError, hintFor, type Inputs, own } from "./crew-file.js";
import type { CrewTask } from "./task.js";

type Model = LanguageModel | readonly [LanguageModel, ...LanguageModel[]];

export type CrewFileOptions = Pick<CrewOptions, "name" | "process" | "manager"> & {
  /** The text of `agents.yaml`, or its value. */
  readonly agents: string | object;
  /** The text of `tasks.yaml`, or its value. */
  readonly tasks: string | object;
  /** The model of agents that name none. */
  readonly model?: Model;
  /** Models by the name of an agent, or by the `llm` that the file has. */
  readonly models?: { readonly [name: string]: Model };
  /** Tools by the names in `tools` of the file; and the tools of an agent, by its name. */
  readonly tools?: { readonly [name: string]: Callable | readonly Callable[] };
  /** The values of placeholders such as `{topic}`. */
  readonly inputs?: Inputs;
  /** Fields of the files that the crew does not follow, such as `output_file`: each other one is refused. */
  readonly ignore?: readonly string[];
};

/**
 * A crew from the `agents.yaml` and `tasks.yaml` of CrewAI. Everything in them is followed, or refused with its place.
 *
 * ```ts
 * const research = await crewFromYaml({
 *   agents: await readFile("config/agents.yaml", "utf8"),
 *   tasks: await readFile("config/tasks.yaml", "utf8"),
 *   model,
 *   tools: { researcher: [search] },
 *   inputs: { topic: "pencils" },
 *   ignore: ["output_file"],
 * });
 * ```
 */
export async function crewFromYaml(options: CrewFileOptions): Promise<Crew> {
  const refuse: Refuse = (reason, hint) => new CrewFileError(reason, hint, "");
  checkOptions(options, CHECKS, refuse, EXAMPLE);
  const { name, process, manager, ignore = [] } = options;
  const agentFile = await CrewFile.read("agents.yaml", options.agents, ignore, options.inputs ?? {});
  const taskFile = await CrewFile.read("tasks.yaml", options.tasks, ignore, options.inputs ?? {});
  const used = new Set<string>();
  const toolsOf = (worker: string): readonly Callable[] =>
    [
      ...(own(options.tools, worker) === undefined ? [] : [worker]),
      ...agentFile.texts(worker, "tools"),
    ].flatMap((name) => {
      used.add(name);
      const tools = own(options.tools, name);
      if (tools !== undefined) return listOf(tools);
      return agentFile.refuse(
        worker,
        "tools",
        `there is no tool ${showValue(name)}`,
        `tools: { ${JSON.stringify(name)}: … }`,
      );
    });
  const tasks = taskFile.names.map((task): CrewTask => {
    const by = taskFile.text(task, "agent");
    if (by !== undefined && !agentFile.names.includes(by))
      taskFile.refuse(task, "agent", `there is no agent ${showValue(by)}`, hintFor(by, agentFile.names));
    const before = taskFile.names.slice(0, taskFile.names.indexOf(task));
    const context = taskFile.texts(task, "context");
    for (const one of context)
      if (!before.includes(one))
        taskFile.refuse(task, "context", `${showValue(one)} is not a task before it`, hintFor(one, before));
    return {
      name: task,
      description: taskFile.required(task, "description"),
      ...defined({ expected: taskFile.text(task, "expected_output"), agent: by }),
      ...(taskFile.has(task, "context") && { context }),
    };
  });
  const agents = agentFile.names.map((worker): Agent<undefined> => {
    const tools = toolsOf(worker);
    const role = agentFile.required(worker, "role");
    const backstory = agentFile.text(worker, "backstory");
    return agent({
      name: worker,
      description: role,
      instructions: [
        `Your role: ${role}`,
        `Your goal: ${agentFile.required(worker, "goal")}`,
        ...(backstory === undefined ? [] : [`Your background: ${backstory}`]),
      ].join("\n"),
      model: modelOf(worker, agentFile, options),
      ...(tools.length > 0 && { tools: [...new Set(tools)] }),
      ...defined({ maxSteps: agentFile.count(worker, "max_iter") }),
    });
  });
  agentFile.end();
  taskFile.end();
  const idle = Object.keys(options.tools ?? {}).find((tool) => !used.has(tool));
  if (idle !== undefined)
    throw refuse(
      `nobody has the tools ${showValue(idle)}`,
      `${hintFor(idle, agentFile.names)}, or name it in the \`tools\` of an agent`,
    );
  return crew({ agents, tasks, ...defined({ name, process, manager }) });
}

const EXAMPLE =
  'crewFromYaml({ agents: await readFile("agents.yaml", "utf8"), tasks: …, model, inputs: { topic: "pencils" } })';

const CHECKS: Checks<CrewFileOptions> = {
  ...elsewhere("name", "agents", "tasks", "model", "process", "manager"),
  models: optional(requireMap),
  tools: optional(requireMap),
  inputs: optional(requireMap),
  ignore: optional((ignore, _, refuse) => {
    if (!Array.isArray(ignore) || !ignore.every((one) => typeof one === "string"))
      throw refuse(`its \`ignore\` is ${showValue(ignore)}`, 'ignore: ["output_file"]');
  }),
};

function requireMap(value: unknown, option: string, refuse: Refuse): void {
  if (!isObject(value)) throw refuse(`its \`${option}\` is ${showValue(value)}`, `${option}: { name: … }`);
}

function modelOf(worker: string, file: CrewFile, { model, models }: CrewFileOptions): Model {
  const llm = file.text(worker, "llm");
  const chosen = own(models, worker) ?? (llm === undefined ? model : own(models, llm));
  if (chosen !== undefined) return chosen;
  return llm === undefined
    ? file.refuse(
        worker,
        undefined,
        "it has no model",
        `model: …, or models: { ${JSON.stringify(worker)}: … }`,
      )
    : file.refuse(
        worker,
        "llm",
        `there is no model ${showValue(llm)}`,
        `models: { ${JSON.stringify(llm)}: … }`,
      );
}

function listOf(tools: Callable | readonly Callable[]): readonly Callable[] {
  return Array.isArray(tools) ? (tools as readonly Callable[]) : [tools as Callable];
}
