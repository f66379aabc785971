import type { Json } from "../session/index.js";
import { isText, showValue } from "../util/index.js";
import { isModule, type Module, type Parts, type Refuse } from "../workflow/index.js";
import { AgentError } from "./error.js";
import type { AiSdkTool, JsonSchema, Tool, ToolSpec } from "./tool/index.js";
import { fromProviderObject, isProviderObject, moduleTool, specOf, tool } from "./tool/index.js";

/** A tool, a provider's tool as the AI SDK makes it, or a module (another agent, a workflow), which works on a fork of the request. */
export type Callable = Tool<never, unknown> | Module | AiSdkTool;

export type Toolbox = {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly handoffs: ReadonlyMap<string, Module>;
  readonly specs: readonly ToolSpec[];
  readonly parts: Parts;
};

export function toolboxOf(
  agent: string,
  callables: readonly Callable[],
  targets: readonly Module[],
): Toolbox {
  const tools = new Map<string, Tool>();
  const handoffs = new Map<string, Module>();
  const parts = new Map<string, Module>();
  const refuse: Refuse = (reason, hint) => new AgentError(agent, reason, hint);
  const take = (one: Tool): void => {
    if (tools.has(one.name))
      throw refuse(`two of its tools are called "${one.name}"`, "give one of them another name");
    tools.set(one.name, one);
  };
  for (const callable of callables) {
    const one = asTool(callable, refuse);
    take(one);
    if (one.module !== undefined) parts.set(one.name, one.module);
  }
  for (const target of targets) {
    if (!isModule(target) || !isText(target.name))
      throw refuse(
        isModule(target) ? "one of its handoffs has no name" : `one of its handoffs is ${showValue(target)}`,
        "hand over to agents or workflows: handoffs: [billing, support]",
      );
    const one = transferTo(target);
    take(one);
    handoffs.set(one.name, target);
    parts.set(one.name, target);
  }
  return {
    tools,
    handoffs,
    specs: Object.freeze([...tools.values()].map((one) => Object.freeze(specOf(one)))),
    parts: Object.freeze(Object.fromEntries(parts)),
  };
}

/** Only the tools and handoffs of these names. `refuse` makes the error for a name that is not there. */
export function narrowed(box: Toolbox, names: readonly string[], refuse: (name: string) => Error): Toolbox {
  const missing = names.find((name) => !box.tools.has(name));
  if (missing !== undefined) throw refuse(missing);
  const within = ([name]: readonly [string, unknown]): boolean => names.includes(name);
  return {
    tools: new Map([...box.tools].filter(within)),
    handoffs: new Map([...box.handoffs].filter(within)),
    specs: Object.freeze(box.specs.filter(({ name }) => names.includes(name))),
    parts: box.parts,
  };
}

/** The same callables with other modules in the place of those that were replaced. */
export function replaced(callables: readonly Callable[], parts: Parts): readonly Callable[] {
  return callables.map((callable) => {
    if (isModule(callable)) return parts[plainName(callable.name)] ?? callable;
    if (!isTool(callable)) return callable;
    const module = callable.module === undefined ? undefined : parts[callable.name];
    return module === undefined || module === callable.module
      ? callable
      : Object.freeze({ ...callable, module });
  });
}

export function transferName(target: string): string {
  return plainName(`transfer_to_${target}`);
}

function asTool(callable: Callable, refuse: Refuse): Tool {
  if (isModule(callable)) {
    if (!isText(callable.name))
      throw refuse("a module among its tools has no name", "give it one: it is what models call");
    const name = plainName(callable.name);
    return moduleTool(callable, { name, description: purposeOf(callable) }) as Tool;
  }
  if (isTool(callable)) return callable;
  if (isProviderObject(callable)) return fromProviderObject(callable);
  throw refuse(
    `one of its tools, ${showValue(callable)}, is neither a tool nor a module`,
    "make it with tool({ name, description, input, effect, run }), with fromAiSdk(tools, { effect }), or pass an agent",
  );
}

/** Only the result of `tool` counts: an object like it, without an effect, would be run without care. */
function isTool(callable: unknown): callable is Tool {
  const { name, run, input, effect, conflicts, approval } = (callable ?? {}) as Partial<Tool>;
  return (
    isText(name) &&
    typeof effect === "string" &&
    typeof input?.check === "function" &&
    [run, conflicts, approval].every((one) => typeof one === "function")
  );
}

function transferTo(target: Module): Tool {
  return tool({
    name: transferName(target.name),
    description: `Hands the conversation to "${target.name}", who goes on with it. ${purposeOf(target)}`,
    input: REASON,
    effect: "pure",
    run: () => transferred(target),
  }) as Tool;
}

/** The result that the model reads when its handoff is under way. */
export function transferred(target: Module): Json {
  return `${target.name} goes on from here.`;
}

const REASON: JsonSchema = {
  type: "object",
  properties: { reason: { type: "string", description: "Why." } },
};

function purposeOf(module: Module): string {
  return descriptionOf(module) ?? `Gives a task to "${module.name}".`;
}

/** The description that a module gives of itself, if any. */
export function descriptionOf(module: Module): string | undefined {
  const { description } = module as { readonly description?: unknown };
  return typeof description === "string" ? description : undefined;
}

/** A name that providers accept for a tool. */
function plainName(name: string): string {
  return name.replace(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64);
}
