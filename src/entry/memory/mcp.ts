export { mcpMemory } from "../../connect/memory-mcp/memory.js";
