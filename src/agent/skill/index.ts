export { activeSkills } from "./active.js";
export type { Catalogue } from "./catalogue.js";
export {
  SkillChangedError,
  SkillFileError,
  SkillInactiveError,
  SkillOptionError,
  SkillToolError,
  UnknownSkillError,
} from "./error.js";
export { type InstructionSource, instructionsIn, loadInstructions } from "./instructions.js";
export type { ToolAliases } from "./narrow.js";
export type { Skill, SkillProblem } from "./skill.js";
export { skilled } from "./skilled.js";
export { loadSkills, type Skills } from "./skills.js";
