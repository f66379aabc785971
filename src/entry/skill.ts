export { activeSkills } from "../agent/skill/active.js";
export type { Catalogue } from "../agent/skill/catalogue.js";
export {
  SkillChangedError,
  SkillFileError,
  SkillInactiveError,
  SkillOptionError,
  SkillToolError,
  UnknownSkillError,
} from "../agent/skill/error.js";
export { type InstructionSource, instructionsIn, loadInstructions } from "../agent/skill/instructions.js";
export type { ToolAliases } from "../agent/skill/narrow.js";
export type { Skill, SkillProblem } from "../agent/skill/skill.js";
export { skilled } from "../agent/skill/skilled.js";
export { loadSkills, type Skills } from "../agent/skill/skills.js";
