import type { Json, Session } from "../../session/index.js";
import { nearestOf } from "../../util/index.js";
import { createModule, type Module, step } from "../../workflow/index.js";
import { moduleTool, type Tool, tool } from "../tool/index.js";
import { activeSkills } from "./active.js";
import { type OpenedSkill, openSkill, PAGE, readSkillFile } from "./catalogue.js";
import { SkillInactiveError, UnknownSkillError } from "./error.js";
import type { Skill } from "./skill.js";

/** The names that an agent's own tools must not have. */
export const SKILL_TOOL = "skill";
export const FILE_TOOL = "skill_file";

/**
 * The tool by which a model activates a skill. It is a module on a fork of the request, because only modules put facts on
 * the record: a `skill-activate` with the digest of its SKILL.md and all it says.
 */
export function skillTool(skills: ReadonlyMap<string, Skill>): Tool {
  const read = step("skill-read", ({ name }: { readonly name: string }) => openSkill(known(skills, name)), {
    effect: "read",
    origin: "file",
  });
  const module = createModule(
    {
      name: SKILL_TOOL,
      kind: "skill",
      parts: Object.freeze({ read: read as unknown as Module }),
      state: Object.freeze({
        skills: Object.freeze(Object.fromEntries([...skills].map(([name, { digest }]) => [name, digest]))),
      }),
    },
    async (entered) => {
      const name = askedIn(entered);
      known(skills, name);
      const { session: told, value } = await read.call(entered, { name });
      const { source, digest, instructions } = value as OpenedSkill;
      const of = requestOf(entered);
      return told.append({
        type: "skill-activate",
        name,
        source,
        digest,
        instructions,
        ...(of !== undefined && { of }),
      });
    },
  );
  return moduleTool(module, {
    name: SKILL_TOOL,
    description:
      "Activates a skill: gives back its instructions, and the files that can be read with skill_file.",
    input: {
      type: "object",
      properties: {
        name: { type: "string", enum: [...skills.keys()], description: "The name of the skill." },
      },
      required: ["name"],
      additionalProperties: false,
    },
    say: (input) => (input as { readonly name: string }).name,
    answer: (session) => answerOf(skills, session),
  }) as Tool;
}

/** The tool by which a model reads what an active skill refers to. */
export function fileTool(skills: ReadonlyMap<string, Skill>): Tool {
  return tool({
    name: FILE_TOOL,
    description: `Reads a text file of an active skill (references, scripts, assets), ${PAGE} characters at a time.`,
    input: {
      type: "object",
      properties: {
        skill: { type: "string", enum: [...skills.keys()] },
        path: { type: "string", description: "Below the directory of the skill, such as references/api.md." },
        from: { type: "integer", minimum: 0, description: "Where to go on: `next` of what was read before." },
      },
      required: ["skill", "path"],
      additionalProperties: false,
    },
    effect: "read",
    async run(input, { session }) {
      const { skill: name, path, from = 0 } = input as { skill: string; path: string; from?: number };
      const skill = known(skills, name);
      if (!activeSkills(session).includes(name)) throw new SkillInactiveError(name);
      return await readSkillFile(skill, path, from);
    },
  }) as Tool;
}

function known(skills: ReadonlyMap<string, Skill>, name: string): Skill {
  const skill = skills.get(name);
  if (skill !== undefined) return skill;
  const names = [...skills.keys()];
  throw new UnknownSkillError(name, names, nearestOf(name, names));
}

/** What the tool was asked for: it is said on the fork. */
function askedIn(entered: Session): string {
  const said = entered.soleParent?.fact;
  return said?.type === "message-say" && typeof said.content === "string" ? said.content : "";
}

function requestOf(entered: Session): string | undefined {
  for (let node: Session | undefined = entered; node !== undefined; node = node.soleParent)
    if (node.fact.type === "tool-call") return node.id;
  return undefined;
}

function answerOf(skills: ReadonlyMap<string, Skill>, session: Session): Json {
  for (let node: Session | undefined = session; node !== undefined; node = node.soleParent) {
    if (node.fact.type !== "step-result") continue;
    const { instructions, files, more } = node.fact.value as unknown as OpenedSkill;
    const name = askedOf(node);
    const allowed = skills.get(name)?.allowedTools;
    return {
      skill: name,
      instructions,
      ...(files.length > 0 && { files }),
      ...(more !== undefined && { more }),
      ...(allowed !== undefined && { "allowed-tools": allowed }),
    };
  }
  return null;
}

function askedOf(result: Session): string {
  const { of } = result.fact as { readonly of: string };
  for (let node: Session | undefined = result; node !== undefined; node = node.soleParent)
    if (node.id === of && node.fact.type === "step-call")
      return (node.fact.input as { readonly name: string }).name;
  return "";
}
