export { mcpMemory } from "./memory.js";
