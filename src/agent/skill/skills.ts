import { createModule, enter, isModule, type Module, step } from "../../workflow/index.js";
import type { Callable } from "../toolbox.js";
import { asPart, FILE_TOOL, fileTool, READ_FILES, SKILL_TOOL, skillTool } from "./activate.js";
import { narrowed, type ToolAliases } from "./active.js";
import { type Catalogue, readCatalogue } from "./catalogue.js";
import { refusing } from "./error.js";
import type { Skill, SkillProblem } from "./skill.js";

/** The loaded skills, and their parts for an agent. */
export interface Skills {
  readonly list: readonly Skill[];
  /** The skills that could not be loaded, with reasons. */
  readonly problems: readonly SkillProblem[];
  /** The instructions of an agent with the skills' names and descriptions, which come from your folders. */
  instructions(base?: string): string;
  /** The tools for skills, and the agent's own, limited to an active skill's list. `aliases` maps names. */
  tools(own?: readonly Callable[], aliases?: ToolAliases): readonly Callable[];
}

/**
 * Loads the skills of one or more folders (`.agents/skills/<name>/SKILL.md`), from the disk when it is called;
 * `skilled` records the catalogue. Needs the package `yaml`. An unreadable skill is skipped, and `problems` says why.
 *
 * ```ts
 * const skills = await loadSkills(".agents/skills");
 * const coder = agent({
 *   name: "coder",
 *   model,
 *   instructions: skills.instructions("Fix the issue."),
 *   tools: skills.tools([viewTool(), shellTool()], { Read: "view", Bash: "shell" }),
 * });
 * ```
 */
export async function loadSkills(folders: string | readonly string[]): Promise<Skills> {
  return skillsOf(await readCatalogue(foldersOf(folders, "load skills")));
}

export function skillsOf({ skills, problems }: Catalogue): Skills {
  const byName: ReadonlyMap<string, Skill> = new Map(skills.map((skill) => [skill.name, skill]));
  return Object.freeze<Skills>({
    list: Object.freeze([...skills]),
    problems: Object.freeze([...problems]),
    instructions: (base = "") =>
      byName.size === 0 ? base : `${base}${base === "" ? "" : "\n\n"}${shown(skills)}`,
    tools: (own = [], aliases = {}) =>
      byName.size === 0 ? [...own] : [skillTool(byName), fileTool(byName), ...narrowed(own, byName, aliases)],
  });
}

export function foldersOf(folders: unknown, use: string): readonly string[] {
  const list = typeof folders === "string" ? [folders] : folders;
  if (Array.isArray(list) && list.length > 0 && list.every((one) => typeof one === "string" && one !== ""))
    return list as readonly string[];
  throw refusing(use)("it is told no folder", 'name one, or several: loadSkills(".agents/skills")');
}

function shown(skills: readonly Skill[]): string {
  const lines = skills.map(
    ({ name, description }) => `- ${name}: ${description.replace(/\s+/g, " ").trim()}`,
  );
  return [
    `You have skills: instructions for certain tasks. When a task fits one, activate it with the tool ${SKILL_TOOL} before you begin, and read the files it refers to with ${FILE_TOOL}.`,
    ...lines,
  ].join("\n");
}

/**
 * A module that finds out at run time which skills there are. The catalogue goes on the record, so that a replay, on
 * another machine too, needs no folder; and skills that were added since are there in the next run.
 *
 * ```ts
 * const coder = skilled("coder", ".agents/skills", (skills) =>
 *   agent({ name: "coder", model, instructions: skills.instructions("Fix the issue."), tools: skills.tools([shellTool()]) }),
 * );
 * ```
 *
 * `make` is a pure function of the skills: a replay calls it again.
 */
export function skilled(
  name: string,
  folders: string | readonly string[],
  make: (skills: Skills) => Module,
): Module {
  const use = "make a module with skills";
  const refuse = refusing(use);
  if (typeof name !== "string" || name === "")
    throw refuse("it has no name", 'skilled("coder", ".agents/skills", (skills) => agent({ … }))');
  if (typeof make !== "function")
    throw refuse(`${JSON.stringify(name)} has nothing that takes them`, "(skills) => agent({ … })");
  const list = foldersOf(folders, use);
  const load = step("skills-load", (input: Input) => readCatalogue(input.folders), READ_FILES);
  return createModule(
    {
      name,
      kind: "skilled",
      parts: Object.freeze({ load: asPart(load) }),
      state: Object.freeze({ folders: Object.freeze([...list]) }),
    },
    async (entered) => {
      const { session: told, value } = await load.call(entered, { folders: list });
      const made = make(skillsOf(value as Catalogue));
      if (!isModule(made))
        throw refuse(`the function of ${JSON.stringify(name)} must return a module`, "return an agent");
      return enter(made, told);
    },
  );
}

type Input = { readonly folders: readonly string[] };
