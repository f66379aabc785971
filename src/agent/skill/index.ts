export { activeSkills } from "./active.js";

export { instructionsIn, loadInstructions } from "./instructions.js";
export { loadSkills, type Skills, skilled } from "./skills.js";
