import type { Module } from "../../runtime/index.js";
import type { Json, Session } from "../../session/index.js";
import { defined, optionNames } from "../../util/index.js";
import { ToolDefinitionError } from "./error.js";
import { type InputOf, type InputSchema, inputChecker, type JsonSchema, objectSchema } from "./schema.js";
import { build, checkName, checkOptions, type Deed, type Tool } from "./tool.js";

export type ModuleToolOptions<In extends InputSchema> = {
  /** Left out, the module's. */
  readonly name?: string;
  readonly description: string;
  /** Left out, one text: the task. */
  readonly input?: In;
  /** The message to the module on its fork. Default: the task, or the input as JSON. */
  readonly say?: (input: InputOf<In>) => string;
  /** The result of the module. Default: its last words. */
  readonly answer?: (session: Session) => Json;
} & Pick<Deed<InputOf<In>, Json>, "approval" | "conflicts">;

/** A module as a tool, on a fork of the request. Its own requests are recorded there with their effects. */
export function moduleTool<In extends InputSchema = JsonSchema>(
  module: Module,
  options: ModuleToolOptions<In>,
): Tool<InputOf<In>, Json> {
  checkOptions(options, OPTIONS, 'moduleTool(module, { description: "…" })');
  const { name = module.name, description, input = TASK, say = told, answer, approval, conflicts } = options;
  checkName(name);
  return build<InputOf<In>, Json>(
    {
      name,
      description,
      effect: "pure",
      ...defined({ approval, conflicts }),
      run() {
        throw new ToolDefinitionError(name, "it is a module and has no run", "let an agent call it");
      },
    },
    { input: inputChecker(name, input) },
    { module, say, ...(answer !== undefined && { answer }) },
  );
}

const OPTIONS = optionNames<ModuleToolOptions<InputSchema>>()(
  "name description input say answer approval conflicts",
);

const TASK = objectSchema({
  task: { type: "string", description: "What to do, with everything that is needed to do it." },
});

function told(input: unknown): string {
  const { task, ...rest } = input as { readonly [key: string]: unknown };
  return typeof task === "string" && Object.keys(rest).length === 0 ? task : JSON.stringify(input);
}
