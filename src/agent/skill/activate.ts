import { backFrom, type FactOf, type Json, type Session } from "../../session/index.js";
import { defined, nearestOf } from "../../util/index.js";
import { createModule, type Module, step } from "../../workflow/index.js";
import { moduleTool, objectSchema, type Tool, tool } from "../tool/index.js";
import { activeSkills } from "./active.js";
import { type OpenedSkill, openSkill, PAGE, readSkillFile } from "./catalogue.js";
import { SkillInactiveError, UnknownSkillError } from "./error.js";
import type { Skill } from "./skill.js";

/** The names that an agent's own tools must not have. */
export const SKILL_TOOL = "skill";
export const FILE_TOOL = "skill_file";

/** The tool that activates a skill: a module on a fork, because only modules record facts. */
export function skillTool(skills: ReadonlyMap<string, Skill>): Tool {
  const read = step("skill-read", ({ name }: Input) => openSkill(known(skills, name)), READ_FILES);
  const module = createModule(
    {
      name: SKILL_TOOL,
      kind: "skill",
      parts: Object.freeze({ read: asPart(read) }),
      state: Object.freeze({
        skills: Object.freeze(Object.fromEntries([...skills].map(([name, { digest }]) => [name, digest]))),
      }),
    },
    async (entered) => {
      const said = entered.soleParent?.fact;
      const name = said?.type === "message-say" && typeof said.content === "string" ? said.content : "";
      known(skills, name);
      const { session: told, value } = await read.call(entered, { name });
      const { source, digest, instructions } = value as OpenedSkill;
      const of = findBack(entered, ({ fact }) => fact.type === "tool-call")?.id;
      return told.append({ type: "skill-activate", name, source, digest, instructions, ...defined({ of }) });
    },
  );
  return moduleTool(module, {
    name: SKILL_TOOL,
    description:
      "Activates a skill: gives back its instructions, and the files that can be read with skill_file.",
    input: objectSchema({
      name: { type: "string", enum: [...skills.keys()], description: "The name of the skill." },
    }),
    say: (input) => (input as { readonly name: string }).name,
    answer: (session) => answerOf(skills, session),
  }) as Tool;
}

/** The tool by which a model reads what an active skill refers to. */
export function fileTool(skills: ReadonlyMap<string, Skill>): Tool {
  return tool({
    name: FILE_TOOL,
    description: `Reads a text file of an active skill (references, scripts, assets), ${PAGE} characters at a time.`,
    input: objectSchema(
      {
        skill: { type: "string", enum: [...skills.keys()] },
        path: { type: "string", description: "Below the directory of the skill, such as references/api.md." },
        from: { type: "integer", minimum: 0, description: "Where to go on: `next` of what was read before." },
      },
      ["skill", "path"],
    ),
    effect: "read",
    async run(input, { session }) {
      const { skill: name, path, from = 0 } = input as { skill: string; path: string; from?: number };
      const skill = known(skills, name);
      if (!activeSkills(session).includes(name)) throw new SkillInactiveError(name);
      return await readSkillFile(skill, path, from);
    },
  }) as Tool;
}

type Input = { readonly name: string };

/** A step that reads files of the host: a replay takes them from the record. */
export const READ_FILES = { effect: "read", origin: "file" } as const;

/** A step that takes an input, as a part of the module that calls it with one. */
export function asPart(step: object): Module {
  return step as Module;
}

function known(skills: ReadonlyMap<string, Skill>, name: string): Skill {
  const skill = skills.get(name);
  if (skill !== undefined) return skill;
  const names = [...skills.keys()];
  throw new UnknownSkillError(name, names, nearestOf(name, names));
}

function answerOf(skills: ReadonlyMap<string, Skill>, session: Session): Json {
  const read = findBack(session, ({ fact }) => fact.type === "step-result");
  if (read === undefined) return null;
  const { value, of } = read.fact as FactOf<"step-result">;
  const { instructions, files, more } = value as OpenedSkill;
  const call = findBack(read, ({ id }) => id === of)?.fact as FactOf<"step-call">;
  const { name } = call.input as { readonly name: string };
  return {
    skill: name,
    instructions,
    ...(files.length > 0 && { files }),
    ...defined({ more, "allowed-tools": skills.get(name)?.allowedTools }),
  };
}

function findBack(session: Session, fits: (node: Session) => boolean): Session | undefined {
  for (const node of backFrom(session)) if (fits(node)) return node;
  return undefined;
}
