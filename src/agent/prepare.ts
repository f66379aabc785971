import { asJson, canonical, type FactInput, type Session } from "../session/index.js";
import { defined, isObject, isPromise, optionNames, unknownOption } from "../util/index.js";
import { texts, wrong } from "../workflow/index.js";
import { configFact, type LanguageModel, type ModelConfig, type Parameters } from "./model/index.js";
import { type Given, type ModelChoice, modelOf, parametersOf } from "./options.js";
import type { StepInfo } from "./stop.js";
import type { Tool } from "./tool/index.js";
import { type Callable, narrowed, type Toolbox, toolboxOf } from "./toolbox.js";

/** The settings of one model call, where they differ from the agent's. */
export type StepSettings = {
  /** The model that is asked first, before the agent's own models. */
  readonly model?: ModelChoice;
  readonly instructions?: string;
  /** The tools in place of the agent's tools. */
  readonly tools?: readonly Callable[];
  /** The names of the tools and handoffs that the model may call. */
  readonly activeTools?: readonly string[];
  /** Holds for this call, also when the agent has called a tool before. */
  readonly toolChoice?: Parameters["toolChoice"];
  /** Replaces the agent's parameters of the same names. */
  readonly parameters?: Parameters;
};

/** Chooses the settings of the next model call, from the session alone: a replay calls it again. */
export type PrepareStep = (session: Session, info: StepInfo) => StepSettings | undefined;

/** Everything that one model call is made with. */
export type Setup = {
  readonly config: ModelConfig;
  readonly box: Toolbox;
  readonly models: readonly LanguageModel[];
  /** The fact that records the configuration. */
  readonly fact: FactInput & { readonly type: "agent-configure" };
  /** Whether the step chose the tool choice itself. */
  readonly chose: boolean;
};

/** Whether the configuration of an agent can change from step to step. */
export function isDynamic({ instructions, tools, prepareStep }: Given): boolean {
  return prepareStep !== undefined || typeof instructions === "function" || typeof tools === "function";
}

/** The configuration of the next model call. `box` has the tools that are known without a session. */
export function setupAt(
  given: Given,
  box: Toolbox,
  fixed: Pick<ModelConfig, "output" | "since">,
  session: Session,
  info: StepInfo,
): Setup {
  const where = `agent "${given.name}"`;
  const settings = settingsOf(given, session, info, where);
  const { toolChoice } = settings;
  const parameters = { ...given.parameters, ...settings.parameters, ...defined({ toolChoice }) };
  const active = settings.activeTools ?? given.activeTools;
  const all = boxOf(given, box, settings.tools, session, where);
  const used = active === undefined ? all : narrowed(all, active, (name) => unknownTool(name, all, where));
  const config: ModelConfig = Object.freeze({
    agent: given.name,
    ...defined({ instructions: settings.instructions ?? instructionsOf(given, session, where) }),
    tools: used.specs,
    ...defined({ output: fixed.output }),
    parameters,
    ...defined({ since: fixed.since }),
  });
  const foreign = [...used.tools.values()].filter(isForeign);
  const first = settings.model === undefined ? undefined : modelOf(settings.model, given);
  return {
    config,
    box: used,
    models: first === undefined ? given.models : [first, ...given.models.filter((model) => model !== first)],
    fact: { ...configFact(config), ...(foreign.length > 0 && { foreign: foreign.map(({ name }) => name) }) },
    chose: toolChoice !== undefined,
  };
}

/** Whether two steps are configured alike, as far as the record says. */
export function isSameSetup(one: Setup, other: Setup): boolean {
  return canonical(asJson(one.fact)) === canonical(asJson(other.fact));
}

function instructionsOf({ instructions }: Given, session: Session, where: string): string | undefined {
  if (typeof instructions !== "function") return instructions;
  const words: unknown = instructions(session);
  if (typeof words !== "string") throw wrong(words, "instructions", where, "a text");
  return words;
}

function boxOf(
  { name, tools }: Given,
  box: Toolbox,
  chosen: unknown,
  session: Session,
  where: string,
): Toolbox {
  if (chosen === undefined && typeof tools !== "function") return box;
  const list = chosen ?? (typeof tools === "function" ? tools(session) : tools);
  if (!Array.isArray(list)) throw wrong(list, "tools", where, "a list of tools and modules");
  return toolboxOf(name, list as readonly Callable[], [...box.handoffs.values()]);
}

const SETTINGS = optionNames<StepSettings>()("model instructions tools activeTools toolChoice parameters");

function settingsOf(given: Given, session: Session, info: StepInfo, where: string): StepSettings {
  const settings: unknown = given.prepareStep?.(session, info);
  if (settings === undefined) return {};
  const refuse = (wanted: string) => wrong(settings, "prepareStep", where, wanted);
  if (!isObject(settings) || isPromise(settings))
    throw refuse("settings such as { toolChoice }, or undefined");
  const unknown = unknownOption(settings, SETTINGS);
  if (unknown !== undefined)
    throw refuse(`settings that there are: it names "${unknown.name}" (${unknown.hint})`);
  const { instructions, activeTools, parameters } = settings as StepSettings;
  if (instructions !== undefined && typeof instructions !== "string")
    throw wrong(instructions, "prepareStep.instructions", where, "a text");
  if (activeTools !== undefined) texts(activeTools, "prepareStep.activeTools", where);
  const checked = parametersOf(parameters, (reason) => refuse(`parameters that can be sent (${reason})`));
  return { ...(settings as StepSettings), ...defined({ parameters: checked }) };
}

function unknownTool(name: string, { tools }: Toolbox, where: string): Error {
  return wrong(name, "activeTools", where, `names of its tools (${[...tools.keys()].join(", ")})`);
}

/** Whether somebody else describes the tool, and nobody vouches for the description. */
function isForeign({ source }: Tool): boolean {
  return source !== undefined && (source as { readonly trusted?: unknown } | null)?.trusted !== true;
}
