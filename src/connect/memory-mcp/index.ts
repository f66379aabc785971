export { type McpMemoryOptions, mcpMemory } from "./memory.js";
