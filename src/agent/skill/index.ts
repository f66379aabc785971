export { activeSkills } from "./active.js";

export { instructionsIn, loadInstructions } from "./instructions.js";

export { skilled } from "./skilled.js";
export { loadSkills, type Skills } from "./skills.js";
