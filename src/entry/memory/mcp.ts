export { type McpMemoryOptions, mcpMemory } from "../../connect/memory-mcp/memory.js";
